"""The shapes, dtypes and strides of what operations give, without computing it.

Elementwise operations broadcast, and are asked for their dtype with tensors of one element;
views are asked with zeros that take no memory; products, convolutions, decompositions and
spectra have a rule.
Whatever else there is computes on such zeros, and its result is thrown away.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.meta import decompositions
from wengert.meta.dense import Described, Shape, rows
from wengert.meta.probing import LARGE, probed

_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)


class _Zeros:
    """Memory that can be read and is never filled: the pages of zeros that the system shares."""

    def __init__(self) -> None:
        self._pages = mmap.mmap(-1, mmap.PAGESIZE, access=mmap.ACCESS_READ)
        self._size = mmap.PAGESIZE

    def of(self, nbytes: int) -> mmap.mmap:
        """At least so many bytes."""
        if nbytes > self._size:
            self._size = max(nbytes, 2 * self._size)
            if hasattr(mmap, "MAP_PRIVATE"):
                kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
                self._pages = mmap.mmap(-1, self._size, flags=kind, prot=mmap.PROT_READ)
            else:
                self._pages = mmap.mmap(-1, self._size, access=mmap.ACCESS_READ)
        return self._pages


_zeros = _Zeros()


def standing_in(tensor: Tensor) -> Tensor:
    """Zeros with the shape and strides of a tensor, to be read only."""
    outline = tensor._array
    extent = outline.itemsize + sum(
        stride * (length - 1)
        for length, stride in zip(outline.shape, outline.strides, strict=True)
        if length > 1
    )
    return wrap(
        np.ndarray(outline.shape, outline.dtype, _zeros.of(extent), strides=outline.strides)
    )


def _single(tensor: Tensor) -> Tensor:
    """One element, of the dtype and the rank of a tensor."""
    array = memory_of(tensor)
    return wrap(np.ones((1,) * array.ndim, array.dtype))


def outline_of(op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Described:
    """The shape, dtype and strides of what an operation gives."""
    if op.kind == "elementwise":
        return _elementwise(op, inputs, params)
    if op.name in _REDUCTIONS:
        return _reduction(op, inputs, params)
    rule = RULES.get(op.name)
    if rule is not None:
        described: Described = rule(*inputs, **params)
        return described
    if op.reference is not None:
        return _described(op.reference(*inputs, **params))
    return _computed(op, inputs, params)


def _computed(op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Described:
    """The outline of what an operation computes, from small tensors if these are large."""
    regular = op.name in _OF_REGULAR
    if math.prod(memory_of(x).size for x in inputs if isinstance(x, Tensor)) > LARGE:
        try:
            outline = probed(op, inputs, params, _regular if regular else np.zeros)
        except (RuntimeError, ValueError, IndexError):
            outline = None  # the sizes themselves may be what is wrong: let the call say so
        if outline is not None:
            return outline
    zeros = _identities if regular else _lowered
    return _described(op([zeros(x) for x in inputs], params))


def _regular(shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Matrices that can be inverted."""
    if len(shape) < 2:
        return np.zeros(shape, dtype)
    return np.broadcast_to(np.eye(*shape[-2:], dtype=dtype), shape).copy()


def view_of(op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> tuple[Described, int | None]:
    """As `outline_of`, of a view; and how many bytes behind its input it begins.

    None in place of a number where it is a copy after all.
    """
    if op.name in RULES:
        return outline_of(op, inputs, params), None
    zeros = standing_in(inputs[0])
    if op.name in _COPYING:
        return _reshaped(op, memory_of(zeros), [*map(_lowered, inputs[1:])], params)
    view = memory_of(op([zeros, *map(_lowered, inputs[1:])], params))
    offset = None
    if np.may_share_memory(view, memory_of(zeros)):
        offset = view.ctypes.data - memory_of(zeros).ctypes.data
    return (view.shape, view.dtype, view.strides), offset


_COPYING = frozenset({"reshape", "flatten"})  # where the memory allows no view


def _reshaped(op: Any, array: Any, others: Any, params: Any) -> tuple[Described, int | None]:
    dense = np.ndarray(array.shape, array.dtype, _zeros.of(array.nbytes))
    shape, dtype, strides = _described(op([wrap(dense), *others], params))
    try:
        return (shape, dtype, np.reshape(array, shape, copy=False).strides), 0
    except ValueError:
        return (shape, dtype, strides), None


# Operations that refuse zeros: they are no matrices to invert.
_OF_REGULAR = frozenset({"_cholesky", "_lu", "_inv", "_solve_apart", "solve_matrices"})


def _identities(x: Any) -> Any:
    """Identity matrices with the shape of a tensor."""
    if not isinstance(x, Tensor) or x.ndim < 2:
        return _lowered(x)
    array = memory_of(x)
    return wrap(np.broadcast_to(np.eye(*array.shape[-2:], dtype=array.dtype), array.shape))


def _lowered(x: Any) -> Any:
    return standing_in(x) if isinstance(x, Tensor) else x


def _described(tensor: Tensor) -> Described:
    array = memory_of(tensor)
    return array.shape, array.dtype, array.strides


def _elementwise(op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Described:
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    arrays = [memory_of(x) for x in tensors]
    # A divisor of 0 is an error of elements, and there are none.
    numbers = [1 if type(x) is int and x == 0 else x for x in inputs]
    one = op([_single(x) if isinstance(x, Tensor) else x for x in numbers], params)
    dtype = memory_of(one).dtype
    try:
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        op([_lowered(x) for x in inputs], params)  # which says what does not fit
        raise
    whole = next((a for a in arrays if a.shape == shape), None)
    if whole is None or whole.flags.c_contiguous:
        return shape, dtype, rows(shape, dtype)
    order = sorted(range(len(shape)), key=lambda d: -whole.strides[d])
    return shape, dtype, rows(shape, dtype, order)


def _reduction(op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Described:
    array = memory_of(inputs[0])
    dim = params.get("dim")
    # An empty tuple names no axis in `any` and `all`, and all of them elsewhere.
    if dim is None or (dim in ((), []) and op.name not in ("any", "all")):
        dims = set(range(array.ndim))
    else:
        dims = {d % max(array.ndim, 1) for d in ((dim,) if isinstance(dim, int) else dim)}
    # One element where nothing is reduced, two where something is: rules and dtypes are as ever.
    small = tuple(min(n, 2 if d in dims else 1) for d, n in enumerate(array.shape))
    dtype = memory_of(op([wrap(np.zeros(small, array.dtype))], params)).dtype
    if params.get("keepdim"):
        shape = tuple(1 if d in dims else n for d, n in enumerate(array.shape))
    else:
        shape = tuple(n for d, n in enumerate(array.shape) if d not in dims)
    return shape, dtype, rows(shape, dtype)


_REDUCTIONS = frozenset({
    "sum_over", "mean_over", "_nansum", "_prod", "vector_norm", "all", "any", "count_nonzero",
    "amax", "amin", "argmax", "argmin", "logsumexp", "_var", "_std",
})  # fmt: skip


def _plain(shape: Shape, like: Any) -> Described:
    dtype = memory_of(like).dtype
    return shape, dtype, rows(shape, dtype)


def _matmul(input: Any, other: Any) -> Described:
    a, b = memory_of(input).shape, memory_of(other).shape
    lead = np.broadcast_shapes(a[:-2], b[:-2])
    ends = (a[-2:-1] if len(a) > 1 else ()) + (b[-1:] if len(b) > 1 else ())
    return _plain((*lead, *ends), input)


def _summed_product(input: Any, other: Any, shape: Shape) -> Described:
    return _plain(tuple(shape), input)


def _contraction(input: Any, other: Any, la: Any, lb: Any, lo: Any) -> Described:
    lengths = dict(zip(la, memory_of(input).shape, strict=True))
    lengths |= dict(zip(lb, memory_of(other).shape, strict=True))
    return _plain(tuple(lengths[label] for label in lo), input)


def _convolution(input: Any, weight: Any, bias: Any, geometry: Any) -> Described:
    x, w = memory_of(input), memory_of(weight)
    size = geometry.out_size(x.shape[2:], w.shape[2:])
    return _images((x.shape[0], w.shape[0], *size), x, w)


def _constant_pad(input: Any, pad: Shape, value: float) -> Described:
    array = memory_of(input)
    lead = array.ndim - len(pad) // 2
    sides = [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -2, -2)]
    sizes = [
        max(n + min(low, 0) + min(high, 0), 0) + max(low, 0) + max(high, 0)
        for n, (low, high) in zip(array.shape[lead:], sides, strict=True)
    ]
    return _images((*array.shape[:lead], *sizes), array, array)


def _transposed_convolution(
    input: Any, weight: Any, bias: Any, size: Shape, geometry: Any
) -> Described:
    x, w = memory_of(input), memory_of(weight)
    return _images((x.shape[0], w.shape[1] * geometry.groups, *size), x, w)


def _images(shape: Shape, x: Any, weight: Any) -> Described:
    """Channels last in memory if the input or the weight has them last."""
    last = any(a.ndim == 4 and lies_channels_last(a) for a in (x, weight))
    order = [0, *range(2, len(shape)), 1] if last else None
    return shape, x.dtype, rows(shape, x.dtype, order)


def lies_channels_last(a: Any) -> bool:
    """Whether images are dense, with their channels innermost."""
    dense: bool = a.strides == rows(a.shape, a.dtype, [0, 2, 3, 1])
    return dense and not a.flags.c_contiguous


def _of_first(*inputs: Any, **params: Any) -> Described:
    return _plain(memory_of(inputs[0]).shape, inputs[0])


def _unchanged(input: Any) -> Described:
    return _described(input)


def _drawn(input: Any, draws: Any, n: int | None = None) -> Described:
    """The outline of indices: as many in each row as numbers were drawn, or n."""
    array = memory_of(input if n is not None else draws)
    shape = array.shape if n is None else (*array.shape[:-1], n)
    return shape, np.dtype(np.int64), rows(shape, np.dtype(np.int64))


def _attention(query: Any, key: Any, value: Any, mask: Any, **params: Any) -> Described:
    return _plain((*memory_of(query).shape[:-1], memory_of(value).shape[-1]), query)


def _columns_of_last(*inputs: Any, **params: Any) -> Described:
    """As the last input, whose matrices lie column by column."""
    array = memory_of(inputs[-1])
    n = array.ndim
    order = [*range(n - 2), n - 1, n - 2]
    return array.shape, array.dtype, rows(array.shape, array.dtype, order)


# By name of the operation; called with its inputs in order, and its parameters by name.
RULES: dict[str, Callable[..., Described]] = {
    **decompositions.RULES,
    "_solved": _columns_of_last,
    "matmul": _matmul, "mm": _matmul, "bmm": _matmul,
    "times": _summed_product, "times_transposed": _summed_product,
    "transposed_times": _summed_product, "contract": _contraction,
    "_convolution": _convolution, "_transposed_convolution": _transposed_convolution,
    "_constant_pad": _constant_pad,
    "_attention": _attention, "_softmax": _of_first, "_log_softmax": _of_first,
    "_masked_softmax": _of_first, "_layer_norm": _of_first, "_rms_norm": _of_first,
    "_group_norm": _of_first, "_instance_norm": _of_first,
    "check_probabilities": _unchanged, "check_deviations": _unchanged,
    "check_weights": _unchanged, "check_rates": _unchanged, "successes": _of_first,
    "normals": _of_first, "counts": _of_first, "binomials": _of_first, "gammas": _of_first,
    "dirichlets": _of_first, "with_replacement": _drawn, "without_replacement": _drawn,
    "_batch_norm": _of_first, "_batch_norm_by_running": _of_first, "_moved": _of_first,
}  # fmt: skip
