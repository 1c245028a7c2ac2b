"""Filling parameters before training. All functions work in place, unrecorded, and return
their tensor."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.autograd.grad_mode import no_grad
from wengert.core import storage
from wengert.core.forks import hold_forks
from wengert.core.fronts import publish_module
from wengert.core.generators import default_generator
from wengert.core.inference import check_written
from wengert.core.messages import warn
from wengert.core.tensor import Tensor, caller, getframe, inferences, wrap

_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0, "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0), "selu": 3.0 / 4,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended factor for scaling weights before an activation function.

    `param` is the negative slope of ``"leaky_relu"``.

    >>> import wengert
    >>> wengert.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope: Any = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(
            f"Unsupported nonlinearity {nonlinearity}, expected one of"
            f" {', '.join([*_GAINS, 'leaky_relu'])}"
        )
    return _GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with values drawn uniformly from [a, b).

    >>> import wengert
    >>> w = wengert.nn.init.uniform_(wengert.zeros(3, 5), -1, 1)
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with values drawn from the normal distribution.

    >>> import wengert
    >>> w = wengert.nn.init.normal_(wengert.zeros(3, 5), std=0.02)
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with values from the normal distribution truncated to [a, b].

    >>> import wengert
    >>> w = wengert.nn.init.trunc_normal_(wengert.zeros(3, 5), std=0.02)
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of"
            " values may be incorrect."
        )
    if tensor._memoryless:
        return tensor
    mass = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    draw = _redraw_until_inside if mass > 0.3 else _truncated_by_rejection
    return _write(tensor, draw(tensor._array, mean, std, a, b, generator), "trunc_normal_")


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _scratch(like: np.ndarray) -> Any:
    return wrap(np.empty(like.shape, like.dtype))


def _redraw_until_inside(
    like: np.ndarray, mean: float, std: float, a: float, b: float, generator: Any
) -> np.ndarray:
    """If most of the mass is inside: draw from the normal distribution and redraw outliers."""
    low, high = like.dtype.type(a), like.dtype.type(b)
    result: np.ndarray = _scratch(like).normal_(mean, std, generator=generator)._array
    while (outside := (result < low) | (result > high)).any():
        again = _scratch(like).normal_(mean, std, generator=generator)._array
        result = np.where(outside, again, result)
    return result


def _truncated_by_rejection(
    like: np.ndarray, mean: float, std: float, a: float, b: float, generator: Any
) -> np.ndarray:
    """If little mass is inside: rejection sampling from uniform draws."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(x: np.ndarray) -> np.ndarray:
        log_density = ((x - mean) / std) ** 2 * -0.5 - peak
        with np.errstate(divide="ignore"):
            chance = np.log(_scratch(like).uniform_(generator=generator)._array)
        return np.asarray(chance > log_density)

    result: np.ndarray = _scratch(like).uniform_(a, b, generator=generator)._array
    pending = rejected(result)
    while pending.any():
        again = _scratch(like).uniform_(a, b, generator=generator)._array
        result = np.where(pending, again, result)
        pending &= rejected(again)
    return result


def _write(tensor: Tensor, values: Any, name: str) -> Tensor:
    if inferences:
        check_written((tensor,), name)
    if tensor._memoryless:
        return tensor
    storage.before_write(tensor._array)
    np.copyto(tensor._array, values, casting="unsafe")
    storage.stamp(tensor._array, name, *caller(getframe(1)))
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with `val`.

    >>> import wengert
    >>> wengert.nn.init.constant_(wengert.zeros(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return _write(tensor, val, "constant_")


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1.

    >>> import wengert
    >>> wengert.nn.init.ones_(wengert.zeros(2))
    tensor([1., 1.])
    """
    return _write(tensor, 1, "ones_")


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0.

    >>> import wengert
    >>> wengert.nn.init.zeros_(wengert.ones(2))
    tensor([0., 0.])
    """
    return _write(tensor, 0, "zeros_")


def eye_(tensor: Tensor) -> Tensor:
    """Fill a 2-D tensor with the identity matrix.

    >>> import wengert
    >>> wengert.nn.init.eye_(wengert.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _check_rank(tensor, (2,), "Only tensors with 2 dimensions are supported")
    values = 0 if tensor._memoryless else np.eye(*tensor._outline.shape)
    return _write(tensor, values, "eye_")


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it passes channels through, in each group.

    >>> import wengert
    >>> wengert.nn.init.dirac_(wengert.zeros(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    _check_rank(tensor, (3, 4, 5), "Only tensors with 3, 4, or 5 dimensions are supported")
    shape = tensor._outline.shape
    if shape[0] % groups:
        raise ValueError(f"dim 0 must be divisible by groups, got {shape[0]} and groups={groups}")
    if tensor._memoryless:
        return tensor
    values = np.zeros(shape)
    out = shape[0] // groups
    centre = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for channel in range(min(out, shape[1])):
            values[(group * out + channel, channel, *centre)] = 1
    return _write(tensor, values, "dirac_")


def _check_rank(tensor: Tensor, ranks: tuple[int, ...], message: str) -> None:
    if tensor._outline.ndim not in ranks:
        raise ValueError(f"{message}, got one of shape {list(tensor._outline.shape)}")


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    shape = tensor._outline.shape
    if len(shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, got"
            f" one of shape {list(shape)}"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform values scaled by fan-in plus fan-out (Glorot and Bengio, 2010).

    >>> import wengert
    >>> w = wengert.nn.init.xavier_uniform_(wengert.zeros(3, 5))
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal values scaled by fan-in plus fan-out (Glorot and Bengio, 2010).

    >>> import wengert
    >>> w = wengert.nn.init.xavier_normal_(wengert.zeros(3, 5))
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill with uniform values scaled by fan-in or fan-out (He et al., 2015).

    Args:
        tensor: the weight.
        a: the negative slope of the leaky ReLU that follows.
        mode: ``"fan_in"`` keeps the variance in the forward pass, ``"fan_out"`` backward.
        nonlinearity: the activation that follows; see `calculate_gain`.
        generator: the source of random numbers.

    >>> import wengert
    >>> w = wengert.nn.init.kaiming_uniform_(wengert.zeros(3, 5), nonlinearity="relu")
    """
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill with normal values scaled by fan-in or fan-out; arguments as for `kaiming_uniform_`.

    >>> import wengert
    >>> w = wengert.nn.init.kaiming_normal_(wengert.zeros(3, 5), mode="fan_out")
    """
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor._outline.shape:
        return False
    warn("Initializing zero-element tensors is a no-op")
    return True


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix; dimensions after the first are flattened.

    >>> import wengert
    >>> w = wengert.nn.init.orthogonal_(wengert.zeros(3, 5))
    """
    array = tensor._array
    if array.ndim < 2:
        raise ValueError(
            "Only tensors with 2 or more dimensions are supported, got one of shape"
            f" {list(array.shape)}"
        )
    if array.size == 0 or tensor._memoryless:
        return tensor
    rows = array.shape[0]
    flat = wrap(np.empty((rows, array.size // rows), array.dtype))
    matrix = normal_(flat, 0, 1, generator)._array
    is_wide = rows < matrix.shape[1]
    with hold_forks():
        q, r = np.linalg.qr(matrix.T if is_wide else matrix)
    q = q * np.sign(np.diagonal(r))  # makes the distribution uniform
    return _write(tensor, ((q.T if is_wide else q) * gain).reshape(array.shape), "orthogonal_")


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill with normal values, with the fraction `sparsity` of each column set to zero.

    >>> import wengert
    >>> w = wengert.nn.init.sparse_(wengert.zeros(4, 2), sparsity=0.5)
    >>> (w == 0).sum()
    tensor(4)
    """
    _check_rank(tensor, (2,), "Only tensors with 2 dimensions are supported")
    rows, columns = tensor._outline.shape
    zeros = math.ceil(sparsity * rows)
    normal_(tensor, 0, std, generator)
    if tensor._memoryless:
        return tensor
    for column in range(columns):
        tensor._array[default_generator.permutation(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new, old = function.__name__, function.__name__[:-1]

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"The old name of `{new}`."
    return deprecated


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

publish_module("torch.nn.init", [n for n in globals() if n[-1] == "_" != n[0]], globals())
