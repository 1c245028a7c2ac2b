"""Passes over products of matrices; exact but for the order of sums.

As mathematics, for one weight `W` and rows from several steps, such as those of an unrolled RNN:

- `sum_k G_k' X_k = [G_1; G_2; ...]' [X_1; X_2; ...]`: the gradient of `W` is one product.
- `sum_k 1' G_k = 1' [G_1; G_2; ...]`: that of a bias is one sum.
- `[X_1 W'; X_2 W'; ...] = [X_1; X_2; ...] W'`: products that do not wait for each other are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.kernels.jit.pace import pace
from wengert.kernels.products import gemm
from wengert.ops import operands
from wengert.ops.op import REGISTRY
from wengert.replay.ir import SUM, Instruction, Program, Type
from wengert.replay.plain import plain_function


def join_products(program: Program) -> None:
    """Apply the three rewrites."""
    if any(map(_form, program.instructions)):
        Joining(program).run()


# The most rows of a joint product: so many, or what gives so many results if that is more.
_FEWEST, _PART = 256, 1 << 18


class Joining:
    """The rewrites of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.makers, self.uses = program.makers(), program.uses()
        self.joined: dict[tuple[int, ...], int] = {}
        self.instead: dict[Instruction, list[Instruction]] = {}

    def run(self) -> None:
        """Rewrite the program."""
        inner = {v for i in self.program.instructions if i.key == SUM for v in i.inputs}
        for instruction in pace.over(self.program.instructions):
            if instruction.key == SUM:
                value = instruction.outputs[0]
                if value not in inner or self.uses[value] > 1:
                    self._join_sum(instruction)
        for members in self._independent():
            for some in self._in_parts(members):
                self._join_rows(some)
        self.program.instructions = [
            i for one in self.program.instructions for i in self.instead.get(one, (one,))
        ]

    def _in_parts(self, members: list[Instruction]) -> Iterator[list[Instruction]]:
        """The members in groups of enough rows for a product; those of all take more memory."""
        ends = members[0].inputs[0], members[0].outputs[0]
        width = max(1, *[self.program.types[v].shape[-1] for v in ends])
        most, part, rows = max(_FEWEST, _PART // width), list[Instruction](), 0
        for member in members:
            own = self.program.types[member.inputs[0]].shape[0]
            if part and rows + own > most:
                yield part
                part, rows = [], 0
            part.append(member)
            rows += own
        yield part

    # Sums of gradients

    def _join_sum(self, root: Instruction) -> None:
        """Let the products, or sums of rows, in a sum be one."""
        terms = self._terms(root)
        groups: dict[str, list[Instruction]] = {}
        others: list[int] = []
        for value in terms:
            maker = self.makers.get(value)
            kind = "" if maker is None or self.uses[value] > 1 else self._kind(maker)
            if kind:
                assert maker is not None
                groups.setdefault(kind, []).append(maker)
            else:
                others.append(value)
        if all(len(members) < 2 for members in groups.values()):
            return
        type_ = self.program.types[root.outputs[0]]
        new: list[Instruction] = []
        sums = list(others)
        for kind, members in groups.items():
            sums += [self._joint(kind, m, new, type_) for m in self._in_parts(members)]
        while len(sums) > 1:
            first, second, *rest = sums
            total = self._emit(new, "add", root.compute, [first, second], type_, root)
            new[-1].pointwise, new[-1].key = root.pointwise, SUM
            sums = [total, *rest]
        new[-1].outputs = root.outputs
        self.instead[root] = new

    def _joint(
        self, kind: str, members: list[Instruction], new: list[Instruction], type_: Type
    ) -> int:
        """A product, or a sum of rows, in the place of several."""
        first = members[0]
        if len(members) < 2:
            return first.outputs[0]
        parts = [self._join([m.inputs[0] for m in members], new, first)]
        if kind == "weight":
            parts.append(self._join([m.inputs[1] for m in members], new, first))
            compute: Any = plain_function(REGISTRY["_outer"])
        else:
            compute = partial(operands.sum_to, shape=type_.shape)
        value = self._emit(new, f"joint_{kind}", compute, parts, type_, first)
        # Early: the rows are there up to then.
        new[-1].after = max(v for m in members for v in m.inputs)
        return value

    def _terms(self, root: Instruction) -> list[int]:
        """What a tree of sums adds, where nobody else reads the sums inside."""
        terms: list[int] = []
        waiting = list(reversed(root.inputs))
        while waiting:
            value = waiting.pop()
            maker = self.makers.get(value)
            if maker is not None and maker.key == SUM and self.uses[value] == 1:
                waiting += reversed(maker.inputs)
            else:
                terms.append(value)
        return terms

    def _kind(self, maker: Instruction) -> str:
        """Whether an instruction is the gradient of a layer's weight or bias, over rows."""
        types = [self.program.types[v] for v in maker.inputs]
        if any(len(t.shape) != 2 or t.dtype not in _WIDE for t in types):
            return ""
        return {"weight": "weight", "bias": "rows"}.get(part_of(maker, "linear"), "")

    def _join(self, values: Sequence[int], new: list[Instruction], like: Instruction) -> int:
        """Rows of several values as one."""
        key = tuple(values)
        if key in self.joined:
            return self.joined[key]
        types = [self.program.types[v] for v in values]
        shape = sum(t.shape[0] for t in types), types[0].shape[1]
        type_ = Type(shape, types[0].dtype)
        self.joined[key] = self._emit(new, "join", _joined, values, type_, like)
        return self.joined[key]

    def _emit(
        self, new: list[Instruction], name: str, compute: Any, inputs: Sequence[int], type_: Type,
        like: Instruction,
    ) -> int:  # fmt: skip
        value = self.program.value(type_)
        new.append(Instruction(name, compute, tuple(inputs), (value,), like.entry))
        return value

    # Products that do not wait for each other

    def _independent(self) -> list[list[Instruction]]:
        """Layers over rows with the same weight and bias, at the same depth of the program."""
        depth: dict[int, int] = {}
        groups: dict[Any, list[Instruction]] = {}
        for instruction in pace.over(self.program.instructions):
            own = 1 + max((depth.get(v, 0) for v in instruction.inputs), default=0)
            for v in instruction.outputs:
                depth[v] = own
            key = instruction.key
            if key is None or key[0] != "linear" or len(instruction.inputs) < 2:
                continue
            if all(len(self.program.types[v].shape) == 2 for v in instruction.inputs[:2]):
                groups.setdefault((own, key, instruction.inputs[1:]), []).append(instruction)
        return [members for members in groups.values() if len(members) > 1]

    def _join_rows(self, members: list[Instruction]) -> None:
        """One product, of which each member takes its rows."""
        first, new = members[0], list[Instruction]()
        if len(members) < 2 or any(m in self.instead for m in members):
            return
        rows = self._join([m.inputs[0] for m in members], new, first)
        lengths = [self.program.types[m.inputs[0]].shape[0] for m in members]
        width = self.program.types[first.outputs[0]].shape[1]
        type_ = Type((sum(lengths), width), self.program.types[rows].dtype)
        whole = self._emit(
            new, "joint_linear", first.compute, (rows, *first.inputs[1:]), type_, first
        )
        ends = np.cumsum(lengths).tolist()
        compute = partial(_rows, tuple(zip([0, *ends], ends, strict=False)))
        outputs = tuple([m.outputs[0] for m in members])
        new.append(Instruction("rows", compute, (whole,), outputs, first.entry, unpacked=True))
        for member in members:
            self.instead[member] = []
        self.instead[first] = new


def part_of(instruction: Instruction, op: str) -> str:
    """The operand of an operation whose gradient an instruction computes."""
    key = instruction.key
    name = key[0] if key else None
    return str(name[1]) if type(name) is tuple and len(name) == 2 and name[0] == op else ""


def _joined(*arrays: Any) -> Any:
    return np.concatenate(arrays)


def _rows(spans: tuple[tuple[int, int], ...], array: Any) -> list[Any]:
    return [array[a:b] for a, b in spans]


# Halves are not added up in halves.
_WIDE = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
# Sums of fewer rows lose nothing without float64.
_FEW_ROWS = 128


def plan_products(program: Program) -> None:
    """Let products of matrices call their kernel directly: all but the memory is known before."""
    for instruction in pace.over(program.instructions):
        form = _form(instruction)
        types = [program.types[v] for v in instruction.inputs] if form else []
        if any(len(t.shape) != 2 for t in types[:2]) or not types:
            continue
        if form == "bias" and types[0].shape[0] <= _FEW_ROWS and types[0].dtype in _WIDE:
            instruction.compute = partial(np.add.reduce, axis=0)
        if form not in _TURNED or len(types) < 2:
            continue
        turned_a, turned_b = _TURNED[form]
        a, b, dtype = types[0].shape, types[1].shape, types[0].dtype
        assert dtype is not None
        k, m = a if turned_a else a[::-1]
        n = b[0] if turned_b else b[1]
        if any(t != Type((n,), dtype) for t in types[2:]):
            continue  # a bias that broadcasts
        product = gemm.planned(m, k, n, turned_a, turned_b, dtype)
        if product is not None:
            instruction.compute = partial(_product, product, instruction.compute)


# Which factors of a product lie turned in memory.
_TURNED = {"linear": (False, True), "input": (False, False), "weight": (True, False)}


def _form(instruction: Instruction) -> str:
    if instruction.name in ("joint_weight", "joint_linear"):
        return instruction.name.removeprefix("joint_")
    key = instruction.key
    return "linear" if key and key[0] == "linear" else part_of(instruction, "linear")


def _product(product: Any, otherwise: Any, a: Any, b: Any, *bias: Any) -> Any:
    for array in (a, b, *bias):
        if not array.flags.c_contiguous:
            return otherwise(a, b, *bias)
    return product(a, b, *bias)
