"""Gradients are linear in the cotangent: exact but for the order of sums.

As mathematics, for the rule `V` of an operation, `V g_1 + V g_2 = V (g_1 + g_2)`: the backwards of
several losses go through the trunk that they share once.
"""

from __future__ import annotations

from typing import Any

from wengert.kernels.jit.pace import pace
from wengert.kernels.precision import HALF
from wengert.replay.ir import SUM, Instruction, Program
from wengert.replay.trace import OpEntry

Signature = tuple[Any, ...]


def collect(program: Program) -> None:
    """Apply the rewrite wherever nobody reads the terms."""
    if any(i.key == SUM for i in program.instructions):
        Collecting(program).run()


class Collecting:
    """The rewrite of one program.

    Attributes:
        readers: the instructions that read a value.
        sums: the sum of some cotangents, by these.
        skipped: the sums of gradients that would be one if there was that sum.
        shares: what the rules of an operation share, by its signature and cotangent.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.makers = program.makers()
        self.readers: dict[int, dict[Instruction, None]] = {}
        self.results = set(program.results)
        for instruction in pace.over(program.instructions):
            self._enter(instruction)
        self.sums: dict[tuple[int, ...], int] = {}
        self.skipped: dict[tuple[int, ...], list[Instruction]] = {}
        self.shares: dict[Any, Instruction] = {}
        self.waiting = [i for i in program.instructions if i.key == SUM]

    def _enter(self, instruction: Instruction) -> None:
        for v in instruction.outputs:
            self.makers[v] = instruction
        for v in instruction.inputs:
            self.readers.setdefault(v, {})[instruction] = None

    def _leave(self, instruction: Instruction) -> None:
        """An instruction whose results nobody needs, and whatever was for it alone."""
        going = [instruction]
        while going:
            one = going.pop()
            for v in dict.fromkeys(one.inputs):
                self.readers[v].pop(one, None)
                maker = self.makers.get(v)
                if maker is not None and self._is_dead(maker):
                    going.append(maker)

    def _is_dead(self, instruction: Instruction) -> bool:
        return not any(v in self.results or self.readers.get(v) for v in instruction.outputs)

    def _is_alone(self, value: int) -> bool:
        """Whether one instruction reads a value, once."""
        readers = self.readers.get(value, {})
        if value in self.results or len(readers) != 1:
            return False
        (reader,) = readers
        return reader.inputs.count(value) == 1

    def run(self) -> None:
        """Rewrite the program."""
        changed = False
        while self.waiting:
            pace.breathe()
            root = self.waiting.pop()
            (value,) = root.outputs
            inside = self._is_alone(value) and next(iter(self.readers[value])).key == SUM
            if self.makers.get(value) is root and not inside and not self._is_dead(root):
                changed |= self._collect(root)
        if changed:
            self.program.instructions = self._in_order()

    def _collect(self, root: Instruction) -> bool:
        """Let terms of a sum that are gradients by one rule be one; whether there were some."""
        groups: dict[Signature, list[int]] = {}
        terms = self._terms(root)
        for value in terms:
            groups.setdefault(self._signature(value), []).append(value)
        kept = list[int]()
        for signature, values in groups.items():
            if len(values) == 1 or not signature[0]:
                kept += values
            else:
                kept += self._joined(values, root)
        if len(kept) == len(terms):
            return False
        self._replace(root.outputs[0], self._sum(kept, root))
        self._leave(root)
        return True

    def _terms(self, root: Instruction) -> list[int]:
        """What a tree of sums adds, where nobody else reads the sums inside."""
        terms: list[int] = []
        waiting = list(reversed(root.inputs))
        while waiting:
            value = waiting.pop()
            maker = self.makers.get(value)
            if maker is not None and maker.key == SUM and self._is_alone(value):
                waiting += reversed(maker.inputs)
            else:
                terms.append(value)
        return terms

    def _signature(self, value: int) -> Signature:
        """What a gradient is apart from its cotangent; one of its own if it is none."""
        maker = self.makers.get(value)
        if maker is None or not self._is_alone(value) or not _is_rule(maker):
            return False, value
        g, *others = maker.inputs
        if g in others or self._widens(g, value):
            return False, value
        reads = tuple([self._shared(v, g) or v for v in others])
        type_ = self.program.types[g]
        signature = True, maker.name, maker.key, reads, type_, self.program.types[value]
        try:
            hash(signature)
        except TypeError:  # a parameter without a hash
            return False, value
        return signature

    def _widens(self, g: int, value: int) -> bool:
        """Whether a gradient has more digits than its cotangent: sums of these would lose them."""
        types = self.program.types
        return types[g].dtype in HALF and types[value].dtype not in HALF

    def _shared(self, value: int, g: int) -> Signature | None:
        """What rules share of a cotangent, apart from it."""
        maker = self.makers.get(value)
        if maker is None or maker.inputs[:1] != (g,) or not _is_rule(maker, shared=True):
            return None
        return maker.name, maker.key, maker.inputs[1:]

    def _joined(self, values: list[int], root: Instruction) -> list[int]:
        """The one gradient instead of several; themselves if it would cost more."""
        rules = [self.makers[v] for v in values]
        key = tuple(sorted([rule.inputs[0] for rule in rules]))
        first, types = rules[0], self.program.types
        shrinks = types[first.outputs[0]].nbytes < types[key[0]].nbytes
        if shrinks and len(first.inputs) == 1 and key not in self.sums:
            self.skipped.setdefault(key, []).append(root)
            return values
        s = self.sums.get(key)
        if s is None:
            s = self.sums[key] = self._sum([*key], root)
            self.waiting += self.skipped.pop(key, [])
        g, *others = first.inputs
        joined = self._emit(first, (s, *[self._share(v, s) if self._shared(v, g) else v
                                         for v in others]))  # fmt: skip
        self.waiting.append(self.makers[s])
        return [joined.outputs[0]]

    def _share(self, value: int, s: int) -> int:
        """What rules share of another cotangent."""
        maker = self.makers[value]
        key = maker.name, maker.key, maker.inputs[1:], s
        if key not in self.shares or self._is_dead(self.shares[key]):
            self.shares[key] = self._emit(maker, (s, *maker.inputs[1:]))
        return self.shares[key].outputs[0]

    def _emit(self, like: Instruction, inputs: tuple[int, ...]) -> Instruction:
        """The instruction with other inputs."""
        outputs = tuple([self.program.value(self.program.types[v]) for v in like.outputs])
        new = Instruction(
            like.name, like.compute, inputs, outputs, like.entry, like.key, like.pointwise,
            like.unpacked,
        )  # fmt: skip
        self._enter(new)
        return new

    def _sum(self, values: list[int], like: Instruction) -> int:
        """The sum of values."""
        total, *rest = values
        for value in rest:
            outputs = (self.program.value(self.program.types[total]),)
            new = Instruction(
                "add", like.compute, (total, value), outputs, like.entry, SUM, like.pointwise
            )
            self._enter(new)
            (total,) = outputs
        return total

    def _replace(self, old: int, new: int) -> None:
        """Let whoever reads a value read another."""
        for reader in self.readers.pop(old, {}):
            reader.inputs = tuple([new if v == old else v for v in reader.inputs])
            self.readers.setdefault(new, {})[reader] = None
        if old in self.results:
            self.results.add(new)
            self.results.discard(old)
            self.program.results = [new if v == old else v for v in self.program.results]

    def _in_order(self) -> list[Instruction]:
        """What is needed, each after what it reads, else in the order that it was in."""
        ordered: dict[Instruction, None] = {}
        last = [self.makers[v] for v in self.program.results if v in self.makers]
        for instruction in pace.over((*self.program.instructions, *last)):
            waiting = [] if self._is_dead(instruction) else [instruction]
            while waiting:
                one = waiting[-1]
                makers = [self.makers[v] for v in one.inputs if v in self.makers]
                missing = [m for m in makers if m not in ordered]
                waiting += missing
                if not missing:
                    ordered[waiting.pop()] = None
        return [*ordered]


def _is_rule(instruction: Instruction, shared: bool = False) -> bool:
    """Whether an instruction computes a gradient of a cotangent, its first operand."""
    key, entry = instruction.key, instruction.entry
    if instruction.name == "sum_to":
        return not shared
    if not key or type(key[0]) is not tuple or not isinstance(entry, OpEntry):
        return False
    op, name = key[0]
    known = name == "shared" if shared else name in entry.op.differentiable
    return bool(op == entry.op.name and known)
