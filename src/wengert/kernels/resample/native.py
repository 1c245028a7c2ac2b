"""Resizing and padding along an axis, compiled. Arrays are seen as (outer, axis, inner).

A tap at place -1 is none: where outputs are made of fewer inputs than others.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.kernels.calling import Caller, at_once
from wengert.kernels.chunks import real_of
from wengert.kernels.jit import CHUNK, kernel
from wengert.kernels.jit.builtins import at, given, i64, i64s, inline, real, reals


@inline
def _blend(
    x: reals, source: i64s, weight: reals, out: reals, taps: i64, outputs: i64, inner: i64
) -> None:
    for j in range(outputs):
        target = at(out, j * inner)
        if given(weight):
            for k in range(inner):
                target[k] = 0.0
            for t in range(taps):
                place = t * outputs + j
                if source[place] >= 0:
                    row = at(x, source[place] * inner)
                    for k in range(inner):
                        target[k] = target[k] + weight[place] * row[k]
        else:
            whole = at(x, source[j] * inner)
            for k in range(inner):
                target[k] = whole[k]


@inline
def _blend_numbers(
    x: reals, source: i64s, weight: reals, out: reals, taps: i64, outputs: i64
) -> None:
    """Where `inner` is 1."""
    if given(weight):
        for j in range(outputs):
            out[j] = weight[j] * x[source[j]]
    else:
        for j in range(outputs):
            out[j] = x[source[j]]
    for t in range(1, taps):
        for j in range(outputs):
            place = source[t * outputs + j]
            part = weight[t * outputs + j] * x[max(place, 0)]
            out[j] = out[j] + (part if place >= 0 else 0.0)


@inline
def _spread(
    g: reals, source: i64s, weight: reals, out: reals, first: i64, outputs: i64, inner: i64
) -> None:
    """The adjoint of one tap."""
    for j in range(outputs):
        share = 1.0
        if given(weight):
            share = weight[first + j]
        place = source[first + j]
        if place >= 0 and inner == 1:
            out[place] = out[place] + share * g[j]
        elif place >= 0:
            row = at(g, j * inner)
            target = at(out, place * inner)
            for k in range(inner):
                target[k] = target[k] + share * row[k]


@kernel
def _gather_planes(
    x: reals, rows: i64s, columns: i64s, out: reals, height: i64, width: i64, tall: i64, wide: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """Rows and columns of each plane."""
    for p in range(start, stop):
        for y in range(tall):
            row = at(x, (p * height + rows[y]) * width)
            target = at(out, (p * tall + y) * wide)
            for j in range(wide):
                target[j] = row[columns[j]]


@kernel
def _scatter_planes(
    g: reals, rows: i64s, columns: i64s, out: reals, sums: reals, height: i64, width: i64,
    tall: i64, wide: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The adjoint of `_gather_planes`; `out` has been zero. Equal rows in a row are summed first.

    `sums` has room for a row of each plane.
    """
    for p in range(start, stop):
        part = at(sums, p * wide)
        for y in range(tall):
            row = at(g, (p * tall + y) * wide)
            if y > 0 and rows[max(y - 1, 0)] == rows[y]:
                for j in range(wide):
                    part[j] = part[j] + row[j]
            else:
                for j in range(wide):
                    part[j] = row[j]
            if y + 1 == tall or rows[min(y + 1, tall - 1)] != rows[y]:
                target = at(out, (p * height + rows[y]) * width)
                total = real(0.0)
                for j in range(wide):
                    total = total + part[j]
                    if j + 1 == wide or columns[min(j + 1, wide - 1)] != columns[j]:
                        target[columns[j]] = target[columns[j]] + total
                        total = real(0.0)


@kernel
def _gather_runs(
    x: reals, rows: i64s, columns: i64s, out: reals, height: i64, width: i64, tall: i64, wide: i64,
    inner: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """As `_gather_planes`, of runs of `inner` numbers; here a row of each plane."""
    for p in range(start, stop):
        whole = at(x, (p // tall * height + rows[p % tall]) * width * inner)
        for j in range(wide):
            run = at(whole, columns[j] * inner)
            target = at(out, (p * wide + j) * inner)
            for k in range(inner):
                target[k] = run[k]


@kernel
def _scatter_runs(
    g: reals, rows: i64s, columns: i64s, out: reals, height: i64, width: i64, tall: i64, wide: i64,
    inner: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The adjoint of `_gather_runs`, for whole planes; `out` has been zero."""
    for p in range(start, stop):
        for y in range(tall):
            whole = at(out, (p * height + rows[y]) * width * inner)
            for j in range(wide):
                run = at(g, ((p * tall + y) * wide + j) * inner)
                target = at(whole, columns[j] * inner)
                for k in range(inner):
                    target[k] = target[k] + run[k]


@kernel
def _gather(
    x: reals, source: i64s, weight: reals, out: reals, taps: i64, size: i64, outputs: i64,
    inner: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for o in range(start, stop):
        whole = at(x, o * size * inner)
        target = at(out, o * outputs * inner)
        if inner == 1:
            _blend_numbers(whole, source, weight, target, taps, outputs)
        else:
            _blend(whole, source, weight, target, taps, outputs, inner)


@kernel
def _scatter(
    g: reals, source: i64s, weight: reals, out: reals, taps: i64, size: i64, outputs: i64,
    inner: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The adjoint of `_gather`."""
    for o in range(start, stop):
        whole = at(out, o * size * inner)
        for k in range(size * inner):
            whole[k] = 0.0
        for t in range(taps):
            whence = at(g, o * outputs * inner)
            _spread(whence, source, weight, whole, t * outputs, outputs, inner)


def resampled(
    x: np.ndarray, source: np.ndarray, weight: np.ndarray | None, axis: int, size: int | None
) -> np.ndarray | None:
    """Blend slices along an axis, or spread them over `size` if that is given; None if it cannot.

    `source` (taps, outputs) says which inputs an output is made of, by which `weight` each.
    """
    run = real_of(x) if x.size else None
    if run is None:
        return None
    length = source.shape[1] if size is None else size
    out = np.empty((*x.shape[:axis], length, *x.shape[axis + 1 :]), x.dtype)
    call_resampled(at_once, run, x, out, source, weight, axis, size is not None)
    return out


def call_resampled(
    caller: Caller, run: str, x: Any, out: Any, source: np.ndarray, weight: np.ndarray | None,
    axis: int, back: bool,
) -> None:  # fmt: skip
    """Make the call of `resampled`, which writes all of `out`; `back` if it spreads."""
    taps, outputs = source.shape
    inner, count = prod(x.shape[axis + 1 :]), prod(x.shape[:axis])
    weights = None if weight is None else np.ascontiguousarray(weight, x.dtype)
    size = (out if back else x).shape[axis]
    caller.call(
        getattr(_scatter if back else _gather, run), x, np.ascontiguousarray(source, np.int64),
        weights, out, taps, size, outputs, inner, total=count,
        chunk=max(1, CHUNK // max(1, taps * outputs * inner)),
    )  # fmt: skip


def planes(
    x: np.ndarray, rows: np.ndarray, columns: np.ndarray, size: tuple[int, int] | None
) -> np.ndarray | None:
    """The rows and columns of planes, the last two axes; None if it cannot.

    With a size the adjoint: planes of that size, to whose rows and columns `x` is added.
    """
    run = real_of(x) if x.size else None
    if run is None:
        return None
    back = size is not None
    shape = (len(rows), len(columns)) if size is None else size
    out = (np.zeros if back else np.empty)((*x.shape[:-2], *shape), x.dtype)
    sums = np.empty((prod(x.shape[:-2]), len(columns)), x.dtype) if back else None
    call_planes(at_once, run, x, out, rows, columns, sums)
    return out


def call_planes(
    caller: Caller, run: str, x: Any, out: Any, rows: np.ndarray, columns: np.ndarray, sums: Any
) -> None:
    """Make the call of `planes`; of the adjoint, if there is room for `sums`: a row of each plane.

    Then `out` has been zero.
    """
    count, tall, wide = prod(x.shape[:-2]), len(rows), len(columns)
    kernel, own, room = _gather_planes, x.shape[-2:], []
    if sums is not None:
        kernel, own, room = _scatter_planes, out.shape[-2:], [sums]
    caller.call(
        getattr(kernel, run), x, rows, columns, out, *room, *own, tall, wide, total=count,
        chunk=max(1, CHUNK // max(1, tall * wide)),
    )  # fmt: skip


def runs(
    x: np.ndarray, rows: np.ndarray, columns: np.ndarray, size: tuple[int, int] | None
) -> np.ndarray | None:
    """As `planes`, for (plane, y, x, run): the numbers of a run stay together."""
    run = real_of(x) if x.size else None
    if run is None:
        return None
    count, *own, inner = x.shape
    tall, wide = len(rows), len(columns)
    if size is None:
        out = np.empty((count, tall, wide, inner), x.dtype)
        sizes, share = (*own, tall, wide, inner), max(1, CHUNK // (wide * inner))
        getattr(_gather_runs, run)(x, rows, columns, out, *sizes, count * tall, share)
    else:
        out, sizes = np.zeros((count, *size, inner), x.dtype), (*size, tall, wide, inner)
        getattr(_scatter_runs, run)(x, rows, columns, out, *sizes, count, 1)
    return out
