"""The operations behind `x[key]` and `x[key] = v`, once the key is in NumPy's form.

`basic` keys hold integers, slices, None and at most one Ellipsis, and give views. `index`
keys hold full slices and arrays of integers or booleans, and give copies; the positions of
the result's dimensions are NumPy's, which are PyTorch's.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import kernels
from wengert.core.tensor import Tensor
from wengert.kernels import layout
from wengert.ops.batching import Batch
from wengert.ops.broadcasting import repeated
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.operands import sum_to
from wengert.ops.shape import movedim, padded
from wengert.ops.zeros import or_zeros

if TYPE_CHECKING:
    from wengert.kernels.scatter import Key

Shape = tuple[int, ...]

# The classes of cotangents that a walk turns into arrays, or into sparse tensors at leaves.
deferred: set[type] = set()


class Deferred:
    """A cotangent on its way to a node, which it will reach as an array or a sparse tensor."""

    __slots__ = ()
    __array_ufunc__ = None  # array + cotangent: NumPy leaves it to __radd__

    def __init_subclass__(cls) -> None:
        deferred.add(cls)

    def dense(self) -> Any:
        """All of it, as an array (as a Tensor where that is recorded)."""
        raise NotImplementedError

    def at_leaf(self) -> Any:
        """What a leaf receives."""
        return self.dense()


class Slices(Deferred):
    """The summed cotangents of slices of one tensor, in flight to its node: zeros elsewhere.

    A loop over `x[:, t]` would otherwise allocate and add an array of the size of `x` per step.
    The first addition allocates one array, not shared with anyone, and all later ones write
    to it; the walk takes it out when it reaches the node.
    """

    __slots__ = ("_array", "_g", "_key", "_shape")

    def __init__(self, g: Any, shape: tuple[int, ...], key: Key) -> None:
        self._g, self._shape, self._key = g, shape, key
        self._array: np.ndarray | None = None

    def dense(self) -> np.ndarray:
        """The sum as an array."""
        array = self._array
        if array is None:
            array = self._array = np.zeros(self._shape, self._g.dtype)
            array[self._key] = self._g
        return array

    def __add__(self, other: Any) -> Slices:
        array, key = self.dense(), ()
        if type(other) is Slices:
            if other._array is None and other._g.dtype == array.dtype:
                key, other = other._key, other._g
            else:
                other = other.dense()
        if other.dtype != array.dtype:
            self._array = array + other
            return self
        region = array[key]
        if type(region) is np.ndarray:
            np.add(region, other, region)
        else:
            array[key] = region + other  # one element
        return self

    __radd__ = __add__


def slice_vjp(g: Any, shape: tuple[int, ...], key: Key) -> Any:
    """The cotangent of a tensor indexed with a basic key."""
    return basic_adjoint(g, shape, key) if isinstance(g, Tensor) else Slices(g, shape, key)


def _of_batch(key: Key) -> Key:
    return slice(None), *key


@multilinear(
    input=lambda g, input_shape, key: slice_vjp(g, input_shape, key),
    view=True,
    batch=lambda b: b(key=_of_batch(b.params["key"])),
    label="SliceBackward0",
    name="__getitem__",
)
def basic(input: Value, key: Key) -> Value:
    """The view selected by a basic key."""
    return input[key]


@multilinear(
    g=lambda g, key: basic(g, key),
    batch=lambda b: b(shape=(b.size, *b.params["shape"]), key=_of_batch(b.params["key"])),
    name="getitem_backward",
)
def basic_adjoint(g: Value, shape: tuple[int, ...], key: Key) -> Value:
    """Zeros with `g` at a basic key."""
    out = np.zeros(shape, g.dtype)
    out[key] = g
    return out


def _batch_place(key: Key) -> int:
    """Where NumPy puts the batch in the result of a key with a full slice prepended.

    After the dimensions of the indices, if a slice separates them.
    """
    items = [k for k, item in enumerate(key) if not isinstance(item, slice)]
    if items[-1] - items[0] == len(items) - 1:
        return 0
    return max(_index_rank(key[k]) for k in items)


def _index_rank(item: np.ndarray) -> int:
    return 1 if item.dtype == bool else item.ndim


def _index_batch(b: Batch) -> Value:
    out, out_dim = b(key=_of_batch(b.params["key"])), _batch_place(b.params["key"])
    return movedim(out, out_dim, 0) if out_dim else out


@multilinear(
    input=lambda g, input_shape, key: _index_adjoint(g, input_shape, key),
    batch=_index_batch,
    label="IndexBackward0",
    name="__getitem__",
)
def index(input: Value, key: Key) -> Value:
    """The elements at the indices of a key, as a copy."""
    try:
        axis = len(key) - 1
        if key[-1].dtype != bool and (not axis or _only_last(key)):
            out = kernels.scatter.take_rows(input, key[-1], axis)
        else:
            out = kernels.scatter.take_at(input, key)
    except IndexError as error:
        raise in_torchs_words(error) from None
    if out.ndim < 2:
        return out
    arrays = (input, out, *[item for item in key if not isinstance(item, slice)])
    if all(a.flags.c_contiguous for a in arrays):
        return out
    return layout.arranged_by(out, _outlines(input, key, out.shape))


def _only_last(key: Key) -> bool:
    """Whether a key has full slices in front of its last array."""
    return all(isinstance(item, slice) for item in key[:-1])


def _outlines(input: np.ndarray, key: Key, shape: Shape) -> tuple[layout.Outline, ...]:
    """What determines the layout of picked elements: first unindexed dimensions, then the indices.

    In the order of the result: the dimensions of the indices replace the first index, or come
    first if slices separate the indices.
    """
    indexed = [k for k, item in enumerate(key) if not isinstance(item, slice)]
    lead = indexed[0] if indexed[-1] - indexed[0] == len(indexed) - 1 else 0
    rank = max(_index_rank(key[k]) for k in indexed)
    widths = [item.ndim if k in indexed and item.dtype == bool else 1 for k, item in enumerate(key)]
    ends = [*accumulate(widths)]
    steps = [input.strides[end - 1] for k, end in enumerate(ends) if k not in indexed]
    steps += input.strides[ends[-1] :]
    behind = len(shape) - lead - rank
    indices = [key[k] for k in indexed if key[k].dtype != bool]
    return (
        (shape, (*steps[:lead], *(0,) * rank, *steps[lead:])),
        *[((*a.shape, *(1,) * behind), (*a.strides, *(0,) * behind)) for a in indices],
    )


def in_torchs_words(error: IndexError) -> IndexError:
    """NumPy's message in PyTorch's terms."""
    text = str(error).replace("for axis", "for dimension")
    if "from an empty axes" in text:
        text = "index is out of bounds for dimension with size 0"
    return IndexError(text.replace("indexing arrays", "indexing tensors"))


def _index_adjoint_batch(b: Batch) -> Value:
    key, shape = b.params["key"], b.params["shape"]
    g = movedim(b.values["g"], 0, _batch_place(key))
    return b(g=g, key=_of_batch(key), shape=(b.size, *shape))


@multilinear(g=lambda g, key: index(g, key), batch=_index_adjoint_batch, name="getitem_backward")
def _index_adjoint(g: Value, shape: tuple[int, ...], key: Key) -> Value:
    """Zeros with `g` added at the indices of a key."""
    return kernels.scatter.sum_at(shape, key, np.asarray(g))


@multilinear(
    g=lambda g, key: _index_erased(g, key),
    batch=lambda b: b(key=_of_batch(b.params["key"])),
    name="index_put_backward",
)
def _index_erased(g: Value, key: Key) -> Value:
    """`g` with zeros at the indices of a key."""
    out = g.copy()
    out[key] = 0
    return out


def _written_batch(b: Batch) -> Value:
    key = b.params["key"]
    items = [item for item in key if not isinstance(item, slice)]
    indexed_dims = sum(item.ndim if item.dtype == bool else 1 for item in items)
    rank = b.rank("input") - indexed_dims + max(_index_rank(item) for item in items)
    values = movedim(padded(b.whole("values"), rank), 0, _batch_place(key))
    return b(input=b.whole("input"), values=values, key=_of_batch(key))


@primitive(
    input=lambda g, key, accumulate: g if accumulate else _index_erased(g, key),
    values=lambda g, values_shape, key: sum_to(index(g, key), values_shape),
    mixed=False,
    batch=_written_batch,
    jvp=lambda d_input, d_values, input, values, key, accumulate: index_written(
        or_zeros(d_input, input), or_zeros(d_values, values), key, accumulate
    ),
    label="IndexPutBackward0",
    name="index_put",
)
def index_written(input: Value, values: Value, key: Key, accumulate: bool) -> Value:
    """A copy of the input with `values`, broadcast, at the indices of a key or added there."""
    out = layout.copy(input)
    write_at(out, values, key, accumulate)
    return out


def write_at(array: np.ndarray, values: np.ndarray, key: Key, accumulate: bool = False) -> None:
    """Write `values`, broadcast, at the indices of a key, or add them; all or nothing."""
    if accumulate:
        places = kernels.scatter.native.flat_places(key, array.shape)
        if places is not None and array.flags.c_contiguous:
            array, key = array.reshape(-1, *array.shape[len(key) :]), (places,)
            shape = (*places.shape, *array.shape[1:])
        else:
            # The shape, and an error for an index out of bounds, from an array of one byte.
            shape = index(repeated(_BYTE, array.shape), key).shape
        if not broadcasts(values.shape, shape):
            raise value_mismatch(values.shape, shape)
        same = values.shape == shape
        kernels.scatter.add_at(array, key, values if same else np.broadcast_to(values, shape))
        return
    try:
        if values.ndim == 0 and len(key) == 1 and key[0].dtype == bool:
            kernels.masks.put(array, key[0], values)
        else:
            array[key] = values
    except ValueError:
        raise value_mismatch(values.shape, array[key].shape) from None
    except IndexError as error:
        raise in_torchs_words(error) from None


_BYTE = np.zeros((), np.bool_)


def broadcasts(shape: Shape, to: Shape) -> bool:
    """Whether values of a shape can be broadcast to a target shape."""
    if shape == to:
        return True
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def value_mismatch(values: Shape, shape: Shape) -> RuntimeError:
    """The exception for values that cannot be broadcast to the target."""
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(values)} cannot be broadcast to"
        f" indexing result of shape {list(shape)}"
    )


__all__: list[str] = []
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
