"""The program of a run: instructions over arrays, in single assignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.kernels.jit.pace import pace
from wengert.replay.trace import Entry

Compute = Callable[..., Any]

# The key of sums of two cotangents.
SUM = ("sum",)


class Type(NamedTuple):
    """Shape and dtype of a value; of what only kernels read, nothing is known."""

    shape: tuple[int, ...] = ()
    dtype: np.dtype[Any] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of an array of this type."""
        return prod(self.shape) * (self.dtype.itemsize if self.dtype is not None else 0)

    def __str__(self) -> str:
        if self.dtype is None:
            return "opaque"
        return f"{of_numpy[self.dtype].name}{list(self.shape)}"


@dataclass(eq=False, slots=True)
class Instruction:
    """One call: `outputs = compute(*inputs)`; several outputs come as a sequence.

    Attributes:
        key: what it computes apart from its inputs, or None where that cannot be compared.
        pointwise: the same on single elements, where it is a function of those.
        members: the instructions that were fused into it.
        after: the value right after which it is best computed; None if its outputs decide.
    """

    name: str
    compute: Compute
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    entry: Entry | None = None
    key: Any = None
    pointwise: Compute | None = None
    unpacked: bool = False  # whether outputs come as a sequence
    members: tuple[Instruction, ...] = ()
    after: int | None = None


@dataclass
class Program:
    """Instructions from inputs and numbers to results."""

    types: list[Type] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    constants: dict[int, np.ndarray] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def value(self, type_: Type) -> int:
        """A fresh value."""
        self.types.append(type_)
        return len(self.types) - 1

    def copy(self) -> Program:
        """The same, for a pass to rewrite."""
        return Program(
            [*self.types], [*self.inputs], [*self.numbers], {**self.constants},
            [*self.instructions], [*self.results],
        )  # fmt: skip

    def check(self) -> None:
        """ValueError unless every value is defined once, before it is used, and results exist."""
        defined = {*self.inputs, *self.numbers, *self.constants}
        for instruction in pace.over(self.instructions):
            missing = [v for v in instruction.inputs if v not in defined]
            if missing:
                raise ValueError(f"{instruction.name} uses %{missing[0]}, which is not defined yet")
            again = defined.intersection(instruction.outputs)
            if again:
                raise ValueError(f"{instruction.name} defines %{again.pop()} a second time")
            defined.update(instruction.outputs)
            if instruction.pointwise is not None:
                self._check_pointwise(instruction)
            if instruction.members:
                self._check_members(instruction)
        missing = [v for v in self.results if v not in defined]
        if missing:
            raise ValueError(f"the program returns %{missing[0]}, which nothing defines")

    def _check_members(self, instruction: Instruction) -> None:
        known = {*instruction.inputs, *self.constants}
        for member in instruction.members:
            missing = [v for v in member.inputs if v not in known]
            if missing:
                raise ValueError(
                    f"{member.name} in {instruction.name} uses %{missing[0]}, which is not among"
                    " its inputs"
                )
            known.update(member.outputs)
        missing = [v for v in instruction.outputs if v not in known]
        if missing:
            raise ValueError(f"{instruction.name} defines %{missing[0]}, but none of its members")

    def _check_pointwise(self, instruction: Instruction) -> None:
        shapes = {self.types[v].shape for v in instruction.inputs}
        shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
        for v in instruction.outputs:
            if self.types[v].shape != shape:
                raise ValueError(
                    f"{instruction.name} is pointwise over {list(shape)}, but defines %{v} of"
                    f" shape {list(self.types[v].shape)}"
                )

    def makers(self) -> dict[int, Instruction]:
        """By value, the instruction that makes it."""
        return {v: i for i in self.instructions for v in i.outputs}

    def uses(self) -> dict[int, int]:
        """By value, how often instructions read it; results have two uses more."""
        uses = dict.fromkeys(self.results, 2)
        for instruction in pace.over(self.instructions):
            for v in instruction.inputs:
                uses[v] = uses.get(v, 0) + 1
        return uses

    def last_uses(self) -> dict[int, int]:
        """By value, the index of the instruction that uses it last; results have none."""
        last: dict[int, int] = {}
        for k, instruction in enumerate(pace.over(self.instructions)):
            for v in (*instruction.outputs, *instruction.inputs):
                last[v] = k
        for v in (*self.results, *self.constants):
            last.pop(v, None)
        return last

    def peak(self) -> int:
        """The most bytes of values that are alive at once, without inputs."""
        last, outside = self.last_uses(), {*self.inputs, *self.numbers, *self.constants}
        sizes = {t: t.nbytes for t in {*self.types}}
        bytes = [sizes[t] for t in self.types]
        now = most = 0
        for k, instruction in enumerate(pace.over(self.instructions)):
            for v in instruction.outputs:
                now += bytes[v]
            if now > most:
                most = now
            for v in {*instruction.inputs, *instruction.outputs}:
                if last.get(v) == k and v not in outside:
                    now -= bytes[v]
        return most

    def __str__(self) -> str:
        lines = [f"%{v} = input {self.types[v]}" for v in self.inputs]
        lines += [f"%{v} = number" for v in self.numbers]
        read = {v for i in self.instructions for v in i.inputs} | {*self.results}
        lines += [
            f"%{v} = {a.item() if a.size == 1 else 'constant'}: {self.types[v]}"
            for v, a in self.constants.items() if v in read
        ]  # fmt: skip
        width = 0
        texts: list[tuple[str, str]] = []
        for instruction in self.instructions:
            arguments = ", ".join(f"%{v}" for v in instruction.inputs)
            defined = ", ".join(f"%{v}: {self.types[v]}" for v in instruction.outputs)
            text = f"{defined} = {instruction.name}({arguments})"
            width = max(width, min(len(text), 88))
            texts.append((text, line_of(instruction)))
        lines += [f"{text:<{width}}  # {line}".rstrip(" #") for text, line in texts]
        lines.append(f"return {', '.join(f'%{v}' for v in self.results)}")
        return "\n".join(lines)


def line_of(instruction: Instruction) -> str:
    """The user's lines that an instruction is from."""
    members: Sequence[Instruction] = instruction.members or (instruction,)
    lines = dict.fromkeys(m.entry.line() for m in members if m.entry is not None)
    return "; ".join(line for line in lines if line)
