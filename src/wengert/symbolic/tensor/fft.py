"""``theano.tensor.fft``: discrete Fourier transforms of batches of real arrays.

Complex numbers are pairs in a last dimension: real part, imaginary part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE
from wengert.symbolic.expressions.arithmetic import sqrt
from wengert.symbolic.expressions.indexing import index, set_subtensor
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, disconnected


class _Transform(Operation):
    """Transforms over all dimensions but the first, of sizes that a second argument has."""

    more_dimensions = 0

    def make_node(self, x: Any, sizes: Any) -> Apply:
        """The dtype of `x`."""
        x, sizes = as_tensor_variable(x), as_tensor_variable(sizes)
        if x.ndim < 2 - min(self.more_dimensions, 0):
            raise TypeError(f"{type(self).__name__} needs a first dimension of batches, got {x}")
        if sizes.dtype not in DISCRETE:
            raise TypeError(f"lengths of transforms have to be integers, got {sizes.dtype}")
        ndim = x.ndim + self.more_dimensions
        return Apply(self, [x, sizes], [TensorType(x.dtype, (False,) * ndim)()])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The sizes have no gradient."""
        return [[True], [False]]


class RFFTOp(_Transform):
    """Half of the coefficients of real arrays; the other half are their conjugates."""

    more_dimensions = 1

    def compute(self, x: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """NumPy's, as pairs."""
        out = np.fft.rfftn(x, [int(n) for n in sizes], range(1, x.ndim))
        return np.stack([out.real, out.imag], -1).astype(x.dtype)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The inverse, in which coefficients that stand for two count as one."""
        sizes = inputs[1]
        return [irfft_op(_at_inner(output_gradients[0], sizes, 0.5), sizes), disconnected()]


class IRFFTOp(_Transform):
    """Real arrays of half of their coefficients, times the number of their elements."""

    more_dimensions = -1

    def compute(self, x: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """NumPy's, without its factor."""
        n = [int(size) for size in sizes]
        out = np.fft.irfftn(x[..., 0] + 1j * x[..., 1], n, range(1, x.ndim - 1))
        return (out * np.prod(n)).astype(x.dtype)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The transform, in which coefficients that stand for two count twice."""
        sizes = inputs[1]
        return [_at_inner(rfft_op(output_gradients[0], sizes), sizes, 2.0), disconnected()]


rfft_op, irfft_op = RFFTOp(), IRFFTOp()


def _at_inner(coefficients: Any, sizes: Any, factor: float) -> Any:
    """Those times `factor` whose conjugates belong to the transform and are not stored."""
    last = sizes[-1]
    where = (..., slice(1, last // 2 + last % 2), slice(None))
    inner = index(coefficients, where)
    return set_subtensor(inner, inner * factor)


def _checked(norm: Any) -> Any:
    if norm not in (None, "ortho", "no_norm"):
        raise ValueError(f"Invalid value {norm} for norm, must be None, 'ortho' or 'no_norm'")
    return norm


def rfft(inp: Any, norm: str | None = None) -> Any:
    """The Fourier transform of real arrays, over all dimensions but the first.

    Args:
        inp: real, ``(batch, ..., n)``.
        norm: None and "no_norm" scale nothing, "ortho" divides by the square root of the number of
            elements.

    The result is ``(batch, ..., n // 2 + 1, 2)``: real and imaginary parts. ValueError for another
    norm, TypeError for vectors.

    >>> import numpy as np
    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.tensor import fft
    >>> x = T.dmatrix("x")
    >>> function([x], fft.rfft(x))([[1.0, 2.0, 3.0, 4.0]])[0]
    array([[10.,  0.],
           [-2.,  2.],
           [-2.,  0.]])
    """
    inp = as_tensor_variable(inp)
    sizes = inp.shape[1:]
    out = rfft_op(inp, sizes)
    return out / sqrt(sizes.prod().astype(inp.dtype)) if _checked(norm) == "ortho" else out


def irfft(inp: Any, norm: str | None = None, is_odd: bool = False) -> Any:
    """The inverse of `rfft`.

    Args:
        inp: coefficients, ``(batch, ..., n // 2 + 1, 2)``.
        norm: None divides by the number of elements, "ortho" by its square root, "no_norm" not.
        is_odd: whether `n` is odd, which the coefficients do not say.

    The result is ``(batch, ..., n)``. ValueError for another norm or `is_odd`.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.tensor import fft
    >>> x = T.dmatrix("x")
    >>> function([x], fft.irfft(fft.rfft(x)))([[1.0, 2.0, 3.0, 4.0]])
    array([[1., 2., 3., 4.]])
    """
    if is_odd not in (True, False):
        raise ValueError(f"Invalid value {is_odd} for is_odd, must be True or False")
    inp = as_tensor_variable(inp)
    sizes = inp.shape[1:-1]
    sizes = set_subtensor(sizes[-1], (sizes[-1] - 1) * 2 + int(is_odd))
    out = irfft_op(inp, sizes)
    if _checked(norm) == "no_norm":
        return out
    count = sizes.prod().astype(inp.dtype)
    return out / (count if norm is None else sqrt(count))


__all__ = ["IRFFTOp", "RFFTOp", "irfft", "irfft_op", "rfft", "rfft_op"]
