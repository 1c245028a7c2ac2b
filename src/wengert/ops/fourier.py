"""The linear maps behind Fourier transforms.

Dimensions are counted from the last one, so that a leading batch changes nothing. The adjoint
of a transform is the one in the other direction with the same factor, that is, with the opposite
`norm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert import kernels
from wengert.core import dtypes
from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor
from wengert.ops.batching import leading
from wengert.ops.casting import convert
from wengert.ops.complexes import real
from wengert.ops.declare import Value, multilinear
from wengert.ops.padding import pad

Axes = tuple[int, ...]

# The norm under which the transform in the other direction has the same factor.
ADJOINT = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


@multilinear(
    input=lambda g, dim, norm, inverse: _c2c(g, dim, ADJOINT[norm], not inverse),
    batch=leading,
    label="FftC2CBackward0",
    name="fft",
)
def _c2c(input: Value, dim: Axes, norm: str, inverse: bool) -> Value:
    """Of a complex input."""
    return kernels.fourier.complex_to_complex(input, dim, norm, inverse)


@multilinear(
    input=lambda g, dim, norm, inverse: real(_c2c(g, dim, ADJOINT[norm], not inverse)),
    batch=leading,
    label="FftR2CBackward0",
    name="fft",
)
def _r2c(input: Value, dim: Axes, norm: str, inverse: bool) -> Value:
    """Of a real input, the whole spectrum."""
    return kernels.fourier.complex_to_complex(input, dim, norm, inverse)


@multilinear(
    input=lambda g, input_shape, dim, norm: half_to_real(
        _weighted(g, input_shape[dim[-1]], 0.5, dim[-1]), dim, input_shape[dim[-1]], ADJOINT[norm]
    ),
    batch=leading,
    label="FftR2CBackward0",
    name="rfft",
)
def real_to_half(input: Value, dim: Axes, norm: str) -> Value:
    """Of a real input; along the last of `dim` the non-redundant half of the spectrum."""
    return kernels.fourier.real_to_half(input, dim, norm)


@multilinear(
    input=lambda g, dim, n, norm: _weighted(real_to_half(g, dim, ADJOINT[norm]), n, 2.0, dim[-1]),
    batch=leading,
    label="FftC2RBackward0",
    name="irfft",
)
def half_to_real(input: Value, dim: Axes, n: int, norm: str) -> Value:
    """The inverse of `real_to_half`, with length `n` along the last of `dim`."""
    return kernels.fourier.half_to_real(input, dim, n, norm)


def _weighted(spectrum: Value, n: int, middle: float, dim: int) -> Value:
    """Half a spectrum, times `middle` where the other half would have the conjugate."""
    dtype = spectrum._outline.dtype if isinstance(spectrum, Tensor) else spectrum.dtype
    return spectrum * kernels.fourier.mirrored_weights(n, middle, -1 - dim, dtype)


def transform(input: Tensor, dim: Axes, norm: str, inverse: bool) -> Tensor:
    """The whole spectrum, or the inverse, of a real or complex tensor."""
    if not dim:
        return as_complex(input)
    op = _c2c if input._outline.dtype.kind == "c" else _r2c
    return op(input, dim, norm, inverse)


def as_complex(input: Tensor) -> Tensor:
    """A floating-point or complex tensor as a complex one."""
    return convert(input, of_numpy[input._outline.dtype].to_complex())


def in_floats(input: Tensor) -> Tensor:
    """The input in a dtype supported by transforms: integers in the default one."""
    dtype = of_numpy[input._outline.dtype]
    if dtype.category < dtypes.FLOAT:
        return convert(input, dtypes.defaults.dtype)
    if dtype.np.itemsize < 4:
        raise RuntimeError(
            f"Unsupported dtype {dtype.short}: transforms take float32, float64 and complex"
        )
    return input


def resized(input: Tensor, dim: Axes, sizes: Sequence[int]) -> Tensor:
    """The input trimmed or zero-padded to `sizes` along `dim` (from the last)."""
    shape = input.shape
    changes: dict[int, int] = {
        -1 - d: n - shape[d] for d, n in zip(dim, sizes, strict=True) if n != shape[d]
    }
    if not changes:
        return input
    behind = [changes.get(d, 0) for d in range(max(changes) + 1)]
    return pad(input, [p for change in behind for p in (0, change)])


def check_norm(norm: Any, name: str) -> str:
    """The normalisation that an argument means."""
    if norm is None:
        return "backward"
    if not isinstance(norm, str):
        raise TypeError(f"{name}(): argument 'norm' must be str, not {type(norm).__name__}")
    if norm not in ADJOINT:
        raise RuntimeError(
            f'Invalid normalization mode: "{norm}"; {name}() takes {", ".join(ADJOINT)}'
        )
    return norm


def check_points(n: int, name: str) -> int:
    """Raise unless there is something to transform."""
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified in {name}()")
    return n


__all__: list[str] = []
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
