"""Pooling: the largest or mean element of each window of the last dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from wengert.symbolic.expressions.arithmetic import maximum, true_div
from wengert.symbolic.expressions.creation import ones_like
from wengert.symbolic.expressions.elemwise import float_zeros, rebroadcast
from wengert.symbolic.expressions.shapes import shape
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, Variable, disconnected


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


class _Pool(Operation):
    __props__ = ("windows",)

    def __init__(self, windows: Windows) -> None:
        self.windows = windows

    def _pooled_type(self, x: Any) -> TensorType:
        return TensorType(x.dtype, (*x.broadcastable[: -self.windows.rank],
                                    *[False] * self.windows.rank))  # fmt: skip

    def _lowest(self, x: np.ndarray) -> Any:
        return -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min


class MaxPool(_Pool):
    """The largest element of each window."""

    def make_node(self, x: Any) -> Apply:
        """One input."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [self._pooled_type(x)()])

    def compute(self, x: np.ndarray) -> np.ndarray:
        """The maximum over the elements of windows."""
        counts = self.windows.counts(x.shape[-self.windows.rank :])
        padded = self.windows.padded(x, self._lowest(x))
        picks = self.windows.elements(counts)
        out = padded[next(picks)].copy()
        for pick in picks:
            np.maximum(out, padded[pick], out=out)
        return out

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient at every element that is the largest."""
        gradient = MaxPoolGrad(self.windows)(inputs[0], outputs[0], output_gradients[0])
        return [rebroadcast(gradient, inputs[0].broadcastable)]


class MaxPoolGrad(_Pool):
    """Windows' values, at all elements that are their windows' largest."""

    def make_node(self, x: Any, out: Any, g: Any) -> Apply:
        """Of the shape of `x`."""
        inputs = [as_tensor_variable(v) for v in (x, out, g)]
        return Apply(self, inputs, [inputs[0].type()])

    def compute(self, x: np.ndarray, out: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Sums over the windows that an element is in."""
        lengths = x.shape[-self.windows.rank :]
        padded = self.windows.padded(x, self._lowest(x))
        result = np.zeros(padded.shape, x.dtype)
        for pick in self.windows.elements(self.windows.counts(lengths)):
            result[pick] += g * (padded[pick] == out)
        return self.windows.cropped(result, lengths)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Linear in the last input."""
        x, out, _ = inputs
        picked = MaxPoolPick(self.windows)(x, out, output_gradients[0])
        return [float_zeros(x), float_zeros(out), rebroadcast(picked, inputs[2].broadcastable)]


class MaxPoolPick(_Pool):
    """Elements' values, summed over those that are their windows' largest."""

    def make_node(self, x: Any, out: Any, values: Any) -> Apply:
        """Of the shape of `out`."""
        inputs = [as_tensor_variable(v) for v in (x, out, values)]
        return Apply(self, inputs, [inputs[1].type()])

    def compute(self, x: np.ndarray, out: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The transpose of `MaxPoolGrad`."""
        padded, widened = self.windows.padded(x, self._lowest(x)), self.windows.padded(values, 0)
        result = np.zeros_like(out)
        for pick in self.windows.elements(out.shape[-self.windows.rank :]):
            result += widened[pick] * (padded[pick] == out)
        return result

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Linear in the last input."""
        x, out, _ = inputs
        spread = MaxPoolGrad(self.windows)(x, out, output_gradients[0])
        return [float_zeros(x), float_zeros(out), spread]


class SumPool(_Pool):
    """The sum of each window."""

    def make_node(self, x: Any) -> Apply:
        """One input."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [self._pooled_type(x)()])

    def compute(self, x: np.ndarray) -> np.ndarray:
        """Sums over the elements of windows."""
        counts = self.windows.counts(x.shape[-self.windows.rank :])
        padded = self.windows.padded(x, 0)
        picks = self.windows.elements(counts)
        out = padded[next(picks)].copy()
        for pick in picks:
            out += padded[pick]
        return out

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The transpose."""
        (x,), (g,) = inputs, output_gradients
        return [rebroadcast(SumPoolGrad(self.windows)(g, shape(x)), x.broadcastable)]


class SumPoolGrad(_Pool):
    """The sums, for each element, of the values of the windows that it is in."""

    def make_node(self, g: Any, lengths: Any) -> Apply:
        """Of a shape."""
        g, lengths = as_tensor_variable(g), as_tensor_variable(lengths)
        return Apply(self, [g, lengths], [self._pooled_type(g)()])

    def compute(self, g: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The transpose of `SumPool`."""
        sizes = tuple(int(n) for n in lengths)
        result = self.windows.padded(np.zeros(sizes, g.dtype), 0)
        for pick in self.windows.elements(g.shape[-self.windows.rank :]):
            result[pick] += g
        return self.windows.cropped(result, sizes[-self.windows.rank :])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The shape has no gradient."""
        return [[True], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The sums of windows."""
        summed = SumPool(self.windows)(output_gradients[0])
        return [rebroadcast(summed, inputs[0].broadcastable), disconnected()]


def _counts(name: str, value: Any, rank: int) -> tuple[int, ...]:
    if isinstance(value, int | np.integer):
        value = (value,) * rank
    numbers = tuple(int(getattr(v, "data", v)) for v in value)
    if len(numbers) != rank:
        raise ValueError(f"{name} must have {rank} elements, got {value!r}")
    return numbers


def _windows(
    rank: int, ws: Any, ignore_border: Any, stride: Any, pad: Any
) -> Windows:  # fmt: skip
    size = _counts("ws", ws, rank)
    step = size if stride is None else _counts("stride", stride, rank)
    padding = _counts("pad", (0,) * rank if pad is None else pad, rank)
    if any(padding) and not ignore_border:
        raise NotImplementedError("padding works only with ignore_border=True")
    if any(p >= w for p, w in zip(padding, size, strict=True)):
        raise NotImplementedError("padding must be smaller than strides")
    return Windows(size, step, padding, bool(ignore_border))


def _pooled(rank: int, input: Any, ws: Any, ignore_border: Any, stride: Any, pad: Any, mode: str
            ) -> Any:  # fmt: skip
    x = as_tensor_variable(input)
    if x.ndim < rank:
        raise NotImplementedError(f"pool_{rank}d requires a dimension >= {rank}")
    windows = _windows(rank, ws, ignore_border, stride, pad)
    if mode not in ("max", "sum", "average_inc_pad", "average_exc_pad"):
        raise ValueError(
            "Pool mode parameter only support 'max', 'sum', 'average_inc_pad' and"
            f" 'average_exc_pad'. Got {mode}"
        )
    if mode == "max":
        return MaxPool(windows)(x)
    total = SumPool(windows)(x)
    if mode == "sum":
        return total
    if mode == "average_inc_pad" and ignore_border:
        return true_div(total, np.asarray(np.prod(windows.size), x.dtype))
    return true_div(total, SumPool(windows)(ones_like(x)))


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


class Pool:
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

    def __init__(
        self, ignore_border: bool = False, mode: str = "max", ndim: int = 2, openmp: Any = None
    ) -> None:
        self.ignore_border, self.mode, self.ndim = ignore_border, mode, ndim

    def __call__(self, x: Any, ws: Any, stride: Any = None, pad: Any = None) -> Any:
        return _pooled(self.ndim, x, ws, self.ignore_border, stride, pad, self.mode)

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
        windows = _windows(
            ndim, _first(ws, ds), ignore_border, _first(stride, st), _first(padding, pad)
        )
        return [*imgshape[:-ndim], *windows.counts(imgshape[-ndim:])]


def _first(value: Any, other: Any) -> Any:
    return other if value is None else value


def max_pool_2d(input: Any, ds: Any, ignore_border: Any = None, st: Any = None,
                padding: Any = (0, 0), mode: str = "max") -> Any:  # fmt: skip
    """`pool_2d` by its earlier name."""
    return pool_2d(input, ds, ignore_border, st, padding, mode)


def max_pool_2d_same_size(input: Any, patch_size: Any) -> Any:
    """The array, zero where an element is not the largest of its window."""
    x = as_tensor_variable(input)
    windows = Windows(patch_size, patch_size, (0, 0), True)
    out = MaxPool(windows)(x)
    return MaxPoolGrad(windows)(x, out, out)
