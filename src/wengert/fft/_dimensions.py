"""Transforms along the dimensions that a function of `fft` is given."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from wengert.core import dtypes
from wengert.core.tensor import Tensor
from wengert.kernels.axes import axis_of
from wengert.ops.complexes import conj
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
from wengert.tensor.arguments import require_int, require_tensor

Sizes = int | tuple[int, ...] | list[int] | None

# A transform of a checked tensor: name, dimensions from the last, lengths (None: as they are),
# norm. The lengths are those of the larger side, be it the input or the result.
Transform = Callable[[str, Tensor, Axes, list[int | None], str], Tensor]


def whole(inverse: bool) -> Transform:
    """A transform with as many complex results as points."""

    def run(name: str, x: Tensor, dim: Axes, sizes: list[int | None], norm: str) -> Tensor:
        return transform(_resize_to(name, x, dim, sizes), dim, norm, inverse)

    return run


def to_half(name: str, x: Tensor, dim: Axes, sizes: list[int | None], norm: str) -> Tensor:
    """Of a real tensor: half of the last dimension of the result."""
    _check_any(name, dim)
    if x._outline.dtype.kind == "c":
        kind = dtypes.of_numpy[x._outline.dtype].short
        raise RuntimeError(f"{name} expects a real input tensor, but got {kind}")
    return real_to_half(_resize_to(name, x, dim, sizes), dim, norm)


def to_real(name: str, x: Tensor, dim: Axes, sizes: list[int | None], norm: str) -> Tensor:
    """The inverse of `to_half`, with the factor for `norm`."""
    _check_any(name, dim)
    last = sizes[-1]
    n = check_points(2 * (x.shape[dim[-1]] - 1) if last is None else last, name)
    halved = [*sizes[:-1], None if last is None else n // 2 + 1]
    return half_to_real(as_complex(_resize_to(name, x, dim, halved)), dim, n, norm)


def hermitian_to_real(
    name: str, x: Tensor, dim: Axes, sizes: list[int | None], norm: str
) -> Tensor:
    """As `to_real`, in the other direction of time."""
    return to_real(name, conj(x), dim, sizes, ADJOINT[norm])


def to_hermitian(name: str, x: Tensor, dim: Axes, sizes: list[int | None], norm: str) -> Tensor:
    """The inverse of `hermitian_to_real`."""
    return conj(to_half(name, x, dim, sizes, ADJOINT[norm]))


def _check_any(name: str, dim: Axes) -> None:
    if not dim:
        raise RuntimeError(f"{name} must transform at least one axis")


def _resize_to(name: str, x: Tensor, dim: Axes, sizes: list[int | None]) -> Tensor:
    shape = x.shape
    requested = [shape[d] if n is None else n for d, n in zip(dim, sizes, strict=True)]
    for n in requested:
        check_points(n, name)
    return resized(x, dim, requested)


def along_one(
    name: str,
    run: Transform,
    input: Tensor,
    n: int | None,
    dim: int,
    axis: int | None,
    norm: str | None,
) -> Tensor:
    """A transform along one dimension, after checks of the arguments."""
    dim = either(name, "dim", dim, axis, -1)
    name = f"fft_{name}"
    require_tensor(name, "input", input)
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions in {name}()")
    last = axis_of(dim, input.ndim) - input.ndim
    size = None if n is None else require_int(name, "n", n, 2)
    return run(name, in_floats(input), (last,), [size], check_norm(norm, name))


def along_two(
    name: str, run: Transform, input: Tensor, s: Sizes, dim: Sizes, axis: Sizes, norm: str | None
) -> Tensor:
    """A transform along two dimensions."""
    dim = either(name, "dim", dim, axis, (-2, -1))
    return along_several(name, run, input, s, dim, None, norm)


def along_several(
    name: str, run: Transform, input: Tensor, s: Sizes, dim: Sizes, axis: Sizes, norm: str | None
) -> Tensor:
    """A transform along several dimensions, after checks of the arguments."""
    dim = either(name, "dim", dim, axis, None)
    name = f"fft_{name}"
    require_tensor(name, "input", input)
    rank = input.ndim
    sizes = None if s is None else numbers(s)
    if dim is not None:
        axes = tuple([_last(d, rank) for d in numbers(dim)])
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


def numbers(value: Any) -> list[int]:
    """One number, or several, as a list."""
    return [index(v) for v in (value if isinstance(value, tuple | list) else (value,))]


def _last(dim: int, rank: int) -> int:
    if not rank:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return axis_of(dim, rank) - rank
