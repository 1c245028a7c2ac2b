"""wengert.masked: reductions and normalisations that leave out elements, as `torch.masked`.

`mask` is true where an element counts, and broadcasts to the input; None means that all do. What
is left out is replaced by the identity of the operation: a slice without elements sums to 0, its
product is 1, its maximum -inf, its mean nan. MaskedTensor is not there.
"""

from __future__ import annotations

import math
from typing import Any

from wengert import ops
from wengert.core.dtypes import bool_, defaults
from wengert.core.dtypes import dtype as DType
from wengert.core.info import iinfo
from wengert.core.tensor import Tensor
from wengert.kernels.axes import Dims
from wengert.linalg import vector_norm
from wengert.ops.variadic import require_tensor

Mask = Tensor | None


def _operand(name: str, input: Tensor, dtype: DType | None, mask: Mask, identity: Any) -> Tensor:
    """The input in a dtype, with an identity where the mask is false."""
    require_tensor(f"masked.{name}", "input", input)
    converted: Tensor = input if dtype is None else input.to(dtype)
    if mask is None:
        return converted
    counting = _expanded(name, converted, mask)
    result: Tensor = converted.masked_fill(counting.logical_not(), identity)
    return result


def _expanded(name: str, input: Tensor, mask: Tensor) -> Tensor:
    require_tensor(f"masked.{name}", "mask", mask, 2)
    result: Tensor = mask.expand(input.shape).bool()
    return result


def _dims(input: Tensor, dim: Dims) -> tuple[int, ...]:
    if dim is None or dim == ():
        return tuple(range(input.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _least(input: Tensor, dtype: DType | None) -> Any:
    to = input.dtype if dtype is None else dtype
    return -math.inf if to.is_floating_point else iinfo(to).min


def _greatest(input: Tensor, dtype: DType | None) -> Any:
    to = input.dtype if dtype is None else dtype
    return math.inf if to.is_floating_point else iinfo(to).max


def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The sum over the elements that the mask names.

    >>> import wengert
    >>> x, mask = wengert.tensor([[1.0, 2.0, 3.0]]), wengert.tensor([True, False, True])
    >>> wengert.masked.sum(x, 1, mask=mask)
    tensor([4.])
    """
    x = _operand("sum", input, dtype, mask, 0)
    return ops.sum(x, _dims(x, dim), keepdim) if x.ndim else ops.sum(x)


def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The product over the elements that the mask names.

    >>> import wengert
    >>> wengert.masked.prod(wengert.tensor([2.0, 3.0]), mask=wengert.tensor([False, True]))
    tensor(3.)
    """
    x = _operand("prod", input, dtype, mask, 1)
    for d in sorted([d % max(x.ndim, 1) for d in _dims(x, dim)], reverse=True):
        x = ops.prod(x, d, keepdim)
    return x


def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The largest of the elements that the mask names.

    >>> import wengert
    >>> wengert.masked.amax(wengert.tensor([2.0, 3.0]), 0, mask=wengert.tensor([True, False]))
    tensor(2.)
    """
    x = _operand("amax", input, dtype, mask, _least(input, dtype))
    return ops.amax(x, _dims(x, dim), keepdim)


def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The smallest of the elements that the mask names.

    >>> import wengert
    >>> wengert.masked.amin(wengert.tensor([2.0, 3.0]), 0, mask=wengert.tensor([False, True]))
    tensor(3.)
    """
    x = _operand("amin", input, dtype, mask, _greatest(input, dtype))
    return ops.amin(x, _dims(x, dim), keepdim)


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The index of the largest of the elements that the mask names, in the input's dtype.

    >>> import wengert
    >>> wengert.masked.argmax(wengert.tensor([2.0, 3.0]), 0, mask=wengert.tensor([True, False]))
    tensor(0.)
    """
    x = _operand("argmax", input, dtype, mask, _least(input, dtype))
    result: Tensor = ops.argmax(x, dim, keepdim).to(x.dtype)
    return result


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The index of the smallest of the elements that the mask names, in the input's dtype.

    >>> import wengert
    >>> wengert.masked.argmin(wengert.tensor([2.0, 3.0]), 0, mask=wengert.tensor([False, True]))
    tensor(1.)
    """
    x = _operand("argmin", input, dtype, mask, _greatest(input, dtype))
    result: Tensor = ops.argmin(x, dim, keepdim).to(x.dtype)
    return result


def _count(name: str, x: Tensor, dim: Dims, keepdim: bool, mask: Mask) -> Tensor:
    """How many elements are counted."""
    counting = ops.clone(x.detach()).fill_(1) if mask is None else _expanded(name, x, mask)
    return sum(counting.to(x.dtype), dim, keepdim=keepdim)


def _floating(name: str, input: Tensor, dtype: DType | None) -> None:
    to = input.dtype if dtype is None else dtype
    if not (to.is_floating_point or to.is_complex):
        raise ValueError(
            f"{name}(): Could not infer output dtype. Input dtype must be either a floating point"
            f" or complex dtype. Got: {to}"
        )


def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The mean of the elements that the mask names; nan of none.

    >>> import wengert
    >>> x, mask = wengert.tensor([[1.0, 2.0, 3.0]]), wengert.tensor([True, False, True])
    >>> wengert.masked.mean(x, 1, mask=mask)
    tensor([2.])
    """
    _floating("mean", input, dtype)
    x = _operand("mean", input, dtype, mask, 0)
    total = sum(x, dim, keepdim=keepdim)
    return ops.div(total, _count("mean", x, dim, keepdim, mask))


def var(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The variance of the elements that the mask names.

    >>> import wengert
    >>> x, mask = wengert.tensor([1.0, 9.0, 3.0]), wengert.tensor([True, False, True])
    >>> wengert.masked.var(x, mask=mask)
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise ValueError("masked.var(): only one of unbiased and correction may be specified")
    if correction is None:
        correction = 0 if unbiased is False else 1
    x = input if dtype is None else input.to(dtype)
    if x.dtype is not bool_ and not (x.is_floating_point() or x.is_complex()):
        x = x.to(defaults.dtype)
    if x.dtype is bool_:
        raise RuntimeError("masked.var(): a mask is not subtracted from: the input is of bool")
    away: Tensor = x - mean(x, dim, keepdim=True, mask=mask)
    squares: Tensor = away * away.conj() if away.is_complex() else away * away
    count = _count("var", squares.real, dim, keepdim, mask)
    return ops.div(sum(squares, dim, keepdim=keepdim, mask=mask), (count - correction).clamp(0))


def std(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The standard deviation of the elements that the mask names.

    >>> import wengert
    >>> x, mask = wengert.tensor([1.0, 9.0, 3.0]), wengert.tensor([True, False, True])
    >>> wengert.masked.std(x, 0, unbiased=False, mask=mask)
    tensor(1.)
    """
    options: Any = {"correction": correction, "keepdim": keepdim, "dtype": dtype, "mask": mask}
    return ops.sqrt(var(input, dim, unbiased, **options))


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The median of the elements that the mask names, the lower of two; nan of none.

    >>> import wengert
    >>> x, mask = wengert.tensor([1.0, 9.0, 3.0]), wengert.tensor([True, False, True])
    >>> wengert.masked.median(x, mask=mask)
    tensor(1.)
    """
    require_tensor("masked.median", "input", input)
    x: Tensor = input if dtype is None else input.to(dtype)
    if x.is_floating_point():
        left: Tensor = ops.nanmedian(_operand("median", x, None, mask, math.nan), dim, keepdim)[0]
        return left
    if mask is not None and not _expanded("median", x, mask).any(dim).all():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    values = _operand("median", x.double(), None, mask, math.nan)
    result: Tensor = ops.nanmedian(values, dim, keepdim)[0].to(x.dtype)
    return result


def norm(
    input: Tensor, ord: float | None = 2.0, dim: Dims = None, *, keepdim: bool = False,
    dtype: DType | None = None, mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The vector norm of the elements that the mask names.

    >>> import wengert
    >>> x, mask = wengert.tensor([3.0, 9.0, 4.0]), wengert.tensor([True, False, True])
    >>> wengert.masked.norm(x, 2, 0, mask=mask)
    tensor(5.)
    """
    order = 2.0 if ord is None else ord
    x = _operand("norm", input, dtype, mask, 0 if order >= 0 else math.inf)
    return vector_norm(x, order, _dims(x, dim), keepdim)


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """Elements over the norm of those that the mask names; 0 where it is false.

    >>> import wengert
    >>> x, mask = wengert.tensor([3.0, 9.0, 4.0]), wengert.tensor([True, False, True])
    >>> wengert.masked.normalize(x, 2, 0, mask=mask)
    tensor([0.6000, 0.0000, 0.8000])
    """
    x = _operand("normalize", input, dtype, mask, 0)
    length = norm(x, ord, dim, keepdim=True, mask=mask)
    return ops.div(x, ops.clamp_min(length, eps))


def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Mask = None) -> Tensor:
    """Sums up to each element, of those that the mask names.

    >>> import wengert
    >>> x, mask = wengert.tensor([1.0, 2.0, 3.0]), wengert.tensor([True, False, True])
    >>> wengert.masked.cumsum(x, 0, mask=mask)
    tensor([1., 1., 4.])
    """
    x = _operand("cumsum", input, dtype, mask, 0)
    _no_mask("cumsum", x)
    return ops.cumsum(x, dim, dtype=x.dtype)


def _no_mask(name: str, x: Tensor) -> None:
    if x.dtype is bool_:
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")


def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Mask = None) -> Tensor:
    """Products up to each element, of those that the mask names.

    >>> import wengert
    >>> x, mask = wengert.tensor([2.0, 3.0, 4.0]), wengert.tensor([True, False, True])
    >>> wengert.masked.cumprod(x, 0, mask=mask)
    tensor([2., 2., 8.])
    """
    x = _operand("cumprod", input, dtype, mask, 1)
    _no_mask("cumprod", x)
    return ops.cumprod(x, dim, dtype=x.dtype)


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Mask = None) -> Tensor:
    """The softmax of the elements that the mask names; 0 where it is false.

    >>> import wengert
    >>> x, mask = wengert.tensor([1.0, 9.0, 1.0]), wengert.tensor([True, False, True])
    >>> wengert.masked.softmax(x, 0, mask=mask)
    tensor([0.5000, 0.0000, 0.5000])
    """
    return ops.softmax(_operand("softmax", input, dtype, mask, -math.inf), dim)


def log_softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Mask = None
) -> Tensor:
    """The logarithm of `softmax`; -inf where the mask is false.

    >>> import wengert
    >>> x, mask = wengert.tensor([1.0, 9.0, 1.0]), wengert.tensor([True, False, True])
    >>> wengert.masked.log_softmax(x, 0, mask=mask)
    tensor([-0.6931,    -inf, -0.6931])
    """
    return ops.log_softmax(_operand("log_softmax", input, dtype, mask, -math.inf), dim)


def softmin(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Mask = None) -> Tensor:
    """`softmax` of the negative elements; 0 where the mask is false.

    >>> import wengert
    >>> x, mask = wengert.tensor([1.0, 9.0, 1.0]), wengert.tensor([True, False, True])
    >>> wengert.masked.softmin(x, 0, mask=mask)
    tensor([0.5000, 0.0000, 0.5000])
    """
    return ops.softmax(-_operand("softmin", input, dtype, mask, math.inf), dim)


def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Mask = None,
) -> Tensor:  # fmt: skip
    """The logarithm of the sum of the exponentials of the elements that the mask names.

    >>> import wengert
    >>> x, mask = wengert.tensor([1.0, 9.0]), wengert.tensor([True, False])
    >>> wengert.masked.logsumexp(x, 0, mask=mask)
    tensor(1.)
    """
    x = _operand("logsumexp", input, dtype, mask, -math.inf)
    return ops.logsumexp(x, _dims(x, dim), keepdim)


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: DType | None = None, input_mask: Mask = None,
    other_mask: Mask = None,
) -> Tensor:  # fmt: skip
    """``log(exp(input) + exp(other))``, of the elements that the masks name.

    >>> import wengert
    >>> x, mask = wengert.tensor([1.0, 9.0]), wengert.tensor([True, False])
    >>> wengert.masked.logaddexp(x, x, input_mask=mask, other_mask=~mask)
    tensor([1., 9.])
    """
    return ops.logaddexp(
        _operand("logaddexp", input, dtype, input_mask, -math.inf),
        _operand("logaddexp", other, dtype, other_mask, -math.inf),
    )


__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var",
]  # fmt: skip
