"""How arrays lie beside each other, and calls of traced kernels on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels._jit import LARGE, available
from wengert.kernels._jit.tracing import BOOL, F32, Traced

Arrays = Sequence["np.ndarray | None"]

_C_CONTIGUOUS, _ALIGNED = 1, 256
_GOOD = _C_CONTIGUOUS | _ALIGNED
# Elements below which a kernel gains nothing over one loop of NumPy.
_CHEAP_WORK, _CHEAP_SIZE = 0.25, 1 << 16
# An innermost dimension that is shorter is not worth a loop.
_SHORTEST = 4


class Layout(NamedTuple):
    """Operands that a kernel can read: their kinds (see `Traced`) and the order of memory."""

    kinds: str
    shape: tuple[int, ...]
    # Dimensions in the order of memory, and back; None for the order that they have.
    order: tuple[tuple[int, ...], tuple[int, ...]] | None
    numbers: tuple[int, ...]  # strides, the size of the middle dimension, and of the innermost
    extent: int  # elements, or rows of the innermost dimension
    width: int

    def empty(self, dtype: np.dtype[Any]) -> np.ndarray:
        """An array for a result."""
        if self.order is None:
            return np.empty(self.shape, dtype)
        there, back = self.order
        return np.empty([self.shape[d] for d in there], dtype).transpose(back)


def layout_of(arrays: Arrays) -> Layout | None:
    """How arrays of float32 and bool lie, or None where no kernel can read them."""
    shape: Any = None
    kinds = ""
    for a in arrays:
        if a is None:
            kinds += "n"
        elif not a.ndim and a.dtype is F32:
            kinds += "s"
        elif (
            (shape is None or a.shape == shape)
            and (a.dtype is F32 or a.dtype is BOOL)
            and a.flags.num & _GOOD == _GOOD
        ):
            shape = a.shape
            kinds += "f" if a.dtype is F32 else "b"
        else:
            return _other_layout(tuple(None if x is None else _outline(x) for x in arrays))
    return None if shape is None else Layout(kinds, shape, None, (), prod(shape), 1)


def _outline(a: np.ndarray) -> tuple[Any, ...]:
    return a.shape, a.strides, a.dtype, a.flags.aligned


@lru_cache(1024)
def _other_layout(outlines: tuple[Any, ...]) -> Layout | None:
    """Of arrays that broadcast, or whose dimensions lie in another order."""
    found = [o for o in outlines if o is not None]
    if any(o[2] not in (F32, BOOL) or not o[3] for o in found):
        return None
    try:
        shape = np.broadcast_shapes(*(o[0] for o in found))
    except ValueError:
        return None
    ndim, total = len(shape), prod(shape)
    steps = [_steps(o, ndim) for o in found]
    if total < LARGE or None in steps:
        return None
    whole = [s for s, o in zip(steps, found, strict=True) if prod(o[0]) == total and s]
    reference = whole[0] if whole else tuple(range(ndim, 0, -1))
    order = tuple(sorted(range(ndim), key=lambda d: -abs(reference[d])))
    lengths, merged = _merged(shape, order, steps)
    if len(lengths) > 3 or lengths[-1] < _SHORTEST:
        return None
    flat = len(lengths) == 1
    kinds, strides = "", list[int]()
    places = iter(merged)
    for o in outlines:
        if o is None:
            kinds += "n"
            continue
        own = (0, 0, *next(places))[-3:]
        if not any(own) and o[2] is F32:
            kinds += "s"
            continue
        if own[-1] not in (0, 1) or (flat and not own[-1]):
            return None
        letter = "f" if flat else "r" if own[-1] else "c"
        kinds += letter if o[2] is F32 else {"f": "b"}.get(letter, letter.upper())
        strides += [] if flat else own[:2]
    back = tuple(sorted(range(ndim), key=order.__getitem__))
    moved = None if order == tuple(range(ndim)) else (order, back)
    if flat:
        return Layout(kinds, shape, moved, (), total, 1)
    width, middle = lengths[-1], lengths[-2]
    return Layout(kinds, shape, moved, (*strides, middle, width), total // width, width)


def _steps(outline: tuple[Any, ...], ndim: int) -> tuple[int, ...] | None:
    """The strides in elements, 0 where an array is repeated; None if they are none."""
    shape, strides, dtype, _ = outline
    if any(s % dtype.itemsize for s in strides):
        return None
    own = (0 if n == 1 else s // dtype.itemsize for n, s in zip(shape, strides, strict=True))
    return (*(0,) * (ndim - len(shape)), *own)


def _merged(
    shape: tuple[int, ...], order: tuple[int, ...], steps: Sequence[Any]
) -> tuple[list[int], list[tuple[int, ...]]]:
    """The fewest dimensions that say the same: their lengths, and the strides of each array."""
    lengths: list[int] = []
    strides: list[list[int]] = []  # by dimension
    for d in order:
        here = [s[d] for s in steps]
        if shape[d] == 1:
            continue
        if lengths and strides[-1] == [s * shape[d] for s in here]:
            lengths[-1] *= shape[d]
            strides[-1] = here
        else:
            lengths.append(shape[d])
            strides.append(here)
    return lengths, list(zip(*strides, strict=True))


class Plan(NamedTuple):
    """A compiled function of arrays."""

    kernel: Callable[..., Any]
    outputs: tuple[np.dtype[Any], ...]
    numbers: tuple[float, ...]
    chunk: int
    least: int  # elements from which it is faster than NumPy
    guarded: bool
    passed: tuple[bool, ...]  # results that are the first operand

    def __call__(self, arrays: Arrays, layout: Layout) -> list[Any] | None:
        """The results; None where elements are out of the kernel's range."""
        extent, width = layout.extent, layout.width
        if extent * width < self.least:
            return None
        results = [layout.empty(dtype) for dtype in self.outputs]
        given = [
            a if kind != "s" else a.item(0)
            for a, kind in zip(arrays, layout.kinds, strict=True) if a is not None
        ]  # fmt: skip
        wide = np.empty(-(-extent // self.chunk), np.float32) if self.guarded else None
        guards = () if wide is None else (wide,)
        chunk = max(1, self.chunk // width)
        self.kernel(*given, *results, *self.numbers, *guards, *layout.numbers, extent, chunk)
        if wide is not None and wide.any():
            return None
        made = iter(results)
        return [arrays[0] if same else next(made) for same in self.passed]


def plan_of(functions: Sequence[Callable[..., Any]], kinds: str, hoist: bool) -> Plan | None:
    """Functions compiled for operands of these kinds; None where they cannot be traced."""
    if not available():
        return None
    try:
        traced = Traced(functions, kinds, hoist)
    except Exception:  # whatever a function does with what is no array
        return None
    from wengert.kernels._jit import compiled

    trace = traced.trace
    return Plan(
        compiled(traced.source()),
        tuple(r.dtype for r in traced.results),
        tuple(trace.numbers.values()),
        traced.chunk,
        _CHEAP_SIZE if trace.work < _CHEAP_WORK and len(trace.lines) == 1 else LARGE,
        bool(trace.guards),
        traced.passed,
    )
