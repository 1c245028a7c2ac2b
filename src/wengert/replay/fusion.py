"""Passes over programs, and whether each is exact.

- `eliminate` (exact): what no result needs goes. Common subexpressions, those of several gradients
  among them, are never written twice: see `Lowering._emit`.
- `fuse` (exact but for rounding: a kernel may contract products and sums): pointwise instructions
  that follow each other become one loop, which reads each operand once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from wengert.kernels import jit
from wengert.kernels.halves import has_halves
from wengert.kernels.jit import LARGE
from wengert.kernels.jit.pace import pace
from wengert.kernels.precision import BRAIN
from wengert.ops.publish import has_kernel_of_rules
from wengert.replay.background import background
from wengert.replay.ir import Instruction, Program
from wengert.replay.trace import OpEntry

# Elements in a loop so short that the last of them, one by one, would take most of its time.
SHORT = 64
# Instructions in a loop: LLVM takes more than twice as long for one that is twice as long, and many
# pieces of what repeats itself are one kernel if its period divides this.
_LONGEST = 48
# A loop for several operations pays off from here: elements, times operations.
WORTH = 1 << 11
_F32, _BOOL, _F16 = np.dtype(np.float32), np.dtype(np.bool_), np.dtype(np.float16)


def eliminate(program: Program) -> None:
    """Drop what no result needs."""
    needed = set(program.results)
    used: list[Instruction] = []
    for instruction in pace.over(reversed(program.instructions)):
        if not needed.isdisjoint(instruction.outputs):
            used.append(instruction)
            needed.update(instruction.inputs)
    program.instructions = used[::-1]


class FusedLoop:
    """Pointwise instructions as one function of arrays: a kernel, or NumPy for small arrays.

    The kernel is made when arrays of new kinds come, in the background unless values are to be
    those of the kernel from the first call on. As long as there is none, the instructions run one
    by one.
    """

    def __init__(
        self, members: Sequence[Instruction], inputs: Sequence[int], outputs: Sequence[int],
        exact: bool = False, size: int | None = None,
    ) -> None:  # fmt: skip
        self.members, self.inputs, self.outputs = tuple(members), tuple(inputs), tuple(outputs)
        self.plans: dict[str, Any] = {}
        self.exact, self.short = exact, size is not None and size <= SHORT

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        kinds, layout = jit.operands.kinds_of(arrays), None
        if kinds is None:
            layout = jit.operands.layout_of(arrays)
            if layout is None:
                return self.one_by_one(arrays)
            kinds = layout.kinds
        if kinds not in self.plans:
            self._make(kinds)
        plan = self.plans[kinds]
        if plan is None:
            return self.one_by_one(arrays)
        results = plan.flat(arrays) if layout is None else plan.laid_out(arrays, layout)
        return self.one_by_one(arrays) if results is None else results

    def _make(self, kinds: str) -> None:
        """Have a kernel made."""

        def make() -> None:
            self.plans[kinds] = jit.operands.plan_of(self.functions(), kinds, False, self.short)

        self.plans[kinds] = None
        if self.exact:
            make()
        elif ":" not in kinds:  # those of halves alone would not round between instructions
            background.submit(make)

    def functions(self, wanted: Sequence[int] | None = None) -> list[Callable[..., Any]]:
        """Each output, or other values of members, as a function of arrays or of expressions.

        The first call computes what those of the others give for the same operands.
        """
        given: list[Any] = []
        values: dict[int, Any] = {}

        def evaluate(value: int, *operands: Any) -> Any:
            if not given or any(a is not b for a, b in zip(given, operands, strict=True)):
                given[:] = operands
                values.update(zip(self.inputs, operands, strict=True))
                for member in self.members:
                    assert member.pointwise is not None
                    found = member.pointwise(*[values[v] for v in member.inputs])
                    values[member.outputs[0]] = found
            return values[value]

        return [partial(evaluate, v) for v in (self.outputs if wanted is None else wanted)]

    def identity(self) -> Any:
        """What it computes, to compare with other loops; None if that cannot be told."""
        names = {v: k for k, v in enumerate(self.inputs)}
        parts: list[Any] = []
        for member in self.members:
            function: Any = member.pointwise
            if type(function) is partial and not function.keywords:
                function = function.func, function.args
            if member.key is None:  # numbers that are equal may differ: 1 and 1.0, 0.0 and -0.0
                return None
            parts.append((function, member.key[:2], *[names[v] for v in member.inputs]))
            names[member.outputs[0]] = len(names)
        found = *parts, *[names[v] for v in self.outputs]
        try:
            hash(found)
        except TypeError:  # a parameter without a hash
            return None
        return found

    def one_by_one(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The instructions as they were."""
        values = dict(zip(self.inputs, arrays, strict=True))
        for member in self.members:
            values[member.outputs[0]] = member.compute(*[values[v] for v in member.inputs])
        return [values[v] for v in self.outputs]


def fuse_rules(program: Program) -> None:
    """Let kernels compute the rules of operations one by one, as eager mode does."""
    for instruction in program.instructions:
        entry = instruction.entry
        if instruction.pointwise is None or not isinstance(entry, OpEntry):
            continue
        size = prod(program.types[instruction.outputs[0]].shape)
        if type(instruction.key[0]) is tuple and has_kernel_of_rules(entry.op, size):
            alone = replace(instruction)
            instruction.compute = FusedLoop([alone], alone.inputs, alone.outputs, exact=True)
            instruction.unpacked, instruction.pointwise = True, None


def fuse(program: Program, least: int = WORTH) -> None:
    """Make one instruction of pointwise ones that follow each other over one shape.

    A loop has at least so many elements, times instructions.
    """
    groups, users = _groups(program), users_of(program)
    program.instructions = [
        i for m in pace.over(groups) for k in range(0, len(m), _LONGEST)
        for i in _merged(program, m[k : k + _LONGEST], users, least)
    ]  # fmt: skip
    schedule(program)


def _groups(program: Program) -> list[list[Instruction]]:
    """The instructions that may share a loop, in an order in which groups may be computed."""
    given = (*program.inputs, *program.numbers, *program.constants)
    level: dict[int, int] = dict.fromkeys(given, 0)
    makers: dict[int, Instruction] = {}
    shapes: dict[int, tuple[int, ...]] = {}  # of values that a loop may go on with
    levels: dict[Instruction, int] = {}
    group: dict[Instruction, Instruction] = {}  # a representative, as in union-find

    def representative(i: Instruction) -> Instruction:
        while group[i] is not i:
            group[i] = i = group[group[i]]
        return i

    for instruction in pace.over(program.instructions):
        group[instruction] = instruction
        shape, inputs = _shape_of_loop(program, instruction), instruction.inputs
        together = [v for v in inputs if shapes.get(v, ()) == shape]
        depth = max([level[v] + (v not in together) for v in inputs], default=0)
        levels[instruction] = depth
        for v in instruction.outputs:
            makers[v], level[v] = instruction, depth
            if shape is not None:
                shapes[v] = shape
        for v in together:
            if levels[makers[v]] == depth:
                group[representative(makers[v])] = representative(instruction)
    members: dict[Instruction, list[Instruction]] = {}
    for instruction in pace.over(program.instructions):
        members.setdefault(representative(instruction), []).append(instruction)
    return sorted(members.values(), key=lambda m: levels[m[0]])


def _shape_of_loop(program: Program, instruction: Instruction) -> tuple[int, ...] | None:
    """The shape that an instruction is a loop over, which others may share."""
    if instruction.pointwise is None:
        return None
    type_ = program.types[instruction.outputs[0]]
    return type_.shape if type_.shape and loops_give(type_.dtype) else None


def loops_give(dtype: np.dtype[Any] | None) -> bool:
    """Whether values of this dtype may be those of loops."""
    return dtype in (_F32, _BOOL, BRAIN) or (dtype == _F16 and has_halves())


def users_of(program: Program) -> dict[int, list[Instruction | None]]:
    """Who reads each value; None for the caller of the program."""
    users: dict[int, list[Instruction | None]] = {v: [None] for v in program.results}
    for instruction in pace.over(program.instructions):
        for v in instruction.inputs:
            users.setdefault(v, []).append(instruction)
    return users


def _merged(
    program: Program, members: list[Instruction], users: dict[int, list[Instruction | None]],
    least: int,
) -> list[Instruction]:  # fmt: skip
    """The instructions of a group as one, if that is worth a kernel."""
    size = prod(program.types[members[0].outputs[0]].shape)
    if members[0].pointwise is None or size * len(members) < least:
        return members
    if len(members) == 1 and (not least or size < LARGE):  # a kernel for one is made elsewhere
        return members
    inside, own = set(members), {m.outputs[0] for m in members}
    inputs = tuple(dict.fromkeys(v for m in members for v in m.inputs if v not in own))
    outputs = tuple(
        m.outputs[0] for m in members if not inside.issuperset(users.get(m.outputs[0], ()))
    )
    if not inputs:
        return members
    name = "+".join(dict.fromkeys(m.name for m in members))
    loop = FusedLoop(members, inputs, outputs, size=size)
    return [
        Instruction(
            name, loop, inputs, outputs, members[0].entry, unpacked=True, members=tuple(members)
        )
    ]


def schedule(program: Program) -> None:
    """Order instructions as closely to the record as their operands allow: values die early."""
    makers = program.makers()
    done: set[int] = set()  # values
    done.update(program.inputs, program.numbers, program.constants)
    order: list[Instruction] = []
    for one in pace.over(sorted(program.instructions, key=_place)):
        waiting = [one]
        while waiting:
            last = waiting[-1]
            if last.outputs[0] in done:
                waiting.pop()
            elif done.issuperset(last.inputs):
                done.update(last.outputs)
                order.append(waiting.pop())
            else:
                waiting += [makers[v] for v in last.inputs if v not in done]
    program.instructions = order


def _place(instruction: Instruction) -> int:
    return max(instruction.outputs) if instruction.after is None else instruction.after
