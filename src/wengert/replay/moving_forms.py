"""Operations that bring elements to other places as copies: padding, rolling, pixels, repeats."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from wengert.kernels.axes import axis_of
from wengert.replay.emitting import Emitter
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import copy, dense_of, fill_with, pair_of
from wengert.replay.row_forms import params_of
from wengert.replay.sum_forms import sum_over


def padded(emitter: Emitter, instruction: Instruction) -> bool:
    """The elements inside of a frame of one number; cut off where there is less."""
    params = params_of(instruction)
    return _padded(emitter, instruction, params["pad"], params["value"])


def padded_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of what is inside of the frame; zeros for what was cut off."""
    return _padded(emitter, instruction, [-n for n in params_of(instruction)["pad"]], 0.0)


def _padded(emitter: Emitter, instruction: Instruction, pad: Sequence[int], value: Any) -> bool:
    """`pad` counts from the last dimension."""
    views = pair_of(emitter, instruction)
    if views is None or not isinstance(value, int | float | np.floating):
        return False
    source, out = views
    lead = len(source.shape) - len(pad) // 2
    lows, highs = (
        [0] * lead + [pad[k] for k in range(len(pad) - 2 + last, -1, -2)] for last in (0, 1)
    )
    if any(n > 0 for n in (*lows, *highs)):
        fill_with(emitter, value, out)
    first, inside = [max(-n, 0) for n in lows], [max(n, 0) for n in lows]
    lengths = [
        n - before - max(-high, 0)
        for n, before, high in zip(source.shape, first, highs, strict=True)
    ]  # fmt: skip
    if min(lengths) > 0:
        copy(emitter, source.part(first, lengths), out.part(inside, lengths))
    return True


def rolled(emitter: Emitter, instruction: Instruction) -> bool:
    """The elements shifted along dimensions, around their ends."""
    return _rolled(emitter, instruction, 1)


def rolled_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients shifted back."""
    return _rolled(emitter, instruction, -1)


def _rolled(emitter: Emitter, instruction: Instruction, sign: int) -> bool:
    views, params = pair_of(emitter, instruction), params_of(instruction)
    if views is None:
        return False
    shifts, dims = (
        [*x] if isinstance(x, tuple | list) else [] if x is None else [x]
        for x in (params["shifts"], params["dims"])
    )
    source, out = views
    if not dims:  # in the order of all elements
        source, out = (v.shaped(v.size) for v in (dense_of(emitter, source), out))
        dims = [0]
    by = [0] * len(source.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        by[dim] += sign * shift
    pieces = [
        [p for p in ((0, s % n, n - s % n), (n - s % n, 0, s % n)) if p[2]]
        for n, s in zip(source.shape, by, strict=True)
    ]
    for piece in product(*pieces):  # of each dimension: from, to, and how many
        lengths = [n for _, _, n in piece]
        old, new = [p[0] for p in piece], [p[1] for p in piece]
        copy(emitter, source.part(old, lengths), out.part(new, lengths))
    return True


def flipped(emitter: Emitter, instruction: Instruction) -> bool:
    """The elements, or gradients, from the end along some dimensions."""
    views, dims = pair_of(emitter, instruction), params_of(instruction)["dims"]
    if views is None:
        return False
    source, out = views
    rank, steps, offset = len(source.shape), [*source.strides], source.offset
    for d in {axis_of(d, rank) for d in ([dims] if isinstance(dims, int) else dims)}:
        offset += (source.shape[d] - 1) * steps[d]
        steps[d] = -steps[d]
    copy(emitter, source._replace(offset=offset, strides=tuple(steps)), out)
    return True


def rearranged(emitter: Emitter, instruction: Instruction) -> bool:
    """The elements in a shape of its own, with dimensions in another order."""
    views, params = pair_of(emitter, instruction), params_of(instruction)
    if views is None:
        return False
    source = dense_of(emitter, views[0]).shaped(*params["sizes"]).permuted(params["order"])
    copy(emitter, source, views[1].shaped(*source.shape))
    return True


def rearranged_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients in the order that the elements came in."""
    views, params = pair_of(emitter, instruction), params_of(instruction)
    if views is None:
        return False
    out = views[1].shaped(*params["sizes"]).permuted(params["order"])
    copy(emitter, dense_of(emitter, views[0]).shaped(*out.shape), out)
    return True


def repeated(emitter: Emitter, instruction: Instruction) -> bool:
    """The elements again and again along dimensions."""
    views = pair_of(emitter, instruction)
    if views is None:
        return False
    source, out = views
    shape = _by_turns(source.shape, params_of(instruction)["repeats"])
    more = len(shape) // 2 - len(source.shape)
    steps = [0] * (2 * more) + [s for step in source.strides for s in (0, step)]
    copy(emitter, source._replace(shape=shape, strides=tuple(steps)), out.shaped(*shape))
    return True


def repeated_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The sums of the gradients of all copies."""
    views = pair_of(emitter, instruction)
    if views is None:
        return False
    g, out = views
    shape = _by_turns(out.shape, params_of(instruction)["repeats"])
    turns = tuple(d for d in range(0, len(shape), 2) if shape[d] != 1)
    source = dense_of(emitter, g).shaped(*shape)
    if not turns:
        copy(emitter, source, out.shaped(*shape))
        return True
    return sum_over(emitter, source, out, turns)


def _by_turns(shape: tuple[int, ...], repeats: Sequence[int]) -> tuple[int, ...]:
    """How often and how long each dimension is."""
    lengths = (1,) * (len(repeats) - len(shape)) + shape
    return tuple(n for pair in zip(repeats, lengths, strict=True) for n in pair)


MOVES = {
    "_constant_pad": padded,
    ("_constant_pad", "input"): padded_back,
    "flip": flipped,
    ("flip", "input"): flipped,
    "roll": rolled,
    ("roll", "input"): rolled_back,
    "_rearranged": rearranged,
    ("_rearranged", "input"): rearranged_back,
    "repeat": repeated,
    ("repeat", "input"): repeated_back,
}
