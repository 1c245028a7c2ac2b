"""Histograms in one dimension or several, with bins of any width."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.ops.checks import not_implemented
from wengert.ops.extrema import amax, amin
from wengert.ops.gathering import elements
from wengert.ops.masking import where
from wengert.ops.outputs import write_out
from wengert.ops.results import result_of
from wengert.ops.scan import diff
from wengert.ops.scatter import scatter_add
from wengert.ops.sort import searchsorted
from wengert.ops.variadic import require_tensor


def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: tuple[Tensor, ...] | None = None,
) -> Any:
    """Counts (or sums of `weight`) in bins, and the bins' edges.

    Args:
        bins: the number of equal-width bins, or the edges in ascending order. The last bin includes
            its right edge; values outside are not counted.
        range: the outer edges of equal-width bins. By default the input's minimum and maximum.
        density: divide by the sum and the widths: the integral is 1.

    >>> import wengert
    >>> wengert.histogram(wengert.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0)).hist
    tensor([0., 2., 1., 0.])
    """
    if out is not None:
        return write_out(histogram, out, input, bins, range=range, weight=weight, density=density)
    require_tensor("histogram", "input", input)
    if isinstance(bins, Tensor) and range is not None:
        raise TypeError(
            "histogram(): 'range' can only be given with a number of bins, not with their edges"
        )
    flat = None if weight is None else weight.reshape(-1)
    hist, edges = _histogram(input.reshape(-1, 1), [bins], range, flat, density)
    return result_of("histogram", hist, edges[0])


def histogramdd(
    input: Tensor,
    bins: Any,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Histogram of points, given by the input's last dimension, and the edges for each dimension.

    Args:
        bins: a number for all dimensions, or for each one a number or a tensor of edges.
        range: the outer edges of each dimension, one pair after the other.
        weight: the weight of each point; 1 by default.
        density: divide by the sum and the bins' volumes.

    >>> import wengert
    >>> points = wengert.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> wengert.histogramdd(points, [2, 2]).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    require_tensor("histogramdd", "input", input)
    if input.ndim < 2:
        raise RuntimeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, got {input.ndim}"
        )
    dims = input.shape[-1]
    bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(bins) != dims:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input,"
            f" got {len(bins)} and {dims}"
        )
    if weight is not None:
        if weight.shape != input.shape[:-1]:
            raise _wrong_weight(input, weight)
        weight = weight.reshape(-1)
    points = input.reshape(prod(input.shape[:-1]), dims)
    hist, edges = _histogram(points, bins, range, weight, density)
    return result_of("histogramdd", hist, tuple(edges))


def _wrong_weight(input: Tensor, weight: Tensor) -> RuntimeError:
    return RuntimeError(
        "torch.histogramdd: if weight tensor is provided it should have the same shape as the input"
        f" tensor excluding its innermost dimension, got input of shape {list(input.shape)} and"
        f" weight of shape {list(weight.shape)}"
    )


def _histogram(
    points: Tensor, bins: Sequence[Any], range: Any, weight: Tensor | None, density: bool
) -> tuple[Tensor, list[Tensor]]:
    if points._memoryless:
        elements("histogram", points)
    dtype = memory_of(points).dtype
    if dtype not in (np.float32, np.float64):
        raise not_implemented("histogramdd", memory_of(points))
    if range is not None and len(range) != 2 * len(bins):
        raise RuntimeError(
            f"torch.histogramdd: for a {len(bins)}-dimensional histogram range should have"
            f" {2 * len(bins)} elements, but got {len(range)}"
        )
    if weight is None:
        weight = wrap(np.ones(points.shape[0], dtype))
    elif weight.shape[0] != points.shape[0]:
        raise _wrong_weight(points, weight)
    elif memory_of(weight).dtype != dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should"
            f" have the same dtype, got input {points.dtype} and weight {weight.dtype}"
        )
    edges = []
    for d, count in enumerate(bins):
        if isinstance(count, Tensor):
            edges.append(_given_edges(count, dtype, d))
        else:
            pair = None if range is None else range[2 * d : 2 * d + 2]
            edges.append(_even_edges(points[:, d], count, pair, d))
    shape = [e.shape[0] - 1 for e in edges]
    cell, counted = _places(points, edges, shape)
    empty = wrap(np.zeros(prod(shape), dtype))
    hist = scatter_add(empty, 0, cell, weight * counted.to(weight.dtype)).reshape(shape)
    return (_as_density(hist, edges) if density else hist), edges


def _given_edges(edges: Tensor, dtype: np.dtype[Any], d: int) -> Tensor:
    if edges.ndim != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {edges.ndim}"
            f" dimensions in the bins tensor for dimension {d}"
        )
    if memory_of(edges).dtype != dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got"
            f" input with dtype {of_numpy[dtype]} and bins for dimension {d} with dtype"
            f" {edges.dtype}"
        )
    _check_count(edges.shape[0] - 1, d)
    return edges


def _check_count(bins: int, d: int) -> None:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension {d}")


def _even_edges(x: Tensor, bins: int, pair: Any, d: int) -> Tensor:
    """The edges of equal-width bins between two numbers, or over the range of the elements."""
    _check_count(bins, d)
    dtype = memory_of(x).dtype
    if pair is not None:
        low, high = (wrap(np.asarray(v, dtype)) for v in pair)
        if pair[0] > pair[1]:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {pair[0]} max {pair[1]}"
                f" for dimension {d}"
            )
    elif x.shape[0]:
        low, high = amin(x, 0), amax(x, 0)
    else:
        low, high = (wrap(np.asarray(v, dtype)) for v in (0, 1))
    ends = [memory_of(low), memory_of(high)]
    if not np.isfinite(ends).all():
        raise RuntimeError(
            f"torch.histogramdd: dimension {d}'s range [{ends[0]}, {ends[1]}] is not finite"
        )
    middle = low == high
    low, high = where(middle, low - 0.5, low), where(middle, high + 0.5, high)
    share = wrap(np.linspace(0, 1, bins + 1, dtype=dtype))
    return low * (1 - share) + high * share


def _places(points: Tensor, edges: list[Tensor], shape: list[int]) -> tuple[Tensor, Tensor]:
    """The flat bin number of each point (arbitrary if outside), and whether it is inside."""
    cell: Any = 0
    counted: Any = True
    for d, (edge, n) in enumerate(zip(edges, shape, strict=True)):
        x = points[:, d].contiguous()
        k = searchsorted(edge, x, right=True) - 1
        counted = (x >= edge[0]) & (x <= edge[-1]) & counted
        cell = cell * n + k.clamp(0, n - 1)
    return cell, counted


def _as_density(hist: Tensor, edges: list[Tensor]) -> Tensor:
    hist = hist / hist.sum()
    for d, edge in enumerate(edges):
        hist = hist / diff(edge).reshape((-1,) + (1,) * (len(edges) - d - 1))
    return hist


__all__ = ["histogram", "histogramdd"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("histogram",)
INPLACE: tuple[str, ...] = ()
