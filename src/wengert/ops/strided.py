"""Windows of memory: how the history of a view follows from that of its root.

Offset, shape and strides count elements of the root's memory. A cotangent is laid out as
the root is before a window is taken of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wengert.ops._declare import multilinear

Geometry = tuple[int, tuple[int, ...], tuple[int, ...]]


def _window(array: np.ndarray, geometry: Geometry) -> np.ndarray:
    """The elements that the geometry names, of an array laid out as the root."""
    offset, shape, strides = geometry
    size = array.itemsize
    flat = np.lib.stride_tricks.as_strided(array, (array.size,), (size,))
    return as_strided(flat[offset:], shape, tuple(s * size for s in strides))


def _as_root(g: np.ndarray, layout: tuple[int, ...]) -> np.ndarray:
    """A copy of `g` in dense memory whose axes lie in the order of the root's strides."""
    order = sorted(range(g.ndim), key=lambda d: -layout[d])
    dense = np.empty([g.shape[d] for d in order], g.dtype).transpose(np.argsort(order))
    dense[...] = g
    return dense


@multilinear(
    input=lambda g, input_shape, geometry, layout: _window_adjoint(
        g, input_shape, geometry, layout
    ),
    view=True,
    label="AsStridedBackward0",
)
def _window_of(input, geometry, layout):
    return _window(input, geometry)


@multilinear(g=lambda g, geometry, layout: _window_copy(g, geometry, layout))
def _window_adjoint(g, shape, geometry, layout):
    dense = _as_root(np.zeros(shape, g.dtype), layout)
    np.add.at(_window(dense, geometry), ..., g) if _overlaps(geometry) else _put(dense, geometry, g)
    return dense


@multilinear(
    input=lambda g, input_shape, geometry, layout: _window_adjoint(
        g, input_shape, geometry, layout
    ),
)
def _window_copy(input, geometry, layout):
    return _window(_as_root(input, layout), geometry).copy()


@multilinear(
    input=lambda g, geometry, layout: _blank(g, geometry, layout),
    src=lambda g, geometry, layout: _window_copy(g, geometry, layout),
    label="CopySlices",
)
def _scatter(input, src, geometry, layout):
    out = _as_root(input, layout)
    _window(out, geometry)[...] = src
    return out


@multilinear(g=lambda g, geometry, layout: _blank(g, geometry, layout))
def _blank(g, geometry, layout):
    out = _as_root(g, layout)
    _window(out, geometry)[...] = 0
    return out


def _put(dense: np.ndarray, geometry: Geometry, g: np.ndarray) -> None:
    _window(dense, geometry)[...] = g


def _overlaps(geometry: Geometry) -> bool:
    """Whether two indices may name one element (expanded or unfolded windows)."""
    _, shape, strides = geometry
    reach = 1
    for stride, n in sorted(zip(strides, shape, strict=True)):
        if n > 1:
            if stride < reach:
                return True
            reach = stride * (n - 1) + reach
    return False


def as_strided_view(root: Any, geometry: Geometry) -> Any:
    """A view of the root with this geometry, recorded as one."""
    return _window_of(root, geometry, root._array.strides)


def as_strided_scatter(root: Any, src: Any, geometry: Geometry) -> Any:
    """The root with `src` in the place of the window."""
    return _scatter(root, src, geometry, root._array.strides)

__all__: list[str] = []
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
