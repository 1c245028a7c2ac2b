"""Loops that sum what they compute, as kernels."""

from __future__ import annotations

from itertools import groupby
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels.jit import CHUNK, compiled, operands
from wengert.kernels.jit.tracing import UntraceableError
from wengert.kernels.reduction.traced import Summing
from wengert.replay.emitting import BOOL, F32, Emitter, Scalar, View
from wengert.replay.ends import FusedEnds, Reduction
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import dense_of
from wengert.replay.loop_forms import loop_over, spread
from wengert.replay.sum_forms import root, sum_over

# Elements in a row so few that a loop over all elements, which needs an array, is faster.
_NARROW = 32
# Chunks that sums of columns have at most; rows in a chunk, at most and at least.
_PARTS, _DEEP, _LEAST = 64, 1024, 32


# Sums, and over which of their dimensions they are still to be added up.
Parts = list[tuple[View, tuple[int, ...]]]


class _Loop(NamedTuple):
    """A loop to be made: over which shape, of what, and what is summed of it over some axes."""

    functions: list[Any]
    summed: list[Any]
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    inputs: list[View]
    outputs: list[View]
    targets: list[View | None]

    def parts(self, emitter: Emitter, shape: list[int], axes: list[int]) -> Parts:
        """Where the sums go that are to be added up over axes; if there are none, to the end."""
        return [
            (emitter.temporary(shape) if axes or target is None else target, tuple(axes))
            for target in self.targets
        ]


def summed(emitter: Emitter, instruction: Instruction) -> bool:
    """A loop and sums of its values."""
    ends = instruction.compute
    assert isinstance(ends, FusedEnds)
    loop, stored = ends.loop, [v for v in ends.loop.outputs if v in ends.outputs]
    inputs, outputs = ([emitter.view(v) for v in of] for of in (instruction.inputs, stored))
    results = [emitter.view(i.outputs[0]) for i, _ in ends.reductions]
    if any(v is None or v.dtype not in (F32, BOOL) for v in (*inputs, *outputs, *results)):
        return False
    functions = loop.functions([*stored, *(i.inputs[0] for i, _ in ends.reductions)])
    terms = functions[len(stored) :]
    sums = [_squared(f, r) for f, (_, r) in zip(terms, ends.reductions, strict=True)]
    first, reduction = ends.reductions[0]
    plain = [r.kind == "sum" for _, r in ends.reductions]
    one = _Loop(
        functions[: len(stored)], sums, emitter.type_of(first.inputs[0]).shape,
        reduction.axes, [v for v in inputs if v is not None], [v for v in outputs if v is not None],
        [v if is_plain else None for v, is_plain in zip(results, plain, strict=True)],
    )  # fmt: skip
    parts = _sums(emitter, one)
    if parts is None:
        dense = [dense_of(emitter, v) if v.dtype == F32 else v for v in one.inputs]
        parts = None if dense == one.inputs else _sums(emitter, one._replace(inputs=dense))
    return parts is not None and all(
        _finished(emitter, part, i.outputs[0], r)
        for part, (i, r) in zip(parts, ends.reductions, strict=True)
    )


def _squared(function: Any, reduction: Reduction) -> Any:
    if reduction.kind != "norm":
        return function

    def square(*values: Any) -> Any:
        x = function(*values)
        return x * x

    return square


def _finished(
    emitter: Emitter, part: tuple[View, tuple[int, ...]], value: int, reduction: Reduction
) -> bool:
    """The result, from parts that are still to be summed over some dimensions."""
    out, (parts, axes) = emitter.views[value], part
    if reduction.kind == "sum":
        return not axes or sum_over(emitter, parts, out, axes)
    sums = (
        emitter.temporary(out.shape)
        if axes
        else parts._replace(shape=out.shape, strides=out.strides)
    )
    count = np.float32(reduction.size)
    function = root if reduction.kind == "norm" else lambda x: x / count
    return (not axes or sum_over(emitter, parts, sums, axes)) and loop_over(
        emitter, [function], out.shape, [sums], [out]
    )


def _sums(emitter: Emitter, loop: _Loop) -> Parts | None:
    """The calls of the loop; sums, and over which of their dimensions to add them up."""
    long = [d for d, n in enumerate(loop.shape) if n != 1]
    runs = [(k, [*ds]) for k, ds in groupby(long, key=lambda d: d in loop.axes)]
    rank = len(loop.shape)
    steps = [(0,) * (rank - len(v.shape)) + spread(v) for v in loop.inputs]
    if runs[-1][0]:
        before = [d for _, ds in runs[:-1] for d in ds]
        if not before:
            flat = _flat(emitter, loop, steps)
            if flat is not None:
                return flat
        return _rows(emitter, loop, steps, before, runs[-1][1])
    before = [d for _, ds in runs[:-2] for d in ds]
    return _columns(emitter, loop, steps, (before, runs[-2][1], runs[-1][1]))


def _traced(loop: _Loop, letters: str, stored: bool) -> Summing | None:
    """The kernels, if there are any for such operands, and they are worth it.

    Constants of functions such as tanh fill the registers of a plain loop; of one with sums, within
    others, they do not stay there. That takes longer than to read an array again, if one is
    `stored` anyway.
    """
    if not set(letters) - {"s"}:
        return None
    try:
        kernels = Summing(loop.functions, loop.summed, letters)
    except UntraceableError:
        return None
    except Exception:  # whatever a function does with what is no array
        return None
    if kernels.heavy and stored:
        return None
    return kernels if [*kernels.outputs] == [v.dtype for v in loop.outputs] else None


def _arguments(loop: _Loop, letters: str, parts: Parts) -> list[Any]:
    given = [
        Scalar(v) if letter == "s" else v for v, letter in zip(loop.inputs, letters, strict=True)
    ]
    return [*given, *loop.outputs, *[view for view, _ in parts]]


def _flat(emitter: Emitter, loop: _Loop, steps: list[tuple[int, ...]]) -> Parts | None:
    """Sums of chunks of all elements, where operands lie as these are counted."""
    order = tuple(range(len(loop.shape)))
    lengths, merged = operands.merged(loop.shape, order, steps)
    if len(lengths) != 1:
        return None
    letters = ""
    for view, (step,) in zip(loop.inputs, merged, strict=True):
        mask = view.dtype == BOOL
        if step not in (0, 1) or (mask and not step):
            return None
        letters += "b" if mask else "f" if step else "s"
    kernels = _traced(loop, letters, bool(loop.outputs))
    if kernels is None:
        return None
    total, chunk = prod(loop.shape), min(kernels.chunk, CHUNK)
    parts = loop._replace(targets=[None] * len(loop.summed)).parts(
        emitter, [-(-total // chunk)], [0]
    )
    emitter.call(
        compiled(kernels.over_all()), *_arguments(loop, letters, parts), chunk, total=total,
        chunk=chunk,
    )  # fmt: skip
    return parts


def _letters(inputs: list[View], steps: list[tuple[int, ...]]) -> str | None:
    """The kinds of operands whose rows are along the last dimension."""
    letters = ""
    for view, own in zip(inputs, steps, strict=True):
        mask = view.dtype == BOOL
        if own[-1] not in (0, 1):
            return None
        letter = "r" if own[-1] else "c" if mask or any(own) else "s"
        letters += letter.upper() if mask else letter
    return letters


def _merged(
    loop: _Loop, steps: list[tuple[int, ...]], dims: list[int]
) -> tuple[list[int], list[tuple[int, ...]]]:
    lengths, strides = operands.merged(loop.shape, tuple(dims), steps)
    return lengths, strides or [()] * len(steps)


def _rows(
    emitter: Emitter, loop: _Loop, steps: list[tuple[int, ...]], before: list[int], run: list[int]
) -> Parts | None:
    """Sums along the last dimension."""
    kept, kept_steps = _merged(loop, steps, before)
    lengths, run_steps = _merged(loop, steps, run)
    sizes = [*kept, *lengths]
    if len(sizes) > 3 or sizes[-1] < _NARROW:
        return None
    own = [(0, 0, *a, *b)[-3:] for a, b in zip(kept_steps, run_steps, strict=True)]
    letters = _letters(loop.inputs, own)
    kernels = None if letters is None else _traced(loop, letters, bool(loop.outputs))
    if letters is None or kernels is None:
        return None
    width, middle, total = sizes[-1], (1, *sizes)[-2], prod(sizes[:-1])
    shape = [*(loop.shape[d] for d in before), *lengths[:-1]]
    axes = [k for k, d in enumerate(before) if d in loop.axes]
    parts = loop.parts(emitter, shape, [*axes, *range(len(before), len(shape))])
    strides = [s for o, letter in zip(own, letters, strict=True) if letter != "s" for s in o[:2]]
    emitter.call(
        compiled(kernels.over_rows()), *_arguments(loop, letters, parts), *strides, middle, width,
        total=total, chunk=max(1, min(kernels.chunk, CHUNK) // width),
    )  # fmt: skip
    return parts


def _columns(
    emitter: Emitter, loop: _Loop, steps: list[tuple[int, ...]],
    dims: tuple[list[int], list[int], list[int]],
) -> Parts | None:  # fmt: skip
    """Sums of each column over the rows above one another."""
    groups = [_merged(loop, steps, of) for of in dims]
    if any(len(lengths) > 1 for lengths, _ in groups):
        return None
    outer, n, inner = (prod(lengths) for lengths, _ in groups)
    if inner < _NARROW:
        return None
    own = [
        tuple([(0, *group)[-1] for group in of])
        for of in zip(*[strides for _, strides in groups], strict=True)
    ]
    letters = _letters(loop.inputs, own)
    kernels = None if letters is None else _traced(loop, letters, True)
    if letters is None or kernels is None:
        return None
    high = min(n, max(_LEAST, CHUNK // inner, min(-(-n // _PARTS), _DEEP)))
    pieces = -(-n // high)
    before, _, after = ([loop.shape[d] for d in of] for of in dims)
    axes = [k for k, d in enumerate(dims[0]) if d in loop.axes]
    axes += [len(before)] if pieces > 1 else []
    parts = loop.parts(emitter, [*before, pieces, *after], axes)
    strides = [s for o, letter in zip(own, letters, strict=True) if letter != "s" for s in o[:2]]
    emitter.call(
        compiled(kernels.over_columns()), *_arguments(loop, letters, parts), *strides, n, inner,
        high, pieces, total=outer * pieces, chunk=max(1, CHUNK // (high * inner)),
    )  # fmt: skip
    return parts
