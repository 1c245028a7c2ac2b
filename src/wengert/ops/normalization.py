"""Normalisation over batches, layers, groups, instances; by root mean square; by a p-norm.

The functions, and their checks. The operations that they call are in `_normalization_ops`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.dtypes import of_numpy
from wengert.core.info import finfo
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.kernels.precision import HALF
from wengert.ops._normalization_ops import (
    _batch_norm,
    _batch_norm_by_running,
    _group_norm,
    _instance_norm,
    _layer_norm,
    _rms_norm,
)
from wengert.ops.casting import convert
from wengert.ops.checks import not_implemented, require_constant
from wengert.ops.outputs import write_out
from wengert.ops.padding import pad
from wengert.ops.pool import avg_pool2d
from wengert.ops.variadic import require_tensor

if TYPE_CHECKING:
    from wengert.kernels.norm.plan import NormPlan

_FLOAT32 = np.dtype(np.float32)


_VECTORS = ("running_mean", "running_var", "weight", "bias")


def _check_vectors(name: str, channels: int, *vectors: Tensor | None) -> None:
    """Check running statistics, weight and bias: a number for each channel, if they are there."""
    wanted = (channels,)
    for what, vector in zip(_VECTORS, vectors, strict=True):
        if vector is not None and vector._outline.shape != wanted:
            raise RuntimeError(
                f"{what} should contain {channels} elements not {vector._outline.size}: {name}()"
                f" got shape {list(vector._outline.shape)}"
            )
    require_constant(name, "running_mean", vectors[0])
    require_constant(name, "running_var", vectors[1])


def _has_dtype(x: Any, dtype: np.dtype[Any]) -> bool:
    """Whether there is no tensor, or one of the dtype."""
    return x is None or (isinstance(x, Tensor) and x._outline.dtype == dtype)


def _check_dtypes(name: str, input: Tensor, **others: Tensor | None) -> bool:
    """Whether all others are float32, beside an input of halves; otherwise they have its dtype."""
    dtype = input._outline.dtype
    if dtype.char in "fd" and all([_has_dtype(other, dtype) for other in others.values()]):
        return False
    if of_numpy[dtype].category < dtypes.FLOAT:
        raise not_implemented(name, input._outline)
    given = {argument: other for argument, other in others.items() if other is not None}
    for argument, other in given.items():
        if not isinstance(other, Tensor):
            kind = type(other).__name__
            raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {kind}")
    found = {other._outline.dtype for other in given.values()}
    if dtype in HALF and found == {_FLOAT32}:
        return True
    for different in found - {dtype}:
        raise RuntimeError(
            f"mixed dtype (CPU): {name}() expects all inputs to share the same datatype, got"
            f" {of_numpy[dtype].short} and {of_numpy[different].short}"
        )
    return False


@lru_cache(256)
def _over_last(
    shape: tuple[int, ...], normalized: tuple[int, ...], centred: bool, wide: bool
) -> NormPlan:
    size = prod(normalized)
    view = (prod(shape[: len(shape) - len(normalized)]), size)
    return kernels.norm.plan.NormPlan(view, (1,), view, (size,), centred, wide)


def _check_trailing(
    name: str, shape: tuple[int, ...], normalized: Any, *params: tuple[str, Tensor | None]
) -> tuple[int, ...]:
    """Check the normalised shape: the input must end with it, the parameters must have it."""
    if not isinstance(normalized, (tuple, list)):
        kind = type(normalized).__name__
        raise TypeError(f"{name}(): argument 'normalized_shape' must be tuple of ints, not {kind}")
    trailing = tuple(normalized)
    if not trailing:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least"
            f" one element, but got normalized_shape = [] in {name}()"
        )
    if name == "rms_norm" and len(shape) < len(trailing):
        raise ValueError(
            f"Input tensor must have at least {len(trailing)} dimensions, but got {len(shape)}:"
            f" rms_norm() got normalized_shape={list(trailing)} and an input of {list(shape)}"
        )
    if shape[-len(trailing) :] != trailing:
        star = ", ".join(["*", *map(str, trailing)])
        raise RuntimeError(
            f"Given normalized_shape={list(trailing)}, expected input with shape [{star}],"
            f" but got input of size{list(shape)}"
        )
    for what, x in params:
        if x is not None and x._outline.shape != trailing:
            raise RuntimeError(
                f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape"
                f" {list(x._outline.shape)} and normalized_shape = {list(trailing)}"
            )
    return trailing


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Normalise over the last dimensions, which have the shape `normalized_shape`.

    `weight` and `bias` have that shape as well. Raises RuntimeError for other shapes.

    >>> import wengert
    >>> wengert.nn.functional.layer_norm(wengert.tensor([[1., 3.]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    require_tensor("layer_norm", "input", input)
    wide = _check_dtypes("layer_norm", input, weight=weight, bias=bias)
    shape = input._outline.shape
    trailing = _check_trailing(
        "layer_norm", shape, normalized_shape, ("weight", weight), ("bias", bias)
    )
    return _layer_norm(input, weight, bias, _over_last(shape, trailing, True, wide), eps)


def _promotes(dtype: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether a real input and a real weight are multiplied in a dtype that is not the input's."""
    if other == dtype or (dtype in HALF and other == _FLOAT32):
        return False
    return of_numpy[dtype].category == dtypes.FLOAT and of_numpy[other].category <= dtypes.FLOAT


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:  # fmt: skip
    """Divide by the root mean square over the last dimensions, then multiply by `weight`.

    `eps` is by default that of the dtype, or of float32, in which halves are computed. A weight of
    another dtype is taken as it is; the result has the input's.

    >>> import wengert
    >>> wengert.nn.functional.rms_norm(wengert.tensor([3., 4., 0., 0.]), (4,))
    tensor([1.2000, 1.6000, 0.0000, 0.0000])
    """
    require_tensor("rms_norm", "input", input)
    shape, dtype = input._outline.shape, input._outline.dtype
    computed = _FLOAT32 if dtype in HALF else dtype
    if isinstance(weight, Tensor) and _promotes(dtype, weight._outline.dtype):
        _check_trailing("rms_norm", shape, normalized_shape, ("weight", weight))
        plain = rms_norm(convert(input, of_numpy[computed]), normalized_shape, None, eps)
        return convert(plain * weight, of_numpy[dtype])
    wide = _check_dtypes("rms_norm", input, weight=weight)
    trailing = _check_trailing("rms_norm", shape, normalized_shape, ("weight", weight))
    least = finfo(of_numpy[computed]).eps if eps is None else eps
    if dtype.kind == "c":  # the square of a complex number, not of its magnitude
        dims = tuple(range(-len(trailing), 0))
        out: Tensor = input * ((input * input).mean(dims, True) + least).rsqrt()
        return out if weight is None else out * weight
    return _rms_norm(input, weight, None, _over_last(shape, trailing, False, wide), least)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Normalise `input` (batch, channel, ...) over each of `num_groups` groups of channels.

    >>> import wengert
    >>> wengert.nn.functional.group_norm(wengert.tensor([[1., 3., 5., 9.]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    require_tensor("group_norm", "input", input)
    wide = _check_dtypes("group_norm", input, weight=weight, bias=bias)
    shape = input._outline.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    if num_groups < 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of"
            f" shape {list(shape)} and num_groups={num_groups}"
        )
    for what, x in (("weight", weight), ("bias", bias)):
        if x is not None and x._outline.shape != shape[1:2]:
            raise RuntimeError(
                f"Expected {what} to be a vector of size equal to the number of channels in input,"
                f" but got {what} of shape {list(x.shape)} and input of shape {list(shape)}"
            )
    size = prod(shape[1:]) // num_groups
    if shape[0] * size == 1:
        raise _too_few(shape)
    plan = kernels.norm.plan.NormPlan(
        (shape[0], num_groups, size), (2,), _by_channel(shape), (shape[1], 1), wide=wide
    )
    return _group_norm(input, weight, bias, plan, eps)


def _by_channel(shape: tuple[int, ...]) -> tuple[int, int, int]:
    return shape[0], shape[1], prod(shape[2:])


@lru_cache(256)
def _of_channels(shape: tuple[int, ...], axes: tuple[int, ...], wide: bool) -> NormPlan:
    view = _by_channel(shape)
    return kernels.norm.plan.NormPlan(view, axes, view, (shape[1], 1), wide=wide)


def _too_few(shape: tuple[int, ...]) -> ValueError:
    return ValueError(
        f"Expected more than 1 value per channel when training, got input size {Size(shape)}"
    )


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
    weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Normalise each channel of `input` (batch, channel, ...) over everything else.

    With `training` by the statistics of this batch, and the running ones are updated with
    `momentum`; otherwise by the running statistics.

    >>> import wengert
    >>> wengert.nn.functional.batch_norm(wengert.tensor([[1.], [3.]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    require_tensor("batch_norm", "input", input)
    _check_eps(eps, training)
    wide = _check_dtypes(
        "batch_norm",
        input,
        running_mean=running_mean,
        running_var=running_var,
        weight=weight,
        bias=bias,
    )
    shape = input._outline.shape
    if len(shape) < 2:
        raise RuntimeError(f"batch_norm() expects at least 2 dimensions, got {list(shape)}")
    _check_vectors("batch_norm", shape[1], running_mean, running_var, weight, bias)
    if not training:
        if running_mean is None or running_var is None:
            what = "running_var" if running_var is None is not running_mean else "running_mean"
            raise RuntimeError(f"{what} must be defined in evaluation mode")
        return _batch_norm_by_running(input, weight, bias, running_mean, running_var, eps, wide)
    if prod(shape) == shape[1]:
        raise _too_few(shape)
    plan = _of_channels(shape, (0, 2), wide)
    _check_both(running_mean, running_var)
    return _batch_norm(input, weight, bias, running_mean, running_var, plan, eps, momentum)


def _check_eps(eps: float, training: bool) -> None:
    if eps < 0 or (training and eps == 0):
        needed = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {needed}, but got {eps}")


def _check_both(mean: Tensor | None, var: Tensor | None) -> None:
    if (mean is None) != (var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
    weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
    momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Normalise each channel of each sample of `input` (batch, channel, *space) separately.

    >>> import wengert
    >>> wengert.nn.functional.instance_norm(wengert.tensor([[[1., 3.], [5., 9.]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    require_tensor("instance_norm", "input", input)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when use_input_stats is false"
            )
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    wide = _check_dtypes(
        "instance_norm",
        input,
        running_mean=running_mean,
        running_var=running_var,
        weight=weight,
        bias=bias,
    )
    shape = input._outline.shape
    if len(shape) < 2:
        raise RuntimeError(f"instance_norm() expects at least 2 dimensions, got {list(shape)}")
    if prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {Size(shape)}"
        )
    _check_vectors("instance_norm", shape[1], running_mean, running_var, weight, bias)
    plan = _of_channels(shape, (2,), wide)
    _check_both(running_mean, running_var)
    return _instance_norm(input, weight, bias, running_mean, running_var, plan, eps, momentum)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide by a power of the mean square over `size` neighbouring channels (dimension 1).

    >>> import wengert
    >>> wengert.nn.functional.local_response_norm(wengert.ones(1, 1, 1), 1, alpha=3., beta=0.5)
    tensor([[[0.5000]]])
    """
    require_tensor("local_response_norm", "input", input)
    shape = input._outline.shape
    if len(shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)"
        )
    if 0 in shape:
        return input
    squares = (input * input).reshape(shape[0], 1, shape[1], prod(shape[2:]))
    squares = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    mean = avg_pool2d(squares, (size, 1), stride=1).reshape(shape)
    return input / (mean * alpha + k) ** beta


def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Divide by the p-norm along `dim`, or by `eps` where that is larger; into `out`, if given.

    >>> import wengert
    >>> wengert.nn.functional.normalize(wengert.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    if out is not None:
        return write_out(normalize, out, input, p, dim, eps)
    require_tensor("normalize", "input", input)
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps)


__all__ = ["rms_norm"]
FUNCTIONAL = (
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize",
    "rms_norm",
)  # fmt: skip
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
