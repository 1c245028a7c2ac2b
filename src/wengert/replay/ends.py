"""Loops and what reduces their values, as one instruction.

`fuse_ends` is exact but for rounding. Where a value is read by a sum, mean or norm, the loop that
computes it sums it, too: it becomes an array only if something else reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from wengert.kernels.axes import axes_of
from wengert.replay.emitting import F32, dense_strides
from wengert.replay.fusion import WORTH, FusedLoop, users_of
from wengert.replay.ir import Instruction, Program
from wengert.replay.trace import OpEntry

# Sums over the dimensions that a value was broadcast over.
_UNBROADCAST = frozenset({
    "sum_to", "joint_rows", ("linear", "bias"), ("expand", "input"),
    ("_convolution", "bias"), ("_transposed_convolution", "bias"),
})  # fmt: skip
_KINDS = {"sum_over": "sum", "mean_over": "mean", "vector_norm": "norm"}


class Reduction(NamedTuple):
    """A sum, mean or norm of a value over some of its dimensions, those of length 1 left out."""

    kind: str
    axes: tuple[int, ...]
    size: int


class FusedEnds:
    """A loop and reductions of its values, as one function of arrays.

    Attributes:
        loop: the loop, and `reductions` what comes of its values, with their instructions.
        members: all of these, in their order.
    """

    def __init__(
        self, first: Instruction, reductions: Sequence[tuple[Instruction, Reduction]],
        outputs: Sequence[int],
    ) -> None:  # fmt: skip
        self.loop, self.reductions = loop_of(first), tuple(reductions)
        self.members = (first, *[r for r, _ in reductions])
        self.inputs, self.outputs = first.inputs, tuple(outputs)

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        values: dict[int, Any] = dict(zip(self.inputs, arrays, strict=True))
        for member in self.members:
            found = member.compute(*[values[v] for v in member.inputs])
            several = member.unpacked
            values.update(zip(member.outputs, found if several else (found,), strict=True))
        return [values[v] for v in self.outputs]


def loop_of(instruction: Instruction) -> FusedLoop:
    """The loop of a pointwise instruction."""
    if isinstance(instruction.compute, FusedLoop):
        return instruction.compute
    return FusedLoop([replace(instruction)], instruction.inputs, instruction.outputs)


def fuse_ends(program: Program, least: int = WORTH) -> None:
    """Let loops compute what reductions make of their values.

    They have at least so many elements, times instructions.
    """
    users = users_of(program)
    instead: dict[Instruction, list[Instruction]] = {}
    for first in program.instructions:
        found = _reductions(program, first, users)
        size = prod(program.types[first.outputs[0]].shape)
        if not found or size * (len(first.members) + len(found)) < least:
            continue
        inside = {first, *[r for r, _ in found]}
        kept = [v for v in first.outputs if not inside.issuperset(users.get(v, ()))]
        outputs = (*kept, *[r.outputs[0] for r, _ in found])
        ends = FusedEnds(first, found, outputs)
        members = [*(first.members or [first]), *[r for r, _ in found]]
        name = "+".join(dict.fromkeys([first.name, *[r.name for r, _ in found]]))
        for one in inside:
            instead[one] = []
        instead[first] = [
            Instruction(
                name, ends, first.inputs, outputs, first.entry, unpacked=True,
                members=tuple(members),
            )
        ]  # fmt: skip
    program.instructions = [i for one in program.instructions for i in instead.get(one, [one])]


def _reductions(
    program: Program, first: Instruction, users: dict[int, list[Instruction | None]]
) -> list[tuple[Instruction, Reduction]]:
    """What a loop can compute of its values: over the same dimensions, so as to save most."""
    if first.pointwise is None and not isinstance(first.compute, FusedLoop):
        return []
    groups: dict[tuple[int, ...], list[tuple[Instruction, Reduction]]] = {}
    gone: dict[tuple[int, ...], int] = {}
    for v in first.outputs:
        readers = users.get(v, [])
        for reader in dict.fromkeys(readers):
            reduction = None if reader is None else reduction_of(program, reader)
            if reader is None or reduction is None or not is_in_order(reader):
                continue
            groups.setdefault(reduction.axes, []).append((reader, reduction))
            gone[reduction.axes] = gone.get(reduction.axes, 0) + (len(readers) == 1)
    return max(groups.values(), key=lambda g: (gone[g[0][1].axes], len(g)), default=[])


def reduction_of(program: Program, instruction: Instruction) -> Reduction | None:
    """What an instruction reduces its operand by."""
    if len(instruction.inputs) != 1 or len(instruction.outputs) != 1:
        return None
    source, out = (program.types[v] for v in (*instruction.inputs, *instruction.outputs))
    if source.dtype != F32 or out.dtype != F32 or not prod(source.shape):
        return None
    entry, key, rank = instruction.entry, instruction.key, len(source.shape)
    name = key[0] if key and isinstance(key, tuple) else None
    if name in _UNBROADCAST or instruction.name in _UNBROADCAST:
        channels = isinstance(name, tuple) and name[0].endswith("_convolution")
        axes = _lost(source.shape, out.shape, 1 if channels else rank - len(out.shape))
        kind = "sum"
    elif name in _KINDS and isinstance(entry, OpEntry):
        kind = _KINDS[name]
        if kind == "norm" and entry.params["p"] != 2:
            return None
        axes = axes_of(entry.params.get("dim"), rank)
        axes = tuple(range(rank)) if axes is None else tuple(sorted(axes))
    else:
        return None
    if axes is None:
        return None
    size = prod([source.shape[d] for d in axes])
    axes = tuple([d for d in axes if source.shape[d] != 1])
    return Reduction(kind, axes, size) if axes else None


def _lost(shape: tuple[int, ...], to: tuple[int, ...], before: int) -> tuple[int, ...] | None:
    """The dimensions that are not in a shape that begins at one of them."""
    after = len(shape) - before - len(to)
    if before < 0 or after < 0:
        return None
    target = (1,) * before + to + (1,) * after
    if any(n not in (1, m) for n, m in zip(target, shape, strict=True)):
        return None
    return tuple([d for d, n in enumerate(target) if n != shape[d]])


def is_in_order(instruction: Instruction) -> bool:
    """Whether eager mode has results in the order of their dimensions, as segments do."""
    entry, key = instruction.entry, instruction.key
    if not isinstance(entry, OpEntry) or entry.op.view or not key or type(key[0]) is not str:
        return True
    if not all(outline.c_contiguous for outline in entry.outlines):
        return False
    if not entry.op.aux:
        return True
    # The layout of what is computed beside a result, and of gradients, follows from all strides of
    # an image, those of dimensions of length 1 among them.
    out = entry.outlines[0]
    dense = [step * out.itemsize for step in dense_strides(out.shape)]
    return not out.size or [*out.strides] == dense
