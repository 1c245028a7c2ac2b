"""The gradient of a sampled function, by finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.tensor import Tensor, memory_of
from wengert.kernels.axes import axis_of
from wengert.ops.joining import cat
from wengert.ops.numpy_names import either
from wengert.ops.variadic import require_tensor


def gradient(
    input: Tensor,
    *,
    spacing: Any = 1,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
    axis: int | Sequence[int] | None = None,
) -> tuple[Tensor, ...]:
    """Derivatives along dimensions (all of them by default), from neighbouring elements.

    Args:
        spacing: the distance between neighbours, 1 for None; or for each dimension a distance or
            the points themselves as a vector.
        edge_order: the order of accuracy at the boundary, 1 or 2.

    >>> import wengert
    >>> wengert.gradient(wengert.tensor([1.0, 4.0, 9.0, 16.0]), edge_order=2)
    (tensor([2., 4., 6., 8.]),)
    """
    if axis is not None:
        dim = either("gradient", "dim", dim, axis, None)
    require_tensor("gradient", "input", input)
    dims = _dims(input, dim)
    steps = _steps(input, spacing, dims, dim is None)
    kind = memory_of(input).dtype
    if kind == np.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError(
            f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}"
        )
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1, got"
                f" {input.shape[d]} in dimension {d} for edge_order={edge_order}"
            )
    if kind not in dtypes.inexact:
        input = input.to(dtypes.defaults.dtype)
    return tuple([_slope(input, h, d, edge_order) for h, d in zip(steps, dims, strict=True)])


def _dims(input: Tensor, dim: Any) -> list[int]:
    if dim is None:
        return list(range(input.ndim))
    dims = [axis_of(d, input.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims


def _steps(input: Tensor, spacing: Any, dims: list[int], every: bool) -> list[Any]:
    """For each dimension the distance between points, or the points."""
    if not isinstance(spacing, (list, tuple)):
        return [1 if spacing is None else spacing] * len(dims)
    if len(spacing) != len(dims):
        why = "dim argument was not given" if every else "dim argument was given"
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal"
            f" to the number of dimensions, {len(dims)}, since {why}, but got a list of length"
            f" {len(spacing)}"
        )
    for x, d in zip(spacing, dims, strict=True):
        if isinstance(x, Tensor) and x.ndim and x.shape != (input.shape[d],):
            raise RuntimeError(
                f"torch.gradient expected as many points in spacing as elements, {input.shape[d]}"
                f" in dimension {d}, but got shape {list(x.shape)}"
            )
    return list(spacing)


def _slope(input: Tensor, spacing: Any, d: int, edge_order: int) -> Tensor:
    n = input.shape[d]

    def at(start: int, count: int = 1) -> Tensor:
        return input.narrow(d, start % n, count)

    if isinstance(spacing, Tensor) and spacing.ndim:
        gaps = spacing.diff().reshape((-1,) + (1,) * (input.ndim - d - 1))
    else:
        gaps = None

    def gap(start: int, count: int = 1) -> Any:
        return spacing if gaps is None else gaps.narrow(0, start % (n - 1), count)

    pieces = [_edge(at(0), at(1), at(2), gap(0), gap(1), 1) if edge_order == 2
             else (at(1) - at(0)) / gap(0)]  # fmt: skip
    if n > 2:
        a, b = gap(0, n - 2), gap(1, n - 2)
        before, middle, after = at(0, n - 2), at(1, n - 2), at(2, n - 2)
        if gaps is None:
            pieces.append((after - before) / (2 * spacing))
        else:  # the slope, in the middle of three points, of the parabola through them
            pieces.append(
                after * (a / (b * (a + b))) + middle * ((b - a) / (a * b))
                - before * (b / (a * (a + b)))
            )  # fmt: skip
    pieces.append(_edge(at(-1), at(-2), at(-3), gap(-1), gap(-2), -1) if edge_order == 2
                 else (at(-1) - at(-2)) / gap(-1))  # fmt: skip
    return cat(pieces, d)


def _edge(x: Tensor, y: Tensor, z: Tensor, a: Any, b: Any, sign: int) -> Tensor:
    """The slope at `x` of the parabola through three points at distances `a` and `b`."""
    slope: Tensor = (
        y * ((a + b) / (a * b)) - x * ((2 * a + b) / (a * (a + b))) - z * (a / (b * (a + b)))
    )
    return slope * sign


__all__ = ["gradient"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
