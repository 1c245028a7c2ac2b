"""The relative layout of arrays, and calls of traced kernels on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels.jit import available
from wengert.kernels.jit.reals import REALS
from wengert.kernels.jit.tracing import BOOL, F32, Traced
from wengert.kernels.layout import order_of

KINDS = {real.dtype: kind for kind, real in REALS.items()}
Arrays = Sequence["np.ndarray | None"]

_C_CONTIGUOUS, _ALIGNED = 1, 256
_GOOD = _C_CONTIGUOUS | _ALIGNED
# Fewer elements, or a shorter innermost dimension, do not justify a loop.
_FEWEST, _SHORTEST = 1 << 5, 4


class Layout(NamedTuple):
    """Operands that a kernel can read: their kinds (see `Traced`) and memory order."""

    kinds: str
    shape: tuple[int, ...]
    # The permutation of dimensions to memory order, and back; None for the identity.
    order: tuple[tuple[int, ...], tuple[int, ...]] | None
    numbers: tuple[int, ...]  # strides, and the sizes of all dimensions but the outermost
    extent: int  # elements, or rows of the innermost dimension
    width: int

    def empty(self, dtype: np.dtype[Any]) -> np.ndarray:
        """An array for a result."""
        shape, back = self.memory()
        result = np.empty(shape, dtype)
        return result if back is None else result.transpose(back)

    def memory(self) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
        """The shape of a result in memory, and the permutation from there, if there is one."""
        if self.order is None:
            return self.shape, None
        there, back = self.order
        return tuple([self.shape[d] for d in there]), back


def kinds_of(arrays: Arrays) -> str | None:
    """The kinds of contiguous arrays of one shape; otherwise None.

    Those of other dtypes than float32 begin with the letter of one of the `reals.REALS`.
    """
    shape: Any = None
    kinds = ""
    for a in arrays:
        if a is None:
            kinds += "n"
            continue
        dtype = a.dtype
        if dtype is F32:
            if not a.ndim:
                kinds += "s"
                continue
            kinds += "f"
        elif dtype is BOOL and a.ndim:
            kinds += "b"
        elif dtype.kind in "iu":
            return None
        else:
            return _kinds_of_others(arrays)
        if shape is None:
            shape = a.shape
        elif a.shape != shape:
            return None
        if a.flags.num & _GOOD != _GOOD:
            return None
    return None if shape is None else kinds


def _kinds_of_others(arrays: Arrays) -> str | None:
    """As `kinds_of`, of arrays that are not all float32."""
    kind = _kind_of([a.dtype for a in arrays if a is not None])
    if kind is None:
        return None
    kinds, shape = kind, None
    for a in arrays:
        if a is None or not a.ndim:
            kinds += "n" if a is None else "s"
            continue
        if (shape is not None and a.shape != shape) or a.flags.num & _GOOD != _GOOD:
            return None
        shape = a.shape
        kinds += "b" if a.dtype is BOOL else "f"
    return (
        None
        if shape is None or (BOOL in [a.dtype for a in arrays if a is not None and not a.ndim])
        else kinds
    )


def _kind_of(dtypes: Sequence[np.dtype[Any]]) -> str | None:
    """The letter of the one floating-point dtype among these, if kernels know it."""
    floats = {d for d in dtypes if d != BOOL}
    if len(floats) != 1:
        return None
    kind = KINDS.get(floats.pop())
    if kind == "h:":
        from wengert.kernels.halves import has_halves

        return kind if has_halves() else None
    return kind


def layout_of(arrays: Arrays) -> Layout | None:
    """The layout of arrays of one kind of floats, and bool; None if no kernel can read them."""
    outlines = outlines_of(arrays)
    return None if outlines is None else layout_of_outlines(outlines)


def outlines_of(arrays: Arrays) -> tuple[Any, ...] | None:
    """What decides about a layout: shapes, strides, dtypes; None if no kernel can read arrays."""
    outlines: list[Any] = []
    for a in arrays:
        if a is None:
            outlines.append(None)
        elif not a.flags.num & _ALIGNED or isinstance(a, np.bool_):
            return None  # kernels read aligned arrays, and numbers of float32
        else:
            outlines.append((a.shape, a.strides, a.dtype))
    return tuple(outlines)


@lru_cache(1024)
def layout_of_outlines(outlines: tuple[Any, ...]) -> Layout | None:
    """As `layout_of`, of arrays with these outlines."""
    present = [o for o in outlines if o is not None]
    kind = _kind_of([o[2] for o in present])
    if kind is None:
        return None
    try:
        shape = np.broadcast_shapes(*(o[0] for o in present))
    except ValueError:
        return None
    ndim, total = len(shape), prod(shape)
    steps = [_steps(o, ndim) for o in present]
    if total < _FEWEST or None in steps:
        return None
    order = order_of(shape, tuple([o[:2] for o in present]))
    lengths, steps_of = merged(shape, order, steps)
    if len(lengths) > 4 or lengths[-1] < _SHORTEST:
        return None
    flat = len(lengths) == 1
    kinds, strides = kind, list[int]()
    strides_of_arrays = iter(steps_of)
    for o in outlines:
        if o is None:
            kinds += "n"
            continue
        own = (0, 0, 0, *next(strides_of_arrays))[-4:]
        if not any(own) and o[2] != BOOL:
            kinds += "s"
            continue
        if own[-1] not in (0, 1) or (flat and not own[-1]):
            return None
        letter = "f" if flat else "r" if own[-1] else "c"
        kinds += letter if o[2] != BOOL else {"f": "b"}.get(letter, letter.upper())
        strides += [] if flat else own[:3]
    back = tuple(sorted(range(ndim), key=order.__getitem__))
    moved = None if order == tuple(range(ndim)) else (order, back)
    if flat:
        return Layout(kinds, shape, moved, (), total, 1)
    sizes = (1, *lengths)[-3:]
    return Layout(kinds, shape, moved, (*strides, *sizes), total // sizes[-1], sizes[-1])


def misfits(outlines: tuple[Any, ...]) -> list[tuple[int, tuple[int, ...]]]:
    """The operands for whose strides no kernel is, and the order in which a copy has none."""
    present = [o for o in outlines if o is not None]
    if _kind_of([o[2] for o in present]) is None:
        return []
    shape = np.broadcast_shapes(*(o[0] for o in present))
    ndim, found = len(shape), []
    order = order_of(shape, tuple([o[:2] for o in present]))
    inner = next((d for d in reversed(order) if shape[d] != 1), -1)
    for i, outline in enumerate(outlines):
        steps = None if outline is None else _steps(outline, ndim)
        if inner >= 0 and steps is not None and steps[inner] not in (0, 1):
            lead = ndim - len(outline[0])
            found.append((i, tuple([d - lead for d in order if d >= lead])))
    return found


def _steps(outline: tuple[Any, ...], ndim: int) -> tuple[int, ...] | None:
    """The strides in elements, 0 where an array is repeated; None if not whole elements."""
    shape, strides, dtype = outline
    if any(s % dtype.itemsize for s in strides):
        return None
    own = (0 if n == 1 else s // dtype.itemsize for n, s in zip(shape, strides, strict=True))
    return (*(0,) * (ndim - len(shape)), *own)


def merged(
    shape: tuple[int, ...], order: tuple[int, ...], steps: Sequence[Any]
) -> tuple[list[int], list[tuple[int, ...]]]:
    """The fewest equivalent dimensions: their lengths, and the strides of each array."""
    lengths: list[int] = []
    strides: list[list[int]] = []  # by dimension
    for d in order:
        of_arrays = [s[d] for s in steps]
        if shape[d] == 1:
            continue
        if lengths and strides[-1] == [s * shape[d] for s in of_arrays]:
            lengths[-1] *= shape[d]
            strides[-1] = of_arrays
        else:
            lengths.append(shape[d])
            strides.append(of_arrays)
    return lengths, list(zip(*strides, strict=True))


class ElementwisePlan(NamedTuple):
    """A compiled function of arrays of certain kinds."""

    kernel: Callable[..., Any]
    outputs: tuple[np.dtype[Any], ...]
    numbers: tuple[float, ...]
    chunk: int
    guarded: bool
    passed: tuple[bool, ...]  # results that are the first operand
    simple: bool  # one result, which is computed, and no guard
    first: int  # an operand that is an array
    scalars: tuple[int, ...]  # scalar operands, or None

    def flat(self, arrays: Sequence[Any]) -> Sequence[Any] | None:
        """The results for arrays that have `kinds_of`; None where elements are out of range."""
        first = arrays[self.first]
        if not self.simple:
            results = [np.empty(first.shape, dtype) for dtype in self.outputs]
            return self._computed(arrays, results, (), first.size, self.chunk)
        arguments = self._arguments(arrays) if self.scalars else arrays
        result = np.empty(first.shape, self.outputs[0])
        self.kernel(*arguments, result, *self.numbers, first.size, self.chunk)
        return (result,)

    def laid_out(self, arrays: Sequence[Any], layout: Layout) -> Sequence[Any] | None:
        """The results for arrays with a `Layout`; None where elements are out of range."""
        chunk = max(1, self.chunk // layout.width)
        results = [layout.empty(dtype) for dtype in self.outputs]
        return self._computed(arrays, results, layout.numbers, layout.extent, chunk)

    def of_layout(self, layout: Layout) -> Callable[[Sequence[Any]], Sequence[Any] | None]:
        """`laid_out` for arrays that all have this layout, at less cost."""
        if not self.simple:
            return partial(self.laid_out, layout=layout)
        chunk = max(1, self.chunk // layout.width)
        kernel, dtype, scalars = self.kernel, self.outputs[0], self.scalars
        behind = *self.numbers, *layout.numbers, layout.extent, chunk
        memory, back = layout.memory()

        def results(arrays: Sequence[Any]) -> Sequence[Any]:
            result = np.empty(memory, dtype)
            if back is not None:
                result = result.transpose(back)
            kernel(*(self._arguments(arrays) if scalars else arrays), result, *behind)
            return (result,)

        return results

    def _arguments(self, arrays: Sequence[Any]) -> Sequence[Any]:
        arguments = list(arrays)
        for i in reversed(self.scalars):
            if arguments[i] is None:
                del arguments[i]
            else:
                arguments[i] = arguments[i].item(0)
        return arguments

    def _computed(
        self, arrays: Sequence[Any], results: list[np.ndarray], layout: tuple[int, ...],
        extent: int, chunk: int,
    ) -> Sequence[Any] | None:  # fmt: skip
        failures = np.empty(-(-extent // chunk), np.float32) if self.guarded else None
        guards = () if failures is None else (failures,)
        arguments = self._arguments(arrays)
        self.kernel(*arguments, *results, *self.numbers, *guards, *layout, extent, chunk)
        if failures is not None and np.count_nonzero(failures):  # quicker than `any`
            return None
        computed = iter(results)
        return [arrays[0] if same else next(computed) for same in self.passed]


def plan_of(
    functions: Sequence[Callable[..., Any]], kinds: str, hoist: bool, short: bool = False,
    far: bool = False,
) -> ElementwisePlan | None:  # fmt: skip
    """Functions compiled for operands of these kinds; None if they cannot be traced.

    It is for any number of elements; `short` is whether there are few in a row, `far` whether it
    has to be right for all floats.
    Also None if all operands are repeated scalars: then none has the layout of the results.
    """
    kind, letters = kinds[:2] if ":" in kinds else "", kinds.rpartition(":")[2]
    if not available() or not set(letters) - set("sn"):
        return None
    try:
        traced = Traced(functions, letters, hoist, REALS[kind], short, far)
    except Exception:  # whatever a function does with what is no array
        return None
    from wengert.kernels.jit import compiled

    trace = traced.trace
    return ElementwisePlan(
        compiled(traced.source(), kind),
        traced.dtypes,
        tuple(trace.numbers.values()),
        traced.chunk,
        traced.guarded,
        traced.passed,
        not traced.guarded and traced.passed == (False,),
        next(i for i, letter in enumerate(letters) if letter not in "sn"),
        tuple(i for i, letter in enumerate(letters) if letter in "sn"),
    )
