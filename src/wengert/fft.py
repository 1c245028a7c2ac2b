"""wengert.fft: discrete Fourier transforms, as `torch.fft`."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, Unpack

import numpy as np

from wengert.core import dtypes
from wengert.core.fronts import publish_module
from wengert.core.tensor import Tensor
from wengert.kernels.axes import axis_of
from wengert.ops.complexes import conj
from wengert.ops.expansion import roll
from wengert.ops.fourier import (
    ADJOINT,
    Axes,
    as_complex,
    check_norm,
    check_points,
    half_to_real,
    in_floats,
    real_to_half,
    resized,
    transform,
)
from wengert.ops.numpy_names import either
from wengert.tensor.arguments import (
    Options,
    allocate,
    dtype_of,
    finish,
    require_int,
    require_tensor,
)

Sizes = int | tuple[int, ...] | list[int] | None


def fft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
) -> Tensor:
    """Discrete Fourier transform along one dimension, cut or zero-padded to length `n`.

    `norm` says where the factor 1/n is: "backward" (in the inverse), "forward", or "ortho" (half
    of it in both). Integers are transformed in the default dtype.

    >>> import wengert
    >>> wengert.fft.fft(wengert.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _along_one("fft", _whole(False), input, n, dim, axis, norm)


def ifft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
) -> Tensor:
    """The inverse of `fft`.

    >>> import wengert
    >>> wengert.fft.ifft(wengert.tensor([4.0, 0.0, 0.0, 0.0])).real
    tensor([1., 1., 1., 1.])
    """
    return _along_one("ifft", _whole(True), input, n, dim, axis, norm)


def rfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
) -> Tensor:
    """`fft` of a real tensor, without the half that repeats the other: n // 2 + 1 elements.

    >>> import wengert
    >>> wengert.fft.rfft(wengert.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return _along_one("rfft", _to_half, input, n, dim, axis, norm)


def irfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
) -> Tensor:
    """The inverse of `rfft`; without `n` the result has an even length.

    >>> import wengert
    >>> wengert.fft.irfft(wengert.tensor([10 + 0j, -2 + 2j, -2 + 0j]))
    tensor([1., 2., 3., 4.])
    """
    return _along_one("irfft", _to_real, input, n, dim, axis, norm)


def hfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
) -> Tensor:
    """`fft` of a signal that is Hermitian in time, of which `input` is the first half: real.

    >>> import wengert
    >>> wengert.fft.hfft(wengert.tensor([1.0, 2.0, 3.0]))
    tensor([ 8., -2.,  0., -2.])
    """
    return _along_one("hfft", _hermitian_to_real, input, n, dim, axis, norm)


def ihfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    axis: int | None = None,
) -> Tensor:
    """The inverse of `hfft`: the first half of the inverse transform of a real signal.

    >>> import wengert
    >>> wengert.fft.ihfft(wengert.tensor([8.0, -2.0, 0.0, -2.0]))
    tensor([1.-0.j, 2.-0.j, 3.-0.j])
    """
    return _along_one("ihfft", _to_hermitian, input, n, dim, axis, norm)


def fftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """`fft` along several dimensions, cut or padded to lengths `s` (-1 leaves one as it is).

    Without `dim` along the last ones, as many as `s` has, or along all.

    >>> import wengert
    >>> wengert.fft.fftn(wengert.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _along_several("fftn", _whole(False), input, s, dim, axis, norm)


def ifftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """The inverse of `fftn`.

    >>> import wengert
    >>> wengert.fft.ifftn(wengert.ones(2, 2))
    tensor([[1.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _along_several("ifftn", _whole(True), input, s, dim, axis, norm)


def rfftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """`fftn` of a real tensor, without the half that repeats along the last of `dim`.

    >>> import wengert
    >>> wengert.fft.rfftn(wengert.ones(2, 3))
    tensor([[6.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _along_several("rfftn", _to_half, input, s, dim, axis, norm)


def irfftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """The inverse of `rfftn`; `s` has the lengths of the result.

    >>> import wengert
    >>> wengert.fft.irfftn(wengert.ones(2, 2))
    tensor([[1., 0.],
            [0., 0.]])
    """
    return _along_several("irfftn", _to_real, input, s, dim, axis, norm)


def hfftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """`hfft` along the last of `dim` and `fft` along the others.

    >>> import wengert
    >>> wengert.fft.hfftn(wengert.ones(2, 2))
    tensor([[4., 0.],
            [0., 0.]])
    """
    return _along_several("hfftn", _hermitian_to_real, input, s, dim, axis, norm)


def ihfftn(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = None,
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """The inverse of `hfftn`.

    >>> import wengert
    >>> wengert.fft.ihfftn(wengert.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    return _along_several("ihfftn", _to_hermitian, input, s, dim, axis, norm)


def fft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """`fftn` along two dimensions.

    >>> import wengert
    >>> wengert.fft.fft2(wengert.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _along_two("fft2", _whole(False), input, s, dim, axis, norm)


def ifft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """The inverse of `fft2`.

    >>> import wengert
    >>> wengert.fft.ifft2(wengert.ones(2, 2))
    tensor([[1.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _along_two("ifft2", _whole(True), input, s, dim, axis, norm)


def rfft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """`rfftn` along two dimensions.

    >>> import wengert
    >>> wengert.fft.rfft2(wengert.ones(2, 3))
    tensor([[6.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _along_two("rfft2", _to_half, input, s, dim, axis, norm)


def irfft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """The inverse of `rfft2`.

    >>> import wengert
    >>> wengert.fft.irfft2(wengert.ones(2, 2))
    tensor([[1., 0.],
            [0., 0.]])
    """
    return _along_two("irfft2", _to_real, input, s, dim, axis, norm)


def hfft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """`hfftn` along two dimensions.

    >>> import wengert
    >>> wengert.fft.hfft2(wengert.ones(2, 2))
    tensor([[4., 0.],
            [0., 0.]])
    """
    return _along_two("hfft2", _hermitian_to_real, input, s, dim, axis, norm)


def ihfft2(
    input: Tensor,
    s: Sizes = None,
    dim: Sizes = (-2, -1),
    norm: str | None = None,
    *,
    axis: Sizes = None,
) -> Tensor:
    """The inverse of `hfft2`.

    >>> import wengert
    >>> wengert.fft.ihfft2(wengert.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    return _along_two("ihfft2", _to_hermitian, input, s, dim, axis, norm)


# A transform of a checked tensor: name, dimensions from the last, lengths (None: as they are),
# norm. The lengths are those of the larger side, be it the input or the result.
Transform = Callable[[str, Tensor, Axes, list[int | None], str], Tensor]


def _whole(inverse: bool) -> Transform:
    def run(name: str, x: Tensor, dim: Axes, sizes: list[int | None], norm: str) -> Tensor:
        return transform(_resize_to(name, x, dim, sizes), dim, norm, inverse)

    return run


def _to_half(name: str, x: Tensor, dim: Axes, sizes: list[int | None], norm: str) -> Tensor:
    _check_any(name, dim)
    if x._array.dtype.kind == "c":
        kind = dtypes.of_numpy[x._array.dtype].short
        raise RuntimeError(f"{name} expects a real input tensor, but got {kind}")
    return real_to_half(_resize_to(name, x, dim, sizes), dim, norm)


def _to_real(name: str, x: Tensor, dim: Axes, sizes: list[int | None], norm: str) -> Tensor:
    _check_any(name, dim)
    last = sizes[-1]
    n = check_points(2 * (x.shape[dim[-1]] - 1) if last is None else last, name)
    halved = [*sizes[:-1], None if last is None else n // 2 + 1]
    return half_to_real(as_complex(_resize_to(name, x, dim, halved)), dim, n, norm)


def _hermitian_to_real(
    name: str, x: Tensor, dim: Axes, sizes: list[int | None], norm: str
) -> Tensor:
    return _to_real(name, conj(x), dim, sizes, ADJOINT[norm])


def _to_hermitian(name: str, x: Tensor, dim: Axes, sizes: list[int | None], norm: str) -> Tensor:
    return conj(_to_half(name, x, dim, sizes, ADJOINT[norm]))


def _check_any(name: str, dim: Axes) -> None:
    if not dim:
        raise RuntimeError(f"{name} must transform at least one axis")


def _resize_to(name: str, x: Tensor, dim: Axes, sizes: list[int | None]) -> Tensor:
    shape = x.shape
    requested = [shape[d] if n is None else n for d, n in zip(dim, sizes, strict=True)]
    for n in requested:
        check_points(n, name)
    return resized(x, dim, requested)


def _along_one(
    name: str,
    run: Transform,
    input: Tensor,
    n: int | None,
    dim: int,
    axis: int | None,
    norm: str | None,
) -> Tensor:
    dim = either(name, "dim", dim, axis, -1)
    name = f"fft_{name}"
    require_tensor(name, "input", input)
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions in {name}()")
    last = axis_of(dim, input.ndim) - input.ndim
    size = None if n is None else require_int(name, "n", n, 2)
    return run(name, in_floats(input), (last,), [size], check_norm(norm, name))


def _along_two(
    name: str, run: Transform, input: Tensor, s: Sizes, dim: Sizes, axis: Sizes, norm: str | None
) -> Tensor:
    dim = either(name, "dim", dim, axis, (-2, -1))
    return _along_several(name, run, input, s, dim, None, norm)


def _along_several(
    name: str, run: Transform, input: Tensor, s: Sizes, dim: Sizes, axis: Sizes, norm: str | None
) -> Tensor:
    dim = either(name, "dim", dim, axis, None)
    name = f"fft_{name}"
    require_tensor(name, "input", input)
    rank = input.ndim
    sizes = None if s is None else _numbers(s)
    if dim is not None:
        axes = tuple([_last(d, rank) for d in _numbers(dim)])
        if len(set(axes)) < len(axes):
            raise RuntimeError(f"FFT dims must be unique; {name}() got dim={dim}")
        if sizes is not None and len(sizes) != len(axes):
            raise RuntimeError(
                f"When given, dim and shape arguments must have the same length; {name}() got"
                f" dim={dim} and s={s}"
            )
    else:
        count = rank if sizes is None else len(sizes)
        if count > rank:
            raise RuntimeError(
                f"Got shape with {count} values but input tensor only has {rank} dimensions"
                f" in {name}()."
            )
        axes = tuple(range(-count, 0))
    lengths: list[int | None] = [None] * len(axes)
    if sizes is not None:
        lengths = [None if n == -1 else n for n in sizes]
    return run(name, in_floats(input), axes, lengths, check_norm(norm, name))


def _numbers(value: Any) -> list[int]:
    return [index(v) for v in (value if isinstance(value, tuple | list) else (value,))]


def _last(dim: int, rank: int) -> int:
    if not rank:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return axis_of(dim, rank) - rank


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
    axes = range(input.ndim) if dim is None else [axis_of(d, input.ndim) for d in _numbers(dim)]
    shifts = [(input.shape[d] + up) // 2 for d in axes]
    return roll(input, tuple(shifts), tuple(axes))


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftfreq", "rfftn",
]  # fmt: skip

publish_module("torch.fft", __all__, globals())
