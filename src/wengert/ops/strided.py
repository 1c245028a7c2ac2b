"""Windows of memory: `as_strided`, and deriving the history of a view from that of its root.

A window describes the elements of a tensor's memory that a view covers, in bytes from the
tensor's first element. The derivative works on a copy of that memory: a cotangent is laid out
there like the tensor, and read or written through the window. That is correct for any strides,
and for views of another dtype (the real parts of complex numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided as _unowned_view

from wengert.core.dtypes import of_numpy
from wengert.core.storage import address_of, owner
from wengert.core.tensor import Node, Tensor, memory_of, mode, root_of, shape_of
from wengert.kernels.axes import axis_of
from wengert.ops.batching import Batch
from wengert.ops.declare import Value, multilinear
from wengert.ops.shape import padded, reshape
from wengert.ops.variadic import record, require_tensor

# From this distance of slices on they are added up piece by piece: parts of slices that are as
# long as the distance, and so do not overlap.
_LONG_STEP = 16


class Window(NamedTuple):
    """Elements of memory: offset from a tensor's first element, shape, strides, dtype."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    def extent(self) -> tuple[int, int]:
        """The first byte, and one past the last."""
        if 0 in self.shape:
            return self.offset, self.offset
        reach = [s * (n - 1) for s, n in zip(self.strides, self.shape, strict=True)]
        low = self.offset + sum(r for r in reach if r < 0)
        return low, self.offset + sum(r for r in reach if r > 0) + self.dtype.itemsize

    def within(self, other: Window) -> bool:
        """Whether this window lies within the extent of another."""
        (low, high), (start, stop) = self.extent(), other.extent()
        return low >= high or (start <= low and high <= stop)

    def overlaps(self) -> bool:
        """Whether two indices may refer to the same element (expanded or unfolded windows)."""
        if 0 in self.shape:
            return False
        reach = self.dtype.itemsize
        for stride, n in sorted(zip(map(abs, self.strides), self.shape, strict=True)):
            if n > 1:
                if stride < reach:
                    return True
                reach += stride * (n - 1)
        return False


def whole(array: np.ndarray) -> Window:
    """The window over all of an array."""
    return Window(0, array.shape, array.strides, array.dtype)


def window_of(view: np.ndarray, root: np.ndarray) -> Window:
    """The window of `view`, relative to the first element of `root`."""
    return Window(_address(view) - _address(root), view.shape, view.strides, view.dtype)


def layout_of(tensor: Tensor) -> Window:
    """The window over all of a tensor; inside vmap over one sample."""
    memory, rank = memory_of(tensor), len(shape_of(tensor))
    lead = memory.ndim - rank
    return Window(0, memory.shape[lead:], memory.strides[lead:], memory.dtype)


def window_in(root: Tensor, view: Tensor) -> Window:
    """The window of a view of a tensor, relative to the tensor's first element."""
    offset = _address(memory_of(view)) - _address(memory_of(root))
    return layout_of(view)._replace(offset=offset)


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def look(array: np.ndarray, window: Window) -> np.ndarray:
    """The view of the array's memory through a window, which must lie within that memory."""
    base = owner(array)
    flat = base if base.flags.c_contiguous else base.ravel("K")
    if flat is not base and not np.may_share_memory(flat, base):  # not dense: ravel had to copy
        return _unowned_look(array, window)
    start = address_of(array) - address_of(flat) + window.offset
    return np.ndarray(window.shape, window.dtype, flat, start, window.strides)


def _unowned_look(array: np.ndarray, window: Window) -> np.ndarray:
    item = array[(slice(0, 1),) * array.ndim].reshape(-1).view(np.uint8)
    low = _unowned_view(item, (window.extent()[1],), (1,))[window.offset :]
    first = low[: window.dtype.itemsize].view(window.dtype)
    return _unowned_view(first, window.shape, window.strides)


def _copied(layout: Window, window: Window) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fresh zeroed memory under both windows, seen through each; and the memory itself."""
    (a, b), (c, d) = layout.extent(), window.extent()
    low = min(a, c)
    memory = np.zeros(max(b, d, low + 1) - low, np.uint8)

    def seen(w: Window) -> np.ndarray:
        return np.ndarray(w.shape, w.dtype, memory, w.offset - low, w.strides)

    return seen(layout), seen(window), memory


def _with_batch(b: Batch, step: int) -> dict[str, Window]:
    """Both windows of a sample as windows of a batch with that distance between samples."""
    return {
        name: w._replace(shape=(b.size, *w.shape), strides=(step, *w.strides))
        for name, w in b.params.items()
    }


def _apart(b: Batch) -> Value:
    """The rule of operations on copies of memory, in which samples do not overlap."""
    ends = [end for w in b.params.values() for end in w.extent()]
    item = max(w.dtype.itemsize for w in b.params.values())
    return b(**_with_batch(b, (max(ends) - min(ends)) // item * item + item))


def _window_batch(b: Batch) -> Value:
    memory = memory_of(b.values["input"])
    return b(**_with_batch(b, memory.strides[-1 - b.rank("input")]))


@multilinear(
    input=lambda g, layout, window: _spread(g, layout, window),
    view=True,
    batch=_window_batch,
    label="AsStridedBackward0",
    name="as_strided",
)
def _window(input: Value, layout: Window, window: Window) -> Value:
    """The input's memory through a window; copied first if its layout differs (a tangent)."""
    return look(input, window) if whole(input) == layout else _take(input, layout, window)


@multilinear(
    g=lambda g, layout, window: _take(g, layout, window),
    batch=_apart,
    name="as_strided_backward",
)
def _spread(g: Value, layout: Window, window: Window) -> Value:
    """Zeros in the layout of the tensor, with `g` added to the window."""
    root, copy_window, memory = _copied(layout, window)
    if not window.overlaps():
        copy_window[...] = g
        return root
    size = window.dtype.itemsize
    flat = np.ndarray(memory.size // size, window.dtype, memory)
    positions = np.arange(flat.size)
    low = min(layout.extent()[0], window.extent()[0])
    steps = tuple(s // size * positions.itemsize for s in window.strides)
    shown_positions = _unowned_view(positions[(window.offset - low) // size :], window.shape, steps)
    np.add.at(flat, shown_positions.ravel(), np.asarray(g).ravel())
    return root


@multilinear(
    g=lambda g, layout, window: _spread(g, layout, window), batch=_apart, name="as_strided"
)
def _take(g: Value, layout: Window, window: Window) -> Value:
    """The window of `g`, laid out like the tensor."""
    root, copy_window, _ = _copied(layout, window)
    root[...] = g
    return copy_window.copy()


@multilinear(
    g=lambda g, layout, window: _erase(g, layout, window),
    batch=_apart,
    name="as_strided_backward",
)
def _erase(g: Value, layout: Window, window: Window) -> Value:
    """`g`, laid out like the tensor, with the window zeroed."""
    root, copy_window, _ = _copied(layout, window)
    root[...] = g
    copy_window[...] = 0
    return root


class CopySlices(Node):
    """A write to a window of a tensor, with edges to the old tensor and to the written value."""

    __slots__ = ("layout", "window")

    public_name = "copy_"
    layout: Window
    window: Window

    def pullback(self, g: Any) -> tuple[Any, ...]:
        """The gradients of the tensor before the write and of the written value."""
        before, written = self.edges
        return (
            None if before is None else _erase(g, self.layout, self.window),
            None if written is None else _take(g, self.layout, self.window),
        )

    def pullback_to(self, g: Any, needed: Any, lift: Any) -> tuple[Any, ...]:
        """As `pullback`, for the edges in `needed` only."""
        before, written = self.edges
        return (
            _erase(g, self.layout, self.window) if before in needed else None,
            _take(g, self.layout, self.window) if written in needed else None,
        )


def written_window(root: Tensor, view: Tensor, written: Node | None) -> Node:
    """The history of `root` after writing a value with history `written` to `view`."""
    assert mode.site is not None
    node: CopySlices = record(CopySlices, (root._edge, written), shape_of(root), mode.site)
    node.layout, node.window = layout_of(root), window_in(root, view)
    return node


def shown_window(tensor: Tensor, root: Tensor, view: Tensor) -> Tensor:
    """The part of a tensor, laid out like `root`, covered by a view of `root`; a view."""
    shown: Tensor = _window(tensor, layout_of(root), window_in(root, view))
    return shown


def window_history(view: Tensor, root: Tensor) -> Node | None:
    """The history of a view as a window of its root."""
    return shown_window(root, root, view)._edge


def placed_window(part: Tensor, root: Tensor, view: Tensor) -> Tensor:
    """Zeros laid out like `root`, with `part` where a view of `root` lies."""
    placed: Tensor = _spread(part, layout_of(root), window_in(root, view))
    return placed


def copy_in(layout: Window, tensor: Tensor) -> Tensor:
    """A copy of a tensor in fresh memory of a layout, in which elements do not overlap."""
    copy: Tensor = _spread(tensor, layout, layout)
    return copy


def as_strided(
    input: Tensor,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    storage_offset: int | None = None,
) -> Tensor:
    """A view of the input's memory with the given shape, strides and offset, in elements.

    The offset is from the start of the memory underlying the input; None means the start of the
    input. RuntimeError for a view that would leave that memory.

    >>> import wengert
    >>> wengert.as_strided(wengert.tensor([1, 2, 3, 4]), (3, 2), (1, 1))
    tensor([[1, 2],
            [2, 3],
            [3, 4]])
    """
    if not isinstance(input, Tensor):
        raise TypeError(
            "as_strided(): argument 'input' (position 1) must be Tensor, not"
            f" {type(input).__name__}"
        )
    array = _sample(input)
    window = _checked_window(array, tuple(size), tuple(stride), storage_offset)
    if array.ndim < memory_of(input).ndim:
        _check_within_sample(array, window)
    root = root_of(input)
    if root is not input and input._edge is not None and root._edge is not None:
        window = window._replace(offset=window.offset + window_in(root, input).offset)
        return _window(root, layout_of(root), window)
    return _window(input, layout_of(input), window)


def elements(
    input: Tensor, strides: Sequence[int], size: Sequence[int], stride: Sequence[int], start: int
) -> Tensor:
    """`as_strided` of a tensor that is dense with these strides, from its own first element on.

    In elements; RuntimeError for what would see others than the tensor's own.
    """
    dtype = memory_of(input).dtype
    layout, window = (
        Window(n * dtype.itemsize, tuple(shape), tuple([s * dtype.itemsize for s in steps]), dtype)
        for n, shape, steps in ((0, shape_of(input), strides), (start, size, stride))
    )
    dense = layout.extent() == (0, prod(layout.shape) * dtype.itemsize) and not layout.overlaps()
    if len(layout.shape) != len(layout.strides) or len(window.shape) != len(window.strides):
        dense = False
    if not dense or min((*window.shape, *window.strides, start), default=0) < 0:
        raise RuntimeError(f"as_strided: no elements of a tensor of shape {layout.shape}: {window}")
    if not window.within(layout):
        raise RuntimeError(f"as_strided: {window} is out of bounds for a tensor of {layout.shape}")
    return _window(input, layout, window)


def as_elements(layout: Window, window: Window) -> tuple[Any, ...] | None:
    """The arguments of `elements` that are these windows; None if there are none."""
    size = layout.dtype.itemsize
    offsets = [*layout.strides, *window.strides, window.offset]
    if window.dtype != layout.dtype or any(type(n) is not int or n % size for n in offsets):
        return None
    strides, stride = ([s // size for s in w.strides] for w in (layout, window))
    return tuple(strides), window.shape, tuple(stride), window.offset // size


def _sample(input: Tensor) -> np.ndarray:
    """The memory of a tensor; inside vmap of the first sample."""
    memory = memory_of(input)
    batches = memory.ndim - input.ndim
    if 0 in memory.shape[:batches]:
        raise RuntimeError("as_strided(): a batch without samples has no memory to look at")
    return memory[(0,) * batches + (...,)]


def _check_within_sample(sample: np.ndarray, window: Window) -> None:
    """Raise RuntimeError for a view that would leave a sample's part of a batch."""
    (first, last), (low, high) = window.extent(), whole(sample).extent()
    if first < low or last > high:
        raise RuntimeError(
            f"vmap: as_strided() with size {list(window.shape)} can access memory outside of a"
            f" sample of shape {list(sample.shape)}. This is not supported inside of vmap: rewrite"
            " it as a sequence of view operations"
        )


def _checked_window(
    array: np.ndarray, size: tuple[int, ...], stride: tuple[int, ...], start: int | None
) -> Window:
    if len(size) != len(stride):
        raise RuntimeError(
            f"mismatch in length of strides and shape: as_strided() got size {list(size)} and"
            f" stride {list(stride)}"
        )
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and"
            f" strides={list(stride)}: a size is negative"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides:"
            f" {list(stride)}"
        )
    item = array.itemsize
    base = owner(array)
    memory = np.lib.array_utils.byte_bounds(base)
    own_start = (_address(array) - memory[0]) // item
    start = own_start if start is None else start
    if start < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {start}")
    window = Window((start - own_start) * item, size, tuple(s * item for s in stride), array.dtype)
    end = window.extent()[1] + own_start * item
    if end > memory[1] - memory[0]:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and"
            f" itemsize {item} requiring a storage size of {end} are out of bounds for storage of"
            f" size {memory[1] - memory[0]} ({of_numpy[array.dtype]})"
        )
    return window


def _unfold_batch(b: Batch) -> Value:
    rank = b.rank("input")
    d = axis_of(b.params["dimension"], rank) + 1
    if rank:
        return b(dimension=d)
    out = b(input=padded(b.values["input"], 1), dimension=1)
    return reshape(out, (b.size, out.shape[-1]))


@multilinear(
    input=lambda g, input_shape, dimension, size, step: overlap_add(
        g, input_shape, dimension, size, step
    ),
    view=True,
    batch=_unfold_batch,
)
def unfold(input: Value, dimension: int, size: int, step: int) -> Value:
    """All slices of length `size` along a dimension, `step` apart, as a view.

    The dimension becomes the number of slices; a last dimension of length `size` is added.

    >>> import wengert
    >>> wengert.tensor([1, 2, 3, 4]).unfold(0, 2, 1)
    tensor([[1, 2],
            [2, 3],
            [3, 4]])
    """
    array = input if input.ndim else input.reshape(1)
    d = _unfold_axis(array, dimension, size, step)
    count = (array.shape[d] - size) // step + 1
    shape = (*array.shape[:d], count, *array.shape[d + 1 :], size)
    along = array.strides[d]
    strides = (*array.strides[:d], along * step, *array.strides[d + 1 :], along)
    if not input.ndim:
        shape, strides = shape[1:], strides[1:]
    return look(array, Window(0, shape, strides, array.dtype))


def _unfold_axis(array: np.ndarray, dimension: int, size: int, step: int) -> int:
    d = axis_of(dimension, array.ndim)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > array.shape[d]:
        raise RuntimeError(
            f"maximum size for tensor at dimension {d} is {array.shape[d]} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return d


def _fold_batch(b: Batch) -> Value:
    g, shape = b.values["g"], b.params["shape"]
    d = axis_of(b.params["dimension"], len(shape)) + 1
    if shape:
        return b(shape=(b.size, *shape), dimension=d)
    # A number was unfolded to its only slice.
    single = reshape(g, (b.size, 1, *g.shape[1:]))
    return reshape(b(g=single, shape=(b.size, 1), dimension=1), (b.size,))


@multilinear(
    g=lambda g, dimension, size, step: unfold(g, dimension, size, step),
    batch=_fold_batch,
    name="unfold_backward",
)
def overlap_add(g: Value, shape: tuple[int, ...], dimension: int, size: int, step: int) -> Value:
    """The adjoint of unfold: every slice is added back where it was taken from."""
    if not shape:
        return g.sum()
    out = np.zeros(shape, g.dtype)
    along = np.moveaxis(out, dimension, -1)
    slices = np.moveaxis(g, dimension % len(shape), -2)
    reach = (slices.shape[-2] - 1) * step + 1
    if step >= _LONG_STEP:
        # Views as of `sliding_window_view`, which takes longer than to add what is few.
        memory, stride = out.reshape(-1).view(np.uint8), along.strides[-1]
        strides = (*along.strides[:-1], step * stride, stride)
        for k in range(0, size, step):
            added = slices[..., k : k + step]
            parts: Any = np.ndarray(added.shape, out.dtype, memory, k * stride, strides)
            parts += added
        return out
    if slices.shape[-2] < size:
        for k in range(slices.shape[-2]):
            along[..., k * step : k * step + size] += slices[..., k, :]
        return out
    for k in range(size):
        along[..., k : k + reach : step] += slices[..., k]
    return out


def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    storage_offset: int | None = None,
) -> Tensor:
    """A copy of the input with the elements `as_strided` would select replaced by `src`.

    >>> import wengert
    >>> wengert.as_strided_scatter(wengert.zeros(2, 2), wengert.ones(2), (2,), (3,))
    tensor([[1., 0.],
            [0., 1.]])
    """
    require_tensor("as_strided_scatter", "input", input)
    require_tensor("as_strided_scatter", "src", src, 2)
    array = _sample(input)
    window = _checked_window(array, tuple(size), tuple(stride), storage_offset)
    if tuple(src.shape) != window.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size ="
            f" {list(src.shape)}, slice size = {list(window.shape)}"
        )
    if window.overlaps():
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a"
            f" single memory location: size {list(window.shape)}, stride {list(stride)}"
        )
    layout = whole(array)
    erased: Tensor = _erase(input, layout, window)
    return erased + _spread(src.to(input.dtype), layout, window)


__all__ = ["as_strided", "as_strided_scatter"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("as_strided", "as_strided_scatter", "unfold")
INPLACE: tuple[str, ...] = ()
