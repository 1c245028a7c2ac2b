"""Pooling: the largest or mean element of each window of the last dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from wengert.symbolic.expressions.arithmetic import maximum
from wengert.symbolic.expressions.elemwise import float_zeros, rebroadcast
from wengert.symbolic.expressions.shapes import ShapeError
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable, is_discrete
from wengert.symbolic.graph import Apply, Constant, Operation, Variable, disconnected


class Windows:
    """Windows over the last dimensions: their lengths, steps, padding, and what is at the border.

    With `ignore_border` windows that reach beyond the end are left out, otherwise they are shorter.
    """

    def __init__(self, size: Any, step: Any, pad: Any, ignore_border: bool) -> None:
        self.size, self.step, self.pad = tuple(size), tuple(step), tuple(pad)
        self.ignore_border = bool(ignore_border)
        self.rank = len(self.size)

    def key(self) -> Any:
        """Equal for equal windows."""
        return self.size, self.step, self.pad, self.ignore_border

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Windows) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def counts(self, lengths: Sequence[Any]) -> tuple[Any, ...]:
        """How many windows there are in each direction: expressions if the lengths are."""
        counts = []
        for n, w, s, p in zip(lengths, self.size, self.step, self.pad, strict=True):
            n = n + 2 * p
            most = maximum if isinstance(n, Variable) else max
            if self.ignore_border:
                counts.append(most(0, (n - w) // s + 1))
            elif s >= w:
                counts.append((n - 1) // s + 1)
            else:
                counts.append(most(0, (n - 1 - w + s) // s) + 1)
        return tuple(counts)

    def padded(self, x: np.ndarray, value: Any) -> np.ndarray:
        """An array with room around it, so that every window has its whole length."""
        counts = self.counts(x.shape[-self.rank :])
        widths = [(0, 0)] * (x.ndim - self.rank)
        for n, c, w, s, p in zip(
            x.shape[-self.rank :], counts, self.size, self.step, self.pad, strict=True
        ):
            widths.append((p, max(0, (c - 1) * s + w - n - p)))
        if not any(map(any, widths)):
            return x
        return np.pad(x, widths, constant_values=value)

    def elements(self, counts: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
        """For each element of a window, the index that picks it from all of them."""
        for offset in product(*map(range, self.size)):
            positions = [
                slice(o, o + (c - 1) * s + 1, s) if c else slice(0, 0)
                for o, c, s in zip(offset, counts, self.step, strict=True)
            ]
            yield (Ellipsis, *positions)

    def cropped(self, padded: np.ndarray, lengths: tuple[int, ...]) -> np.ndarray:
        """The part of a padded array that is the array."""
        positions = [slice(p, p + n) for p, n in zip(self.pad, lengths, strict=True)]
        index: Any = (Ellipsis, *positions)
        return np.ascontiguousarray(padded[index])


class _Pooling(Operation):
    """What the operations have in common: windows come as vectors of lengths, steps and padding."""

    __props__: tuple[str, ...] = ("ignore_border", "mode", "ndim")

    def __init__(
        self, ignore_border: bool = False, mode: str = "max", ndim: int = 2, openmp: Any = None
    ) -> None:
        if mode not in ("max", "sum", "average_inc_pad", "average_exc_pad"):
            raise ValueError(
                "Pool mode parameter only support 'max', 'sum', 'average_inc_pad' and"
                f" 'average_exc_pad'. Got {mode}"
            )
        self.ignore_border, self.mode, self.ndim = bool(ignore_border), mode, ndim

    def _node(self, arrays: Sequence[Any], like: Any, ws: Any, stride: Any, pad: Any) -> Apply:
        """A node whose output is as `like`, but for the pooled dimensions."""
        if arrays[0].ndim < self.ndim:
            raise TypeError(
                f"{self} pools the last {self.ndim} dimensions, and {arrays[0]} is {arrays[0].type}"
            )
        ws = _vector("ws", "downsample", ws, self.ndim)
        stride = ws if stride is None else _vector("stride", "Stride", stride, self.ndim)
        pad = _vector("pad", "Padding", (0,) * self.ndim if pad is None else pad, self.ndim)
        if all(isinstance(v, Constant) for v in (ws, stride, pad)):
            self.windows(ws.data, stride.data, pad.data)  # raises where they do not go together
        pattern = (*like.broadcastable[: -self.ndim], *[False] * self.ndim)
        return Apply(self, [*arrays, ws, stride, pad], [TensorType(like.dtype, pattern)()])

    def windows(self, ws: Any, stride: Any, pad: Any) -> Windows:
        """Windows, for the values of their lengths, steps and padding."""
        numbers = [tuple(int(n) for n in v) for v in (ws, stride, pad)]
        return _checked_windows(*numbers, self.ignore_border)

    def counted(self, x: np.ndarray, windows: Windows) -> Any:
        """By how much sums of windows are divided."""
        if self.mode == "sum":
            return None
        if self.mode == "average_inc_pad" and self.ignore_border:
            return np.asarray(np.prod(windows.size), x.dtype)
        lengths = (1,) * (x.ndim - self.ndim) + x.shape[-self.ndim :]
        return _summed(np.ones(lengths, x.dtype), windows)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Windows have no gradient."""
        return [*[[True]] * (node.nin - 3), *[[False]] * 3]


def _vector(what: str, kind: str, value: Any, rank: int) -> Any:
    """The lengths of windows in each direction, as a variable."""
    if isinstance(value, int | np.integer):
        value = (value,) * rank
    if isinstance(value, list | tuple) and len(value) != rank:
        raise ValueError(f"{what} must have {rank} elements, got {value!r}")
    v = as_tensor_variable(value)
    if not is_discrete(v):
        raise TypeError(f"{kind} parameters must be ints, got {what}={value!r} of {v.dtype}")
    return v


@lru_cache(256)
def _checked_windows(
    ws: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...], ignore_border: bool
) -> Windows:
    if any(pad) and not ignore_border:
        raise NotImplementedError("padding works only with ignore_border=True")
    if any(p >= w for p, w in zip(pad, ws, strict=True)):
        raise NotImplementedError("padding must be smaller than strides")
    if min(*ws, *stride) < 1:
        raise ValueError(f"windows and steps have to be at least 1, got {ws} and {stride}")
    return Windows(ws, stride, pad, ignore_border)


def _lowest(x: np.ndarray) -> Any:
    return -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min


def _summed(x: np.ndarray, windows: Windows) -> np.ndarray:
    """The sum of each window."""
    padded = windows.padded(x, 0)
    picks = windows.elements(windows.counts(x.shape[-windows.rank :]))
    out = padded[next(picks)].copy()
    for pick in picks:
        out += padded[pick]
    return out


class Pool(_Pooling):
    """Pooling of the last `ndim` dimensions as an operation, whose windows come with its operand.

    >>> import numpy as np
    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.tensor.signal.pool import Pool
    >>> x = T.dmatrix()
    >>> function([x], Pool(ignore_border=True, mode="sum")(x, (2, 2)))(np.ones((4, 4)))
    array([[4., 4.],
           [4., 4.]])
    """

    def make_node(self, x: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply:
        """Windows of lengths `ws`, `stride` apart, with `pad` elements around the array."""
        x = as_tensor_variable(x)
        return self._node([x], x, ws, stride, pad)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """By the windows; ShapeError where these are variables."""
        windows = node.inputs[1:]
        if not all(isinstance(v, Constant) for v in windows):
            raise ShapeError(f"{self}: the windows are not known")
        ws, stride, pad = windows
        return [self.out_shape(shapes[0], ws, self.ignore_border, stride, pad, self.ndim)]

    def compute(self, x: np.ndarray, ws: Any, stride: Any, pad: Any) -> np.ndarray:
        """The largest element of each window, or the sum or mean."""
        windows = self.windows(ws, stride, pad)
        if self.mode != "max":
            total, count = _summed(x, windows), self.counted(x, windows)
            return total if count is None else np.asarray(total / count, x.dtype)
        padded = windows.padded(x, _lowest(x))
        picks = windows.elements(windows.counts(x.shape[-windows.rank :]))
        out = padded[next(picks)].copy()
        for pick in picks:
            np.maximum(out, padded[pick], out=out)
        return out

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The transpose, or the gradient at every element that is the largest."""
        (x, *windows), (g,) = inputs, output_gradients
        if is_discrete(x):
            return [float_zeros(x), *(disconnected() for _ in windows)]
        if self.mode == "max":
            own = MaxPoolGrad(self.ignore_border, ndim=self.ndim)(x, outputs[0], g, *windows)
        else:
            own = AveragePoolGrad(self.ignore_border, self.mode, self.ndim)(x, g, *windows)
        return [rebroadcast(own, x.broadcastable), *(disconnected() for _ in windows)]

    @staticmethod
    def out_shape(
        imgshape: Any, ws: Any = None, ignore_border: bool = False, stride: Any = None,
        pad: Any = None, ndim: int = 2, ds: Any = None, st: Any = None, padding: Any = None,
    ) -> list[Any]:  # fmt: skip
        """The shape of what an image of a shape gives; TypeError if it has too few dimensions.

        >>> from wengert.symbolic.tensor.signal.pool import Pool
        >>> Pool.out_shape((8, 3, 9, 9), (2, 2))
        [8, 3, 5, 5]
        """
        if len(imgshape) < ndim:
            raise TypeError(f"imgshape must have at least {ndim} dimensions, got {imgshape}")
        size = _vector("ws", "downsample", _first(ws, ds), ndim)
        step = _first(stride, st)
        step = size if step is None else _vector("stride", "Stride", step, ndim)
        pad = _vector("pad", "Padding", _first(_first(padding, pad), (0,) * ndim), ndim)
        windows = Windows(_numbers_in(size), _numbers_in(step), _numbers_in(pad), ignore_border)
        return [*imgshape[:-ndim], *windows.counts(imgshape[-ndim:])]


def _numbers_in(v: Any) -> tuple[int, ...]:
    """The numbers in a constant; ValueError for a variable."""
    if not isinstance(v, Constant):
        raise ValueError(f"the lengths of windows have to be numbers here, and {v} is a variable")
    return tuple(int(n) for n in v.data)


class MaxPoolGrad(_Pooling):
    """Windows' values, at all elements that are their windows' largest."""

    __props__ = ("ignore_border", "ndim")

    def __init__(self, ignore_border: bool = False, ndim: int = 2, openmp: Any = None) -> None:
        super().__init__(ignore_border, "max", ndim)

    def make_node(self, x: Any, maxout: Any, gz: Any, ws: Any, stride: Any = None,
                  pad: Any = None) -> Apply:  # fmt: skip
        """Of the shape of `x`, whose pooled values are `maxout`."""
        arrays = [as_tensor_variable(v) for v in (x, maxout, gz)]
        return self._node(arrays, arrays[0], ws, stride, pad)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of `x`."""
        return [shapes[0]]

    def compute(self, x: np.ndarray, out: np.ndarray, g: np.ndarray, ws: Any, stride: Any, pad: Any
                ) -> np.ndarray:  # fmt: skip
        """Sums over the windows that an element is in."""
        windows, lengths = self.windows(ws, stride, pad), x.shape[-self.ndim :]
        padded = windows.padded(x, _lowest(x))
        result = np.zeros(padded.shape, x.dtype)
        for pick in windows.elements(windows.counts(lengths)):
            result[pick] += g * (padded[pick] == out)
        return windows.cropped(result, lengths)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Linear in the third input."""
        x, out, g, *windows = inputs
        op = DownsampleFactorMaxGradGrad(self.ignore_border, ndim=self.ndim)
        picked = rebroadcast(op(x, out, output_gradients[0], *windows), g.broadcastable)
        return [float_zeros(x), float_zeros(out), picked, *(disconnected() for _ in windows)]


class DownsampleFactorMaxGradGrad(_Pooling):
    """Elements' values, summed over those that are their windows' largest."""

    __props__ = ("ignore_border", "mode", "ndim")

    def make_node(self, x: Any, maxout: Any, gz: Any, ws: Any, stride: Any = None,
                  pad: Any = None) -> Apply:  # fmt: skip
        """Of the shape of `maxout`, from values `gz` of the shape of `x`."""
        arrays = [as_tensor_variable(v) for v in (x, maxout, gz)]
        return self._node(arrays, arrays[1], ws, stride, pad)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of `maxout`."""
        return [shapes[1]]

    def compute(self, x: np.ndarray, out: np.ndarray, values: np.ndarray, ws: Any, stride: Any,
                pad: Any) -> np.ndarray:  # fmt: skip
        """The transpose of `MaxPoolGrad`."""
        windows = self.windows(ws, stride, pad)
        padded, widened = windows.padded(x, _lowest(x)), windows.padded(values, 0)
        result = np.zeros_like(out)
        for pick in windows.elements(out.shape[-self.ndim :]):
            result += widened[pick] * (padded[pick] == out)
        return result

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Linear in the third input."""
        x, out, values, *windows = inputs
        spread = MaxPoolGrad(self.ignore_border, self.ndim)(x, out, output_gradients[0], *windows)
        own = rebroadcast(spread, values.broadcastable)
        return [float_zeros(x), float_zeros(out), own, *(disconnected() for _ in windows)]


class AveragePoolGrad(_Pooling):
    """For each element, what the windows that it is in have, as the transpose of a sum or mean."""

    def __init__(self, ignore_border: bool, mode: str = "average_inc_pad", ndim: int = 2) -> None:
        super().__init__(ignore_border, mode, ndim)

    def make_node(self, x: Any, gz: Any, ws: Any, stride: Any = None, pad: Any = None,
                  dummy: Any = None) -> Apply:  # fmt: skip
        """Of the shape of `x`."""
        arrays = [as_tensor_variable(v) for v in (x, gz)]
        return self._node(arrays, arrays[0], ws, stride, pad)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of `x`."""
        return [shapes[0]]

    def compute(self, x: np.ndarray, g: np.ndarray, ws: Any, stride: Any, pad: Any) -> np.ndarray:
        """The transpose."""
        windows, lengths = self.windows(ws, stride, pad), x.shape[-self.ndim :]
        count = self.counted(x, windows)
        share = g if count is None else g / count
        result = np.zeros(windows.padded(x, 0).shape, x.dtype)
        for pick in windows.elements(g.shape[-self.ndim :]):
            result[pick] += share
        return windows.cropped(result, lengths)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Of the array only the shape is read."""
        return [[False], [True], [False], [False], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Pooling."""
        _, g, *windows = inputs
        own = Pool(self.ignore_border, self.mode, self.ndim)(output_gradients[0], *windows)
        return [
            disconnected(), rebroadcast(own, g.broadcastable), *(disconnected() for _ in windows)
        ]  # fmt: skip


def _pooled(rank: int, input: Any, ws: Any, ignore_border: Any, stride: Any, pad: Any, mode: str
            ) -> Any:  # fmt: skip
    x = as_tensor_variable(input)
    if x.ndim < rank:
        raise NotImplementedError(f"pool_{rank}d requires a dimension >= {rank}")
    if ws is None:
        raise ValueError("You must provide a tuple value for the window size.")
    return Pool(bool(ignore_border), mode, rank)(x, ws, stride, pad)


def pool_2d(input: Any, ws: Any = None, ignore_border: Any = None, stride: Any = None,
            pad: Any = (0, 0), mode: str = "max", ds: Any = None, st: Any = None,
            padding: Any = None) -> Any:  # fmt: skip
    """The largest element of each window of the last two dimensions, or its sum or mean.

    >>> import numpy as np
    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.tensor.signal import pool
    >>> x = T.dmatrix()
    >>> function([x], pool.pool_2d(x, ws=(2, 2), ignore_border=True))(np.arange(16.0).reshape(4, 4))
    array([[ 5.,  7.],
           [13., 15.]])
    """
    return _pooled(2, input, _first(ws, ds), ignore_border, _first(stride, st),
                   _first(padding, pad), mode)  # fmt: skip


def pool_3d(input: Any, ws: Any = None, ignore_border: Any = None, stride: Any = None,
            pad: Any = (0, 0, 0), mode: str = "max", ds: Any = None, st: Any = None,
            padding: Any = None) -> Any:  # fmt: skip
    """As `pool_2d`, of the last three dimensions."""
    return _pooled(3, input, _first(ws, ds), ignore_border, _first(stride, st),
                   _first(padding, pad), mode)  # fmt: skip


def _first(value: Any, other: Any) -> Any:
    return other if value is None else value


def max_pool_2d(input: Any, ds: Any, ignore_border: Any = None, st: Any = None,
                padding: Any = (0, 0), mode: str = "max") -> Any:  # fmt: skip
    """`pool_2d` by its earlier name."""
    return pool_2d(input, ds, ignore_border, st, padding, mode)


def max_pool_2d_same_size(input: Any, patch_size: Any) -> Any:
    """The array, zero where an element is not the largest of its window."""
    x = as_tensor_variable(input)
    out = Pool(True)(x, patch_size)
    return MaxPoolGrad(True)(x, out, out, patch_size)
