"""Dropout: zero elements or whole channels at random while training."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from wengert.core.generators import default_generator, draw_numbers
from wengert.core.preparations import preparation
from wengert.core.tensor import Tensor, Tracer, wrap
from wengert.kernels.layout import order_of
from wengert.kernels.precision import narrowed
from wengert.ops.batching import Batch, leading
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.shape import inverse_of, permute
from wengert.ops.variadic import require_tensor

# The value of a dropped element in self-normalising networks: SELU's limit at minus infinity.
_SELU_FLOOR = -1.7580993408473766


def _masked_batch(b: Batch) -> Value:
    """A mask shared by all samples broadcasts: it has as many dimensions as one sample."""
    return b(input=b.whole("input"))


@multilinear(
    mixed=False,
    batch=_masked_batch,
    label="DropoutBackward0",
    input=lambda g, mask, scale: _masked(g, mask, scale),
    mask=None,
    name="dropout",
    layout=("input",),
    scalar=lambda input, mask, scale: input * mask * scale,
)
def _masked(input: Value, mask: Value, scale: float) -> Value:
    """The input times a boolean mask times a number; its own adjoint."""
    out = np.multiply(input, mask)
    return narrowed(out * input.dtype.type(scale), input.dtype)


def _keep(
    name: str, input: Tensor, p: float, training: bool, leading: int | None = None
) -> Tensor | None:
    """The mask of elements to keep, or None for all.

    With `leading` it is drawn for that many dimensions, dropping whole channels.
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    if not training or p == 0:
        return None
    shape = input._outline.shape
    if leading is not None:
        if len(shape) < 2:
            raise RuntimeError(
                f"Feature dropout requires at least 2 dimensions in the input: {name}() got"
                f" shape {list(shape)}"
            )
        shape = (*shape[:leading], *(1,) * (len(shape) - leading))
    if p == 1:
        return wrap(np.zeros((1,) * len(shape), bool))

    partner = input if isinstance(input, Tracer) or input._memoryless else None
    if leading is not None or partner is not None or input._outline.flags.c_contiguous:
        return _mask(shape, 1 - p, partner)
    order = order_of(shape, ((shape, input._outline.strides),))  # that of memory
    return permute(_mask(tuple([shape[d] for d in order]), 1 - p, None), inverse_of(order))


@preparation
def _mask(shape: tuple[int, ...], share: float, partner: Tensor | None) -> Tensor:
    def draw(shape: tuple[int, ...]) -> np.ndarray:
        return default_generator.bernoulli(shape, share)

    return draw_numbers(draw, shape, partner=partner)


def _dropped(
    name: str, input: Tensor, p: float, training: bool, inplace: bool, leading: int | None = None
) -> Tensor:
    mask = _keep(name, input, p, training, leading)
    if mask is None:
        return input
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return input._masked_(mask, scale) if inplace else _masked(input, mask, scale)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p` and multiply the others by ``1 / (1 - p)``.

    Without `training` the input is returned as it is. Raises ValueError for a `p` outside
    [0, 1].

    >>> import wengert
    >>> wengert.nn.functional.dropout(wengert.ones(3), p=0.5, training=False)
    tensor([1., 1., 1.])
    """
    return _dropped("dropout", input, p, training, inplace)


def _leading(name: str, input: Tensor, batched: int) -> int:
    """The number of dimensions before the spatial ones: the channel and, if any, the batch."""
    ndim = input.ndim
    if ndim not in (batched - 1, batched):
        raise RuntimeError(
            f"{name}: Expected {batched - 1}D or {batched}D input, but received a {ndim}D input;"
            " use dropout() to drop single elements"
        )
    return 1 + (ndim == batched)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels of `input` (batch, channel, length); the batch may be left out.

    >>> import wengert
    >>> wengert.nn.functional.dropout1d(wengert.ones(1, 2, 2), p=1.0)
    tensor([[[0., 0.],
             [0., 0.]]])
    """
    require_tensor("dropout1d", "input", input)
    leading = _leading("dropout1d", input, 3)
    return _dropped("dropout1d", input, p, training, inplace, leading)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels of `input` (batch, channel, height, width).

    As in PyTorch a three-dimensional input counts as (batch, channel, length).

    >>> import wengert
    >>> wengert.nn.functional.dropout2d(wengert.ones(1, 1, 2, 2), p=0.0)
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    require_tensor("dropout2d", "input", input)
    _warn_of_dimensions("dropout2d", input, 4)
    if input.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout"
            " behavior is desired: (batch, channel, length). dropout1d() says so.",
            stacklevel=2,
        )
    return channels_dropped("dropout2d", input, p, training, inplace)


def channels_dropped(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Zero whole channels of (batch, channel, *space)."""
    return _dropped(name, input, p, training, inplace, 2)


def _warn_of_dimensions(name: str, input: Tensor, batched: int) -> None:
    if input.ndim not in (batched - 1, batched):
        warnings.warn(
            f"{name}: Received a {input.ndim}-D input to {name}, which is deprecated: expected"
            f" {batched - 1} or {batched} dimensions. dropout() drops single elements.",
            stacklevel=3,
        )


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels of `input` (batch, channel, *space) of three spatial dimensions.

    >>> import wengert
    >>> wengert.nn.functional.dropout3d(wengert.ones(1, 1, 1, 1, 2), p=1.0).sum()
    tensor(0.)
    """
    require_tensor("dropout3d", "input", input)
    _warn_of_dimensions("dropout3d", input, 5)
    leading = 1 if input.ndim == 4 else 2
    return _dropped("dropout3d", input, p, training, inplace, leading)


@primitive(mask=None, batch=leading, name="alpha_dropout")
def _shift(mask: Value, p: float, scale: float, dtype: np.dtype[Any]) -> Value:
    """What is added: the floor where an element is dropped, less its mean everywhere."""
    return (_SELU_FLOOR * scale * (1 - p - mask)).astype(dtype)


def _alpha_dropped(
    name: str, input: Tensor, p: float, training: bool, inplace: bool, leading: int | None = None
) -> Tensor:
    mask = _keep(name, input, p, training, leading)
    if mask is None:
        return input
    a = 0.0 if p == 1 else ((_SELU_FLOOR**2 * p + 1) * (1 - p)) ** -0.5
    shift = _shift(mask, p, a, input._outline.dtype)
    if inplace:
        return input._masked_(mask, a).add_(shift)
    return _masked(input, mask, a) + shift


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout for self-normalising networks: preserves the mean and variance of the elements.

    Dropped elements take the value that SELU has at minus infinity.

    >>> import wengert
    >>> wengert.nn.functional.alpha_dropout(wengert.ones(2), p=0.5, training=False)
    tensor([1., 1.])
    """
    return _alpha_dropped("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels of `input` (batch, channel, ...).

    >>> import wengert
    >>> wengert.nn.functional.feature_alpha_dropout(wengert.ones(1, 2), p=0.5, training=False)
    tensor([[1., 1.]])
    """
    return _alpha_dropped("feature_alpha_dropout", input, p, training, inplace, 2)


__all__: list[str] = []
FUNCTIONAL = (
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
)  # fmt: skip
METHODS: tuple[str, ...] = ()
INPLACE = ("_masked",)
