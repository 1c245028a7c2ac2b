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
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable, constant
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


def _converted(rank: int, *variables: Any) -> list[Any]:
    inputs = [as_tensor_variable(v) for v in variables]
    for what, x in zip(("first", "second"), inputs, strict=False):
        if x.ndim != rank + 2:
            where = f", made at {x.where()}" if x.where() else ""
            raise TypeError(
                f"a convolution takes {rank + 2}D tensors; the {what} one, {x}, is {x.type}{where}"
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
        x, w = _converted(self.window.rank, x, w)
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
        w, g = _converted(self.window.rank, w, g)
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
        x, g = _converted(self.window.rank, x, g)
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


def _convolved(rank: int, input: Any, filters: Any, border_mode: Any, subsample: Any,
               filter_flip: bool, filter_dilation: Any, groups: int) -> Any:  # fmt: skip
    window = Window(rank, border_mode, subsample, filter_dilation, filter_flip, groups)
    return AbstractConv(window)(input, filters)


def conv2d(input: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None,
           border_mode: Any = "valid", subsample: Any = (1, 1), filter_flip: bool = True,
           image_shape: Any = None, filter_dilation: Any = (1, 1), num_groups: int = 1,
           unshared: bool = False, **options: Any) -> Any:  # fmt: skip
    """Filters, mirrored unless `filter_flip` is False, laid over images.

    Args:
        input: images of (batch, channels, rows, columns).
        filters: of (outputs, channels, rows, columns).
        input_shape, filter_shape: what is known of the shapes; not needed.
        border_mode: "valid", "full", "half", or how many zeros stand around the images.
        subsample, filter_dilation: as `stride` and `dilation` elsewhere.

    >>> import numpy as np
    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> x, w = T.dtensor4(), T.dtensor4()
    >>> f = function([x, w], T.nnet.conv2d(x, w))
    >>> f(np.arange(3.0).reshape(1, 1, 1, 3), np.array([[[[1.0, 10.0]]]])).ravel()
    array([ 1., 12.])
    """
    if unshared:
        raise NotImplementedError("conv2d(unshared=True)")
    return _convolved(2, input, filters, border_mode, subsample, filter_flip, filter_dilation,
                      num_groups)  # fmt: skip


def conv3d(input: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None,
           border_mode: Any = "valid", subsample: Any = (1, 1, 1), filter_flip: bool = True,
           filter_dilation: Any = (1, 1, 1), num_groups: int = 1) -> Any:  # fmt: skip
    """As `conv2d`, with three spatial dimensions."""
    return _convolved(3, input, filters, border_mode, subsample, filter_flip, filter_dilation,
                      num_groups)  # fmt: skip


def conv2d_grad_wrt_inputs(output_grad: Any, filters: Any, input_shape: Any,
                           filter_shape: Any = None, border_mode: Any = "valid",
                           subsample: Any = (1, 1), filter_flip: bool = True,
                           filter_dilation: Any = (1, 1), num_groups: int = 1,
                           unshared: bool = False) -> Any:  # fmt: skip
    """The gradient of the images of `conv2d`; also the transposed convolution."""
    window = Window(2, border_mode, subsample, filter_dilation, filter_flip, num_groups)
    sizes = [as_tensor_variable(n) for n in input_shape[-2:]] if isinstance(
        input_shape, list | tuple) else input_shape  # fmt: skip
    return AbstractConvInputs(window)(filters, output_grad, sizes)


def conv2d_grad_wrt_weights(input: Any, output_grad: Any, filter_shape: Any,
                            input_shape: Any = None, border_mode: Any = "valid",
                            subsample: Any = (1, 1), filter_flip: bool = True,
                            filter_dilation: Any = (1, 1), num_groups: int = 1,
                            unshared: bool = False) -> Any:  # fmt: skip
    """The gradient of the filters of `conv2d`."""
    window = Window(2, border_mode, subsample, filter_dilation, filter_flip, num_groups)
    return AbstractConvWeights(window)(input, output_grad, filter_shape)


def conv2d_transpose(input: Any, filters: Any, output_shape: Any, filter_shape: Any = None,
                     border_mode: Any = "valid", input_dilation: Any = (1, 1),
                     filter_flip: bool = True, filter_dilation: Any = (1, 1), num_groups: int = 1,
                     unshared: bool = False) -> Any:  # fmt: skip
    """The transposed convolution: `input_dilation` is the step of the convolution it transposes."""
    return conv2d_grad_wrt_inputs(
        input, filters, output_shape, filter_shape, border_mode, input_dilation, filter_flip,
        filter_dilation, num_groups,
    )  # fmt: skip


def separable_conv2d(input: Any, depthwise_filters: Any, pointwise_filters: Any,
                     num_channels: int, input_shape: Any = None,
                     depthwise_filter_shape: Any = None, pointwise_filter_shape: Any = None,
                     border_mode: Any = "valid", subsample: Any = (1, 1),
                     filter_flip: bool = True, filter_dilation: Any = (1, 1)) -> Any:  # fmt: skip
    """A convolution of each channel, and then one of single points."""
    out = conv2d(
        input, depthwise_filters, border_mode=border_mode, subsample=subsample,
        filter_flip=filter_flip, filter_dilation=filter_dilation, num_groups=num_channels,
    )  # fmt: skip
    return conv2d(out, pointwise_filters, filter_flip=filter_flip)


class _Adjoint:
    """A convolution's adjoint as programs make it: with a window, then called with variables."""

    rank = 2
    operation: Any = AbstractConvInputs

    def __init__(self, imshp: Any = None, kshp: Any = None, border_mode: Any = "valid",
                 subsample: Any = 1, filter_flip: bool = True, filter_dilation: Any = 1,
                 num_groups: int = 1, unshared: bool = False) -> None:  # fmt: skip
        self.window = Window(self.rank, border_mode, subsample, filter_dilation, filter_flip,
                             num_groups)  # fmt: skip

    def __call__(self, first: Any, gradient: Any, shape: Any, add_assert_shape: bool = True) -> Any:
        return self.operation(self.window)(first, gradient, shape)


class AbstractConv2d_gradInputs(_Adjoint):  # noqa: N801
    """The adjoint in images: called with filters, gradient and size."""


class AbstractConv2d_gradWeights(_Adjoint):  # noqa: N801
    """The adjoint in filters: called with images, gradient and size."""

    operation = AbstractConvWeights


class AbstractConv3d_gradInputs(_Adjoint):  # noqa: N801
    """The adjoint in volumes."""

    rank = 3


class AbstractConv3d_gradWeights(_Adjoint):  # noqa: N801
    """The adjoint in filters of volumes."""

    rank = 3
    operation = AbstractConvWeights


def bilinear_kernel_1D(ratio: int, normalize: bool = True) -> Any:  # noqa: N802
    """The weights of linear interpolation at every `ratio`-th point."""
    steps = np.concatenate([np.arange(1, ratio), np.arange(ratio, 0, -1)]).astype(np.float64)
    return constant(steps / ratio if normalize else steps, dtype="floatX")


def bilinear_kernel_2D(ratio: int, normalize: bool = True) -> Any:  # noqa: N802
    """The weights of bilinear interpolation."""
    row = bilinear_kernel_1D(ratio, normalize)
    return row.dimshuffle(0, "x") * row.dimshuffle("x", 0)
