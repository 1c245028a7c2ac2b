"""Convolutions and their two adjoints, which are each other's derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert import kernels
from wengert.kernels.geometry import Geometry
from wengert.symbolic.dtypes import upcast
from wengert.symbolic.expressions.arithmetic import cast
from wengert.symbolic.expressions.elemwise import rebroadcast
from wengert.symbolic.expressions.shapes import MakeVector, as_shape, shape_i
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, disconnected

Border = str | tuple[Any, ...]


class Window:
    """How filters are laid over images.

    Attributes:
        border: "valid", "full", "half", or the zeros around images in each direction.
        step: how far a filter moves; `dilation`: how far its elements are apart.
        flip: whether filters are mirrored, as in a convolution, or not, as in a correlation.
    """

    def __init__(
        self, rank: int, border_mode: Any, subsample: Any, filter_dilation: Any, flip: bool,
        groups: int = 1,
    ) -> None:  # fmt: skip
        self.rank, self.flip, self.groups = rank, bool(flip), groups
        self.step = _numbers("subsample", subsample, rank)
        self.dilation = _numbers("filter_dilation", filter_dilation, rank)
        self.border = _border(border_mode, rank)

    def key(self) -> Any:
        """Equal for equal windows."""
        return self.rank, self.border, self.step, self.dilation, self.flip, self.groups

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Window) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def geometry(self, kernel: tuple[int, ...]) -> Geometry:
        """For filters of a size."""
        return _geometry(self.border, self.step, self.dilation, self.groups, kernel)

    def turned(self, w: np.ndarray) -> np.ndarray:
        """Filters, mirrored if they are to be."""
        if not self.flip:
            return w
        return np.ascontiguousarray(
            w[(slice(None), slice(None), *[slice(None, None, -1)] * self.rank)]
        )

    def __repr__(self) -> str:
        return f"border_mode={self.border!r}, subsample={self.step}, filter_flip={self.flip}"


@lru_cache(1024)
def _geometry(border: Border, step: Any, dilation: Any, groups: int, kernel: Any) -> Geometry:
    extents = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    if border == "valid":
        pads: Any = [(0, 0)] * len(kernel)
    elif border == "full":
        pads = [(e - 1, e - 1) for e in extents]
    elif border == "half":
        pads = [(e // 2, e // 2) for e in extents]
    else:
        pads = border
    return Geometry(step, tuple(pads), dilation, groups)


def _numbers(name: str, value: Any, rank: int) -> tuple[int, ...]:
    numbers = (value,) * rank if isinstance(value, int | np.integer) else tuple(value)
    if len(numbers) != rank:
        raise ValueError(f"{name} must have {rank} elements, got {value!r}")
    return tuple(int(n) for n in numbers)


def _border(mode: Any, rank: int) -> Border:
    if isinstance(mode, str):
        if mode == "same":
            mode = "half"
        if mode not in ("valid", "full", "half"):
            raise ValueError(
                f"invalid border_mode {mode!r}, which must be either 'valid', 'full', 'half', an"
                f" integer or a tuple of {rank} integers"
            )
        return str(mode)
    sides = (mode,) * rank if isinstance(mode, int | np.integer) else tuple(mode)
    if len(sides) != rank:
        raise ValueError(f"invalid border_mode {mode!r}: it has to have {rank} elements")
    pairs = [(s, s) if isinstance(s, int | np.integer) else tuple(s) for s in sides]
    if any(len(p) != 2 or min(p) < 0 for p in pairs):
        raise ValueError(f"invalid border_mode {mode!r}. The tuple can only contain integers >= 0")
    return tuple((int(a), int(b)) for a, b in pairs)


def converted(ranks: tuple[int, ...], *variables: Any) -> list[Any]:
    """Variables of some numbers of dimensions, or TypeError, in the dtype that holds them all."""
    inputs = [as_tensor_variable(v) for v in variables]
    for what, x, rank in zip(("first", "second"), inputs, ranks, strict=True):
        if x.ndim != rank:
            where = f", made at {x.where()}" if x.where() else ""
            raise TypeError(
                f"a convolution of {ranks[0]}D tensors and {ranks[1]}D tensors: the {what} of its"
                f" inputs must be {rank}D, and {x} is {x.type}{where}"
            )
    dtype = upcast(*[x.dtype for x in inputs])
    return [cast(x, dtype) for x in inputs]


class _Convolution(Operation):
    """What the three operations have in common."""

    __props__ = ("window",)

    def __init__(self, window: Window) -> None:
        self.window = window

    def _results(self, inputs: Sequence[Any], first: bool, second: bool, sizes: Sequence[Any]
                 ) -> Apply:  # fmt: skip
        pattern = (first, second, *[False] * self.window.rank)
        return Apply(self, [*inputs, *sizes], [TensorType(inputs[0].dtype, pattern)()])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Sizes have no gradient."""
        return [[True], [True], [False]][: node.nin]


class AbstractConv(_Convolution):
    """Filters, laid over images: ``(images, filters)``."""

    def make_node(self, x: Any, w: Any) -> Apply:
        """Images of (batch, channels, ...) and filters of (outputs, channels, ...)."""
        x, w = converted((self.window.rank + 2,) * 2, x, w)
        return self._results([x, w], x.broadcastable[0], w.broadcastable[0], [])

    def compute(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The library's convolution."""
        if x.shape[1] != w.shape[1] * self.window.groups:
            raise ValueError(
                f"images have {x.shape[1]} channels (shape {x.shape}), filters are for"
                f" {w.shape[1] * self.window.groups} (shape {w.shape})"
            )
        geometry = self.window.geometry(w.shape[2:])
        return _contiguous(kernels.conv.forward(x, self.window.turned(w), geometry, None))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The two adjoints."""
        (x, w), (g,) = inputs, output_gradients
        rank = self.window.rank
        sizes = [MakeVector()(*[shape_i(v, d) for d in range(2, rank + 2)]) for v in (x, w)]
        of_x = AbstractConvInputs(self.window)(w, g, sizes[0])
        of_w = AbstractConvWeights(self.window)(x, g, sizes[1])
        return [rebroadcast(of_x, x.broadcastable), rebroadcast(of_w, w.broadcastable)]


class AbstractConvInputs(_Convolution):
    """The adjoint in images: ``(filters, output gradient, image size)``."""

    def make_node(self, w: Any, g: Any, size: Any) -> Apply:
        """`size` has the lengths of the images' spatial dimensions."""
        w, g = converted((self.window.rank + 2,) * 2, w, g)
        channels = w.broadcastable[1] and self.window.groups == 1
        return self._results([w, g], g.broadcastable[0], channels, [as_shape(size)])

    def compute(self, w: np.ndarray, g: np.ndarray, size: np.ndarray) -> np.ndarray:
        """The library's."""
        geometry = self.window.geometry(w.shape[2:])
        lengths = tuple(int(n) for n in size[-self.window.rank :])
        expected = geometry.out_size(lengths, w.shape[2:])
        if tuple(expected) != g.shape[2:]:
            raise ValueError(
                f"images of {lengths} give an output of {tuple(expected)}, the gradient has"
                f" {g.shape[2:]}"
            )
        return _contiguous(
            kernels.conv.grad_input(g, self.window.turned(w), lengths, geometry, None)
        )

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The convolution, and the adjoint in filters."""
        (w, g, _), (cotangent,) = inputs, output_gradients
        kernel = MakeVector()(*[shape_i(w, d) for d in range(2, self.window.rank + 2)])
        of_w = AbstractConvWeights(self.window)(cotangent, g, kernel)
        of_g = AbstractConv(self.window)(cotangent, w)
        return [
            rebroadcast(of_w, w.broadcastable), rebroadcast(of_g, g.broadcastable), disconnected()
        ]  # fmt: skip


class AbstractConvWeights(_Convolution):
    """The adjoint in filters: ``(images, output gradient, filter size)``."""

    def make_node(self, x: Any, g: Any, size: Any) -> Apply:
        """`size` has the lengths of the filters' spatial dimensions."""
        x, g = converted((self.window.rank + 2,) * 2, x, g)
        channels = x.broadcastable[1] and self.window.groups == 1
        return self._results([x, g], g.broadcastable[1], channels, [as_shape(size)])

    def compute(self, x: np.ndarray, g: np.ndarray, size: np.ndarray) -> np.ndarray:
        """The library's."""
        kernel = tuple(int(n) for n in size[-self.window.rank :])
        geometry = self.window.geometry(kernel)
        return self.window.turned(_contiguous(kernels.conv.grad_weight(g, x, kernel, geometry)))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The adjoint in images, and the convolution."""
        (x, g, _), (cotangent,) = inputs, output_gradients
        size = MakeVector()(*[shape_i(x, d) for d in range(2, self.window.rank + 2)])
        of_x = AbstractConvInputs(self.window)(cotangent, g, size)
        of_g = AbstractConv(self.window)(x, cotangent)
        return [
            rebroadcast(of_x, x.broadcastable), rebroadcast(of_g, g.broadcastable), disconnected()
        ]  # fmt: skip


def _contiguous(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x)
