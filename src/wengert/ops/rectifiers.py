"""Rectifiers: activation functions that are linear to the right of zero or of a threshold.

Those with `inplace` delegate to the tensor's in-place method, which is derived from
the out-of-place operation.
"""

from __future__ import annotations

import numpy as np

from wengert.core.dtypes import ALL, BOOL, COMPLEX, of_numpy
from wengert.core.generators import default_generator, draw_numbers
from wengert.core.tensor import Tensor, Tracer
from wengert.kernels.precision import in_float32
from wengert.ops.checks import require_in_range, require_kind
from wengert.ops.declare import Value, elementwise
from wengert.ops.exponential import exp
from wengert.ops.masking import number_of, where
from wengert.ops.outputs import write_out
from wengert.ops.shape import contiguous, reshape
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import drop

# The constants of SELU (Klambauer et al., 2017).
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805
_ZERO = {d.np: np.zeros((), d.np) for d in ALL if d.category not in (BOOL, COMPLEX)}


# Here and below, the gradient passes through nan inputs.
@elementwise(input=lambda g, out: drop(g, out <= 0.0))
def _relu(input: Value) -> Value:
    try:
        return np.maximum(input, _ZERO[input.dtype])
    except KeyError:
        if input.dtype.kind == "c":
            raise NotImplementedError("clamp is not supported for complex types: relu()") from None
        raise RuntimeError("Boolean inputs not supported for relu") from None


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)``.

    >>> import wengert
    >>> wengert.relu(wengert.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else _relu(input)


@elementwise(
    input=lambda g, input, min_val, max_val: drop(g, (input <= min_val) | (input >= max_val))
)
def _hardtanh(input: Value, min_val: float, max_val: float) -> Value:
    low, high = (number_of(input.dtype, x, "hardtanh") for x in (min_val, max_val))
    return np.minimum(np.maximum(input, low), high)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Each element limited to [min_val, max_val]; the gradient passes strictly inside.

    >>> import wengert
    >>> wengert.nn.functional.hardtanh(wengert.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    if min_val > max_val:
        raise ValueError(
            f"min_val cannot be greater than max_val, and min_val={min_val}, max_val={max_val}"
        )
    dtype = of_numpy[input._outline.dtype]
    if dtype.category == COMPLEX:
        raise NotImplementedError("clamp is not supported for complex types: hardtanh()")
    if dtype.category == BOOL:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if not dtype.is_signed and min_val < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if inplace:
        return input._hardtanh_(min_val, max_val)
    return _hardtanh(input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Each element limited to [0, 6].

    >>> import wengert
    >>> wengert.nn.functional.relu6(wengert.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


@elementwise(input=lambda g, input, negative_slope: where(input > 0.0, g, g * negative_slope))
@in_float32
def _leaky_relu(input: Value, negative_slope: float) -> Value:
    require_kind("leaky_relu_cpu", input, "f")
    require_in_range("leaky_relu", input.dtype, negative_slope)
    scaled = input * input.dtype.type(negative_slope)
    if 0 < negative_slope <= 1:
        return np.maximum(input, scaled)
    return np.where(input > 0, input, scaled)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``negative_slope * x``.

    >>> import wengert
    >>> wengert.nn.functional.leaky_relu(wengert.tensor([-1.0, 2.0]))
    tensor([-0.0100,  2.0000])
    """
    if inplace:
        return input._leaky_relu_(negative_slope)
    return _leaky_relu(input, negative_slope)


@elementwise(
    input=lambda g, input, alpha, scale, rate: where(
        input <= 0.0, g * (alpha * scale * rate) * exp(input * rate), g * scale
    ),
)
@in_float32
def _elu(input: Value, alpha: float, scale: float = 1.0, rate: float = 1.0) -> Value:
    require_kind("elu_cpu", input, "f")
    require_in_range("elu", input.dtype, alpha)
    negative = np.expm1(np.minimum(input, 0) * rate) * (alpha * scale)
    return np.where(input > 0, input * scale, negative)


def _plain(number: float) -> float:
    """A number of NumPy's as Python's: its dtype is not to count."""
    return number.item() if isinstance(number, np.generic) else number


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``alpha * (exp(x) - 1)``.

    >>> import wengert
    >>> wengert.nn.functional.elu(wengert.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    alpha = _plain(alpha)
    return input._elu_(alpha) if inplace else _elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu`, scaled so that activations keep mean 0 and variance 1.

    >>> import wengert
    >>> wengert.selu(wengert.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    if inplace:
        return input._elu_(_SELU_ALPHA, _SELU_SCALE)
    return _elu(input, _SELU_ALPHA, _SELU_SCALE)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``, smooth for every `alpha`.

    >>> import wengert
    >>> wengert.celu(wengert.tensor([-1.0, 2.0]), alpha=2.0)
    tensor([-0.7869,  2.0000])
    """
    alpha = _plain(alpha)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    if inplace:
        return input._elu_(alpha, 1.0, 1.0 / alpha)
    return _elu(input, alpha, 1.0, 1.0 / alpha)


@elementwise(input=lambda g, input, threshold: drop(g, input <= threshold))
def _threshold(input: Value, threshold: float, value: float) -> Value:
    require_kind("threshold_cpu", input, "fiu")
    least, instead = (number_of(input.dtype, x, "threshold") for x in (threshold, value))
    return np.where(input <= least, instead, input)


def threshold(
    input: Tensor,
    threshold: float,
    value: float,
    inplace: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """x where ``x > threshold``, else `value`.

    >>> import wengert
    >>> wengert.threshold(wengert.tensor([0.5, 2.0]), 1.0, 9.0)
    tensor([9., 2.])
    """
    if out is not None:
        return write_out(globals()["threshold"], out, input, threshold, value, inplace)
    if inplace:
        return input._threshold_(threshold, value)
    return _threshold(input, threshold, value)


@elementwise(
    input=lambda g, input, weight: where(input > 0.0, g, g * weight),
    weight=lambda g, input: drop(g * input, input > 0.0),
)
def _prelu(input: Value, weight: Value) -> Value:
    require_kind("prelu_cpu", input, "f")
    return np.where(input > 0, input, input * weight)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where positive, else ``weight * x``; `weight` has one element, or one per channel.

    Channels are dimension 1 of `input`.

    >>> import wengert
    >>> wengert.prelu(wengert.tensor([-4.0, 2.0]), wengert.tensor([0.25]))
    tensor([-1.,  2.])
    """
    require_tensor("prelu", "input", input)
    require_tensor("prelu", "weight", weight, 2)
    if weight._outline.dtype != input._outline.dtype:
        a, b = (of_numpy[x._outline.dtype].short for x in (input, weight))
        raise RuntimeError(f"prelu: Type promoting not supported. Got {a} and {b}")
    shape, weight_shape = input._outline.shape, weight._outline.shape
    if len(weight_shape) > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim ="
            f" {len(weight_shape)}"
        )
    if weight._outline.size != 1:
        channels = shape[1] if len(shape) > 1 else 1
        if weight._outline.size != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers ="
                f" {weight._outline.size} and channel size = {channels}."
            )
        weight = reshape(weight, (channels, *(1,) * (len(shape) - 2)))
    elif len(shape) == 0:
        weight = reshape(weight, ())
    return _prelu(input, weight)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """`leaky_relu` with a slope per element, drawn from [lower, upper] while training.

    In evaluation the slope is the mean of the bounds.

    >>> import wengert
    >>> wengert.rrelu(wengert.tensor([-2.0, 2.0]), 0.25, 0.75)
    tensor([-1.,  2.])
    """
    if lower > upper:
        raise RuntimeError(
            "Lower bound should be less than or equal to the upper bound, and lower="
            f"{lower}, upper={upper}"
        )
    if not inplace:
        input = contiguous(input)
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    require_kind("rrelu_with_noise_out_cpu", input._array, "f")
    slopes = _random_slopes(input, lower, upper)
    return input._prelu_(slopes) if inplace else _prelu(input, slopes)


def _random_slopes(input: Tensor, lower: float, upper: float) -> Tensor:
    """Slopes from [lower, upper], drawn for the negative elements; inside a transform for all."""
    array, readable = input._array, not isinstance(input, Tracer)

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        negative = np.broadcast_to(array <= 0, shape) if readable else np.ones(shape, bool)
        slopes = np.ones(shape, array.dtype)
        draws = default_generator.doubles(int(np.count_nonzero(negative)))
        slopes[negative] = draws * (upper - lower) + lower
        return slopes

    return draw_numbers(draw, array.shape, partner=input)


def relu_(input: Tensor) -> Tensor:
    """In-place form of `relu`."""
    return relu(input, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place form of `leaky_relu`."""
    return leaky_relu(input, negative_slope, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place form of `elu`."""
    return elu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """In-place form of `selu`."""
    return selu(input, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place form of `celu`."""
    return celu(input, alpha, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place form of `hardtanh`."""
    return hardtanh(input, min_val, max_val, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place form of `threshold`."""
    return input._threshold_(threshold, value)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """In-place form of `rrelu`."""
    return rrelu(input, lower, upper, training, inplace=True)


__all__ = ["celu", "prelu", "relu", "rrelu", "selu", "threshold"]
FUNCTIONAL: tuple[str, ...] = (
    "celu", "celu_", "elu", "elu_", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "prelu",
    "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "threshold", "threshold_",
)  # fmt: skip
METHODS = ("prelu", "relu")
# The private names define the in-place methods that the functions above delegate to.
INPLACE = ("_elu", "_hardtanh", "_leaky_relu", "_prelu", "_threshold", "relu")
