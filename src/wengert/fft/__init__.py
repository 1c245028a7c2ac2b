"""wengert.fft: discrete Fourier transforms, as `torch.fft`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import numpy as np

from wengert.core import dtypes
from wengert.core.fronts import publish_module
from wengert.core.tensor import Tensor
from wengert.fft._dimensions import (
    Sizes,
    along_one,
    along_several,
    along_two,
    hermitian_to_real,
    numbers,
    to_half,
    to_hermitian,
    to_real,
    whole,
)
from wengert.kernels.axes import axis_of
from wengert.ops.expansion import roll
from wengert.ops.numpy_names import either
from wengert.ops.outputs import write_out
from wengert.tensor.arguments import (
    Options,
    allocate,
    dtype_of,
    finish,
    require_int,
    require_tensor,
)


def fft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Discrete Fourier transform along one dimension, cut or zero-padded to length `n`.

    `norm` says where the factor 1/n is: "backward" (in the inverse), "forward", or "ortho" (half
    of it in both). Integers are transformed in the default dtype.

    >>> import wengert
    >>> wengert.fft.fft(wengert.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    if out is not None:
        return write_out(fft, out, input, n, dim, norm, axis=axis)
    return along_one("fft", whole(False), input, n, dim, axis, norm)


def ifft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `fft`.

    >>> import wengert
    >>> wengert.fft.ifft(wengert.tensor([4.0, 0.0, 0.0, 0.0])).real
    tensor([1., 1., 1., 1.])
    """
    if out is not None:
        return write_out(ifft, out, input, n, dim, norm, axis=axis)
    return along_one("ifft", whole(True), input, n, dim, axis, norm)


def rfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`fft` of a real tensor, without the half that repeats the other: n // 2 + 1 elements.

    >>> import wengert
    >>> wengert.fft.rfft(wengert.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    if out is not None:
        return write_out(rfft, out, input, n, dim, norm, axis=axis)
    return along_one("rfft", to_half, input, n, dim, axis, norm)


def irfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `rfft`; without `n` the result has an even length.

    >>> import wengert
    >>> wengert.fft.irfft(wengert.tensor([10 + 0j, -2 + 2j, -2 + 0j]))
    tensor([1., 2., 3., 4.])
    """
    if out is not None:
        return write_out(irfft, out, input, n, dim, norm, axis=axis)
    return along_one("irfft", to_real, input, n, dim, axis, norm)


def hfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`fft` of a signal that is Hermitian in time, of which `input` is the first half: real.

    >>> import wengert
    >>> wengert.fft.hfft(wengert.tensor([1.0, 2.0, 3.0]))
    tensor([ 8., -2.,  0., -2.])
    """
    if out is not None:
        return write_out(hfft, out, input, n, dim, norm, axis=axis)
    return along_one("hfft", hermitian_to_real, input, n, dim, axis, norm)


def ihfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `hfft`: the first half of the inverse transform of a real signal.

    >>> import wengert
    >>> wengert.fft.ihfft(wengert.tensor([8.0, -2.0, 0.0, -2.0]))
    tensor([1.-0.j, 2.-0.j, 3.-0.j])
    """
    if out is not None:
        return write_out(ihfft, out, input, n, dim, norm, axis=axis)
    return along_one("ihfft", to_hermitian, input, n, dim, axis, norm)


def fftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """`fft` along several dimensions, cut or padded to lengths `s` (-1 leaves one as it is).

    Without `dim` along the last ones, as many as `s` has, or along all.

    >>> import wengert
    >>> wengert.fft.fftn(wengert.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    if out is not None:
        return write_out(fftn, out, input, s, dim, norm, axis=axis)
    return along_several("fftn", whole(False), input, s, dim, axis, norm)


def ifftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `fftn`.

    >>> import wengert
    >>> wengert.fft.ifftn(wengert.ones(2, 2))
    tensor([[1.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    if out is not None:
        return write_out(ifftn, out, input, s, dim, norm, axis=axis)
    return along_several("ifftn", whole(True), input, s, dim, axis, norm)


def rfftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """`fftn` of a real tensor, without the half that repeats along the last of `dim`.

    >>> import wengert
    >>> wengert.fft.rfftn(wengert.ones(2, 3))
    tensor([[6.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    if out is not None:
        return write_out(rfftn, out, input, s, dim, norm, axis=axis)
    return along_several("rfftn", to_half, input, s, dim, axis, norm)


def irfftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `rfftn`; `s` has the lengths of the result.

    >>> import wengert
    >>> wengert.fft.irfftn(wengert.ones(2, 2))
    tensor([[1., 0.],
            [0., 0.]])
    """
    if out is not None:
        return write_out(irfftn, out, input, s, dim, norm, axis=axis)
    return along_several("irfftn", to_real, input, s, dim, axis, norm)


def hfftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """`hfft` along the last of `dim` and `fft` along the others.

    >>> import wengert
    >>> wengert.fft.hfftn(wengert.ones(2, 2))
    tensor([[4., 0.],
            [0., 0.]])
    """
    if out is not None:
        return write_out(hfftn, out, input, s, dim, norm, axis=axis)
    return along_several("hfftn", hermitian_to_real, input, s, dim, axis, norm)


def ihfftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `hfftn`.

    >>> import wengert
    >>> wengert.fft.ihfftn(wengert.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    if out is not None:
        return write_out(ihfftn, out, input, s, dim, norm, axis=axis)
    return along_several("ihfftn", to_hermitian, input, s, dim, axis, norm)


def fft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """`fftn` along two dimensions.

    >>> import wengert
    >>> wengert.fft.fft2(wengert.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    if out is not None:
        return write_out(fft2, out, input, s, dim, norm, axis=axis)
    return along_two("fft2", whole(False), input, s, dim, axis, norm)


def ifft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `fft2`.

    >>> import wengert
    >>> wengert.fft.ifft2(wengert.ones(2, 2))
    tensor([[1.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    if out is not None:
        return write_out(ifft2, out, input, s, dim, norm, axis=axis)
    return along_two("ifft2", whole(True), input, s, dim, axis, norm)


def rfft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """`rfftn` along two dimensions.

    >>> import wengert
    >>> wengert.fft.rfft2(wengert.ones(2, 3))
    tensor([[6.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    if out is not None:
        return write_out(rfft2, out, input, s, dim, norm, axis=axis)
    return along_two("rfft2", to_half, input, s, dim, axis, norm)


def irfft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `rfft2`.

    >>> import wengert
    >>> wengert.fft.irfft2(wengert.ones(2, 2))
    tensor([[1., 0.],
            [0., 0.]])
    """
    if out is not None:
        return write_out(irfft2, out, input, s, dim, norm, axis=axis)
    return along_two("irfft2", to_real, input, s, dim, axis, norm)


def hfft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """`hfftn` along two dimensions.

    >>> import wengert
    >>> wengert.fft.hfft2(wengert.ones(2, 2))
    tensor([[4., 0.],
            [0., 0.]])
    """
    if out is not None:
        return write_out(hfft2, out, input, s, dim, norm, axis=axis)
    return along_two("hfft2", hermitian_to_real, input, s, dim, axis, norm)


def ihfft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `hfft2`.

    >>> import wengert
    >>> wengert.fft.ihfft2(wengert.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    if out is not None:
        return write_out(ihfft2, out, input, s, dim, norm, axis=axis)
    return along_two("ihfft2", to_hermitian, input, s, dim, axis, norm)


def fftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, **options: Unpack[Options]
) -> Tensor:
    """The frequencies of the elements of `fft`, for samples at distance `d`.

    >>> import wengert
    >>> wengert.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _frequencies("fft_fftfreq", n, d, out, options, _signed_frequencies)


def rfftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, **options: Unpack[Options]
) -> Tensor:
    """The frequencies of the elements of `rfft`, for samples at distance `d`.

    >>> import wengert
    >>> wengert.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _frequencies("fft_rfftfreq", n, d, out, options, np.arange, half=True)


def _signed_frequencies(n: int) -> np.ndarray:
    """The numbers of the frequencies: the second half of them is negative."""
    return (np.arange(n) + n // 2) % max(n, 1) - n // 2


def _frequencies(
    name: str, n: int, d: float, out: Tensor | None, options: Options,
    numbers: Callable[[int], np.ndarray], half: bool = False,
) -> Tensor:  # fmt: skip
    count = require_int(name, "n", n)
    dtype = dtype_of(name, options)
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{name} requires a floating point or complex dtype, got {dtype}")
    if dtype.category == dtypes.COMPLEX:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtype.short}'")
    if count < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {count}: [{count}] in {name}()"
        )

    length = count // 2 + 1 if half else count

    def make(shape: tuple[int, ...], to: np.dtype) -> np.ndarray:
        return (numbers(*shape) * np.divide(1.0, count * d)).astype(to)

    return finish(name, allocate(make, (length,), dtype, options), options, out)


def fftshift(input: Tensor, dim: Sizes = None, *, axis: Sizes = None) -> Tensor:
    """Move the zero frequency to the middle, along `dim` or all dimensions.

    >>> import wengert
    >>> wengert.fft.fftshift(wengert.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    if axis is not None:
        dim = either("fftshift", "dim", dim, axis, None)
    return _roll_dims("fft_fftshift", input, dim, 0)


def ifftshift(input: Tensor, dim: Sizes = None, *, axis: Sizes = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> import wengert
    >>> wengert.fft.ifftshift(wengert.tensor([-1, 0, 1]))
    tensor([ 0,  1, -1])
    """
    if axis is not None:
        dim = either("ifftshift", "dim", dim, axis, None)
    return _roll_dims("fft_ifftshift", input, dim, 1)


def _roll_dims(name: str, input: Tensor, dim: Sizes, up: int) -> Tensor:
    require_tensor(name, "input", input)
    axes = range(input.ndim) if dim is None else [axis_of(d, input.ndim) for d in numbers(dim)]
    shifts = [(input.shape[d] + up) // 2 for d in axes]
    return roll(input, tuple(shifts), tuple(axes))


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftfreq", "rfftn",
]  # fmt: skip

publish_module("torch.fft", __all__, globals())
