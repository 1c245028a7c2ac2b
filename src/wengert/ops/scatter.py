"""Operations: a copy of the input with values written or combined at indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._core import Tensor, wrap
from wengert._dtypes import of_numpy
from wengert.kernels.axes import axis_of
from wengert.kernels.scatter import Key, along, sum_at
from wengert.ops._declare import Value, primitive
from wengert.ops._variadic import require_tensor
from wengert.ops.indexing import elementwise_key, gather, with_dims
from wengert.ops.subscript import basic_adjoint


def _scatter_parts(
    name: str, input: np.ndarray, dim: int, index: Any, src: np.ndarray
) -> tuple[np.ndarray, Key, np.ndarray]:
    """A copy of the input, the checked key, and the part of `src` that belongs to it."""
    out = with_dims(input).copy()
    key = elementwise_key(name, out, dim, index)
    if src.dtype != input.dtype:
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype, got"
            f" {of_numpy[input.dtype]} and {of_numpy[src.dtype]}"
        )
    if not index.size:
        return out, key, np.zeros((0,) * out.ndim, src.dtype)
    shape = with_dims(index).shape
    src = with_dims(src)
    if src.ndim != len(shape):
        raise (IndexError if src.ndim <= axis_of(dim, out.ndim) else RuntimeError)(
            "Index tensor must have the same number of dimensions as src tensor:"
            f" {name}() got index of shape {list(shape)} and src of shape {list(src.shape)}"
        )
    if any(n > m for n, m in zip(shape, src.shape, strict=True)):
        raise RuntimeError(
            f"Expected index {list(shape)} to be no larger than self {list(input.shape)} apart from"
            f" dimension {dim} and to be no larger size than src {list(src.shape)}"
        )
    return out, key, src[tuple(slice(n) for n in shape)]


def _src_gradient(g: Any, src_shape: tuple[int, ...], dim: int, index: Any) -> Any:
    """The cotangent of `src`: what arrived at its places, zeros for what was left out."""
    found = gather(g, dim, index)
    shape = found.shape
    return found if shape == src_shape else _padded(found, src_shape)


def _padded(found: Any, shape: tuple[int, ...]) -> Any:
    if not found.ndim:
        from wengert.ops.shape import reshape

        return reshape(found, shape)
    return basic_adjoint(found, shape, tuple(slice(n) for n in found.shape))


@primitive(
    input=lambda g, dim, index: _scatter_number(g, dim, index, 0),
    index=None,
    src=lambda g, src_shape, dim, index: _src_gradient(g, src_shape, dim, index),
    mixed=False,
    label="ScatterBackward0",
)
def _scatter(input: Value, dim: int, index: Value, src: Value) -> Value:
    out, key, part = _scatter_parts("scatter", input, dim, index, src)
    out[key] = part
    return out.reshape(input.shape)


@primitive(
    input=lambda g, dim, index: _scatter_number(g, dim, index, 0),
    index=None,
    mixed=False,
    label="ScatterBackward1",
    name="scatter",
)
def _scatter_number(input: Value, dim: int, index: Value, value: Any) -> Value:
    out = np.array(with_dims(np.asarray(input)))
    out[elementwise_key("scatter", out, dim, index)] = value
    return out.reshape(input.shape)


def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    reduce: str | None = None,
    value: complex | None = None,
) -> Tensor:
    """A copy of the input in which each element of `index` says where along `dim` one is written.

    What is written are the elements of `src` in the index's shape, or one number. With
    ``reduce="add"`` or ``"multiply"`` it is combined with what is there.

    >>> import wengert
    >>> index = wengert.tensor([[0], [1]])
    >>> wengert.scatter(wengert.zeros(2, 2), 1, index, wengert.tensor([[1.0], [2.0]]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    require_tensor("scatter", "input", input)
    require_tensor("scatter", "index", index, 3)
    src = value if src is None else src
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError(f"reduce argument must be either add or multiply. Got {reduce!r}")
        full = src if isinstance(src, Tensor) else _filled(index, src, input)
        if reduce == "add":
            return scatter_add(input, dim, index, full)
        return scatter_reduce(input, dim, index, full, "prod")
    if isinstance(src, Tensor):
        return _scatter(input, dim, index, src)
    if not isinstance(src, int | float | complex | np.generic):
        raise TypeError(
            f"scatter(): argument 'src' (position 4) must be Tensor, not {type(src).__name__}"
        )
    return _scatter_number(input, dim, index, src)


def _filled(index: Tensor, value: Any, like: Tensor) -> Any:
    return wrap(np.full(index._array.shape, value, like._array.dtype))


@primitive(
    input=lambda g: g,
    index=None,
    src=lambda g, src_shape, dim, index: _src_gradient(g, src_shape, dim, index),
    mixed=False,
)
def scatter_add(input: Value, dim: int, index: Value, src: Value) -> Value:
    """As `scatter`, adding the elements of `src`; places that come twice get both.

    >>> import wengert
    >>> index = wengert.tensor([0, 0, 1])
    >>> wengert.scatter_add(wengert.zeros(2), 0, index, wengert.tensor([1.0, 2.0, 3.0]))
    tensor([3., 3.])
    """
    out, key, part = _scatter_parts("scatter_add", input, dim, index, src)
    if part.size:
        out += sum_at(out.shape, key, part)
    return out.reshape(input.shape)


_COMBINE = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _identity(reduce: str, dtype: np.dtype[Any]) -> Any:
    """What leaves any other value as it is."""
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -np.inf if reduce == "amax" else np.inf


def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """As `scatter`, combining what comes to one place: sum, prod, mean, amax or amin.

    `include_self` says whether the input's own element counts.

    >>> import wengert
    >>> x, index = wengert.zeros(2), wengert.tensor([0, 0, 1])
    >>> wengert.scatter_reduce(x, 0, index, wengert.tensor([1.0, 2.0, 3.0]), "amax")
    tensor([2., 3.])
    """
    if reduce in _COMBINE:
        return _scatter_combined(input, dim, index, src, reduce, include_self)
    if reduce not in ("sum", "mean"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    total = scatter_add(
        input if include_self else _scatter_number(input, dim, index, 0), dim, index, src
    )
    if reduce == "sum" or not index._array.size:
        return total
    counts = _counts(input._array, dim, index._array, include_self)
    if total._array.dtype.kind in "iu":
        return wrap(total._array // counts)
    return total / wrap(counts.astype(total._array.dtype))


def _counts(array: np.ndarray, dim: int, index: np.ndarray, include_self: bool) -> np.ndarray:
    """How many values each place's mean is over, at least 1."""
    rows, shape = with_dims(index), with_dims(array).shape
    key = along(rows, axis_of(dim, len(shape)))
    counts = sum_at(shape, key, np.ones(rows.shape, np.int64)).reshape(array.shape)
    return counts + 1 if include_self else np.maximum(counts, 1)


@primitive(
    input=lambda g, input, dim, index, src, out, reduce, include_self: _input_gradient(
        g, (input, dim, index, src, reduce), out, include_self
    ),
    index=None,
    src=lambda g, input, dim, index, src, out, reduce, include_self: _combined_gradient(
        g, (input, dim, index, src, reduce), out, include_self
    ),
    mixed=False,
    label="ScatterReduceBackward0",
    name="scatter_reduce",
)
def _scatter_combined(
    input: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool
) -> Value:
    """The product or an extreme of what comes to one place."""
    out, key, part = _scatter_parts("scatter_reduce", input, dim, index, src)
    if part.size:
        if not include_self:
            out[key] = _identity(reduce, out.dtype)
        _COMBINE[reduce].at(out, key, part)
    return out.reshape(input.shape)


Call = tuple[Any, int, Any, Any, str]  # input, dim, index, src, reduce


def _plain(x: Any) -> np.ndarray:
    array: np.ndarray = x._array if isinstance(x, Tensor) else np.asarray(x)
    return array


def _key_of(call: Call) -> tuple[tuple[int, ...], Key, np.ndarray]:
    """Shape of the input with dimensions, key, and the part of `src` that was used."""
    input, dim, index, src, _ = call
    array, rows = with_dims(_plain(input)), with_dims(_plain(index))
    part = with_dims(_plain(src))[tuple(slice(n) for n in rows.shape)]
    return array.shape, along(rows, axis_of(dim, array.ndim)), part


def _like(values: np.ndarray, like: Any) -> np.ndarray:
    """Constant factors in the shape and dtype of `like`; of a mask, ones and zeros."""
    array = _plain(like)
    return values.reshape(array.shape).astype(array.dtype)


def _shares(call: Call, out: Any, include_self: bool) -> tuple[np.ndarray, np.ndarray]:
    """What part of an extreme's cotangent each element of input and src gets.

    Those that reached it share it.
    """
    shape, key, part = _key_of(call)
    result = _plain(out).reshape(shape)
    own = _plain(call[0]).reshape(shape) == result
    if not include_self:
        own[key] = False
    came = part == result[key]
    share = 1 / np.maximum(own + sum_at(shape, key, came.astype(np.int64)), 1)
    used = np.zeros(with_dims(_plain(call[3])).shape)
    used[tuple(slice(n) for n in part.shape)] = came * share[key]
    return _like(own * share, call[0]), _like(used, call[3])


def _input_gradient(g: Any, call: Call, out: Any, include_self: bool) -> Any:
    input, dim, index, src, reduce = call
    if not _plain(index).size:
        return g
    if not include_self:
        return _scatter_number(g, dim, index, 0)
    if reduce != "prod":
        return g * _shares(call, out, include_self)[0]
    # Zeros stand for ones, so that the product of the others remains.
    nonzero = input + _like(_plain(input) == 0, input)
    return g * _scatter_combined(nonzero, dim, index, src, "prod", True) / nonzero


def _combined_gradient(g: Any, call: Call, out: Any, include_self: bool) -> Any:
    _, dim, index, src, reduce = call
    if not _plain(index).size:
        return src * 0
    if reduce == "prod":
        return _product_gradient(g, call, out, include_self)
    found = _src_gradient(g, _plain(src).shape, dim, index)
    return found * _shares(call, out, include_self)[1]


def _product_gradient(g: Any, call: Call, out: Any, include_self: bool) -> Any:
    """The product of the other factors; where one alone is zero, without dividing by it."""
    input, dim, index, src, _ = call
    shape, key, part = _key_of(call)
    zero = part == 0
    alone = zero & (sum_at(shape, key, zero.astype(np.int64))[key] == 1)
    values = _plain(src)
    wide = np.zeros(with_dims(values).shape, bool)
    inside = tuple(slice(n) for n in part.shape)
    wide[inside] = alone
    single = _like(wide, src)
    wide[inside] = zero
    without = src + _like(wide, src)
    others = _scatter_combined(input, dim, index, src + single, "prod", include_self)
    direct = _src_gradient(g * others, values.shape, dim, index) * single
    divided = _src_gradient(g * out, values.shape, dim, index) / without
    return direct + divided * (1 - _like(wide, src))


__all__ = ["scatter", "scatter_add", "scatter_reduce"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("scatter", "scatter_add", "scatter_reduce")
INPLACE = ("scatter", "scatter_add", "scatter_reduce")
