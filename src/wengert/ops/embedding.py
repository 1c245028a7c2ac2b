"""Tables of vectors: rows by index, bags of rows, and one-hot rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import storage
from wengert.core.dtypes import inexact, of_numpy
from wengert.core.messages import warn
from wengert.core.preparations import peeks, preparation
from wengert.core.tensor import Tensor, Tracer, caller, getframe, memory_of, wrap
from wengert.kernels.precision import narrowed, widened
from wengert.ops._picking import take_along
from wengert.ops.batching import Batch, leading
from wengert.ops.broadcasting import expand
from wengert.ops.checks import elements_of
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.masking import where
from wengert.ops.row_gradients import RowGradient
from wengert.ops.shape import reshape, unsqueeze
from wengert.ops.variadic import require_tensor

# A row without a gradient; one in each of several tables that stand one below the other.
Padding = int | tuple[int, ...] | None


def _shares(index: np.ndarray, padding_idx: Padding, by_frequency: bool) -> np.ndarray | None:
    """What each looked-up row counts for in the gradient, where that is not one for all."""
    if padding_idx is None and not by_frequency:
        return None
    share = np.ones(index.shape)
    if by_frequency:
        _, inverse, counts = np.unique(index, return_inverse=True, return_counts=True)
        share /= counts[inverse.reshape(index.shape)]
    if padding_idx is not None:
        share[np.isin(index, padding_idx)] = 0
    return share[..., None]


def _shared(rows: np.ndarray, share: np.ndarray | None) -> np.ndarray:
    return rows if share is None else rows * share.astype(rows.dtype)


def _apart(b: Batch, rows: int) -> dict[str, Any]:
    """The indices of samples as those of tables one below the other, and their padding rows."""
    index = b.whole("input")
    first = np.arange(b.size).reshape(-1, *(1,) * (len(index.shape) - 1)) * rows
    padding = b.params["padding_idx"]
    if padding is not None:
        paddings = padding if isinstance(padding, tuple) else (padding,)
        padding = tuple([p + k * rows for k in range(b.size) for p in paddings])
    return {"input": index + wrap(first), "padding_idx": padding}


def _one_below_the_other(b: Batch, name: str) -> Any:
    rows, width = b.shape(name)
    return reshape(b.whole(name), (b.size * rows, width))


def _looked_up_in_batch(b: Batch) -> Any:
    """Rows of a table for each sample, of which there is one, or one for each."""
    name = "weight" if "weight" in b.values else "grad"
    if name not in b.batched and not b.params["by_frequency"]:
        return b()
    return b(**_apart(b, b.shape(name)[0]), **{name: _one_below_the_other(b, name)})


def _rows_added_in_batch(b: Batch) -> Any:
    rows = b.params["rows"]
    out = b(grad=b.whole("grad"), rows=b.size * rows, **_apart(b, rows))
    return reshape(out, (b.size, rows, out.shape[-1]))


@multilinear(
    mixed=False,
    batch=_looked_up_in_batch,
    label="EmbeddingBackward0",
    input=None,
    weight=lambda g, input, weight_shape, padding_idx, by_frequency, sparse: _table_gradient(
        g, input, weight_shape, padding_idx, by_frequency, sparse
    ),
)
def _embedding(
    input: Value, weight: Value, padding_idx: Padding = None, by_frequency: bool = False,
    sparse: bool = False,
) -> Value:  # fmt: skip
    if wrong := _outside(input, len(weight)):
        raise IndexError(_no_row(wrong[1], len(weight)))
    return kernels.scatter.take_rows(weight, input, 0)


@multilinear(
    mixed=False,
    batch=_looked_up_in_batch,
    input=None,
    weight=lambda g, input, weight_shape, padding_idx, by_frequency, sparse: _table_gradient(
        expand(unsqueeze(g, -2), (*input.shape, g.shape[-1])),
        input, weight_shape, padding_idx, by_frequency, sparse,
    ),
    name="embedding_bag",
)  # fmt: skip
def _bag_sums(
    input: Value, weight: Value, padding_idx: None = None, by_frequency: bool = False,
    sparse: bool = False,
) -> Value:  # fmt: skip
    """The sums of the rows at the indices in the last dimension of `input`."""
    if wrong := _outside(input, len(weight)):
        raise RuntimeError(_no_row_of_bag(*wrong, len(weight)))
    return narrowed(kernels.scatter.sum_bags(weight, input), weight.dtype)


def _table_gradient(
    g: Value, input: Value, shape: tuple[int, ...], padding_idx: Padding, by_frequency: bool,
    sparse: bool,
) -> Value:  # fmt: skip
    """The gradient of a table of rows: with `sparse` those that were looked up, one by one."""
    if sparse and by_frequency:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )
    if sparse and not isinstance(g, Tracer) and not isinstance(padding_idx, tuple):
        return RowGradient.of(g, input, shape, padding_idx)
    return add_rows(g, input, shape[0], padding_idx, by_frequency)


@multilinear(
    mixed=False,
    grad=lambda g, input, padding_idx, by_frequency: _weighed_rows(
        g, input, padding_idx, by_frequency
    ),
    input=None,
    batch=_rows_added_in_batch,
    name="embedding_backward",
)
def add_rows(
    grad: Value, input: Value, rows: int, padding_idx: Padding = None, by_frequency: bool = False
) -> Value:
    """Zeros (rows, width), and each row of `grad` (..., width) added where the index says."""
    wide_grad = widened(grad)
    if by_frequency or isinstance(padding_idx, tuple):
        wide_grad = _shared(wide_grad, _shares(input, padding_idx, by_frequency))
        padding_idx = None
    return narrowed(kernels.scatter.sum_rows(rows, input, wide_grad, padding_idx), grad.dtype)


@multilinear(
    mixed=False,
    grad=lambda g, input, grad_shape, padding_idx, by_frequency: add_rows(
        g, input, grad_shape[0], padding_idx, by_frequency
    ),
    input=None,
    batch=_looked_up_in_batch,
    name="embedding_backward",
)
def _weighed_rows(grad: Value, input: Value, padding_idx: Padding, by_frequency: bool) -> Value:
    """The adjoint of `add_rows`."""
    return _shared(np.take(grad, input, axis=0), _shares(input, padding_idx, by_frequency))


def _check_index(name: str, input: Any, weight: Any) -> None:
    for what, x in (("indices", input), ("weight", weight)):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): argument {what!r} must be Tensor, not {type(x).__name__}")
    index, table = input._outline, weight._outline
    if table.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D in {name}(), got shape {list(table.shape)}")
    if index.dtype.kind != "i" or index.dtype.itemsize < 4:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types:"
            f" Long, Int; but got {of_numpy[index.dtype].short} instead in {name}()"
        )


@preparation
def _check_range(input: Tensor, rows: int) -> None:
    """Raise IndexError for an index, in any sample of a batch, that names no row."""
    wrong = _first_outside(input, rows)
    if wrong is not None:
        raise IndexError(_no_row(wrong[1], rows))


def _no_row(index: int, rows: int) -> str:
    return f"index out of range in self: {index} in a table of {rows} rows"


def _check_range_of_bags(input: Tensor, rows: int) -> None:
    """As `_check_range`, with the class of PyTorch's error for bags."""
    wrong = _first_outside(input, rows)
    if wrong is not None:
        raise RuntimeError(_no_row_of_bag(*wrong, rows))


def _no_row_of_bag(place: int, index: int, rows: int) -> str:
    return (
        f"Index {place} of input takes value {index} which is not in the valid range"
        f" [0, {rows}) in embedding_bag()"
    )


def _first_outside(input: Tensor, rows: int) -> tuple[int, int] | None:
    """The first index that names no row, and where it stands."""
    return None if input._memoryless else _outside(elements_of(input), rows)


def _outside(index: np.ndarray, rows: int) -> tuple[int, int] | None:
    if kernels.scatter.native.within(index, rows):
        return None
    flat = index.reshape(-1)
    place = int(np.flatnonzero((flat < 0) | (flat >= rows))[0])
    return place, int(flat[place])


def _padding_row(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(
            f"Padding_idx must be within num_embeddings, got {padding_idx} for {rows} rows"
        )
    return padding_idx % rows


def _limit_norms(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Shorten, in place, the rows of the table that will be looked up."""
    if isinstance(weight, Tracer):
        raise RuntimeError(
            "embedding(): max_norm shortens rows of 'weight' in place, which a table that vmap,"
            " forward mode or an inner derivative follows does not allow"
        )
    table = weight._array
    used = np.unique(memory_of(input))
    norms = np.linalg.norm(table[used], norm_type, axis=1)
    long = norms > max_norm
    storage.before_write(table)
    table[used[long]] *= (max_norm / (norms[long] + 1e-7))[:, None].astype(table.dtype)
    storage.stamp(table, "embedding", *caller(getframe(1)))


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of `weight` (rows, width) at the indices in `input`, of any shape.

    Row `padding_idx` gets no gradient; rows longer than `max_norm` are shortened in place
    first. With `sparse` the gradient is a sparse tensor, of the rows that were looked up. Raises
    IndexError for an index that names no row.

    >>> import wengert
    >>> table = wengert.tensor([[0., 0.], [1., 2.], [3., 4.]])
    >>> wengert.nn.functional.embedding(wengert.tensor([2, 1]), table)
    tensor([[3., 4.],
            [1., 2.]])
    """
    _check_index("embedding", input, weight)
    rows = weight._outline.shape[0]
    padding = _padding_row(padding_idx, rows)
    if peeks or max_norm is not None or isinstance(input, Tracer):  # else the operation looks
        _check_range(input, rows)
    if max_norm is not None:
        _limit_norms(weight, input, max_norm, norm_type)
    return _embedding(input, weight, padding, scale_grad_by_freq, sparse)


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[Tensor, int]:
    """The number of the bag that each index is in (past the last for none), and how many."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch"
                f" of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        bags, length = input.shape
        return wrap(np.repeat(np.arange(bags), length)), bags
    if input.ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if offsets is None or offsets.ndim != 1:
        raise ValueError(f"offsets has to be a 1D Tensor but got {offsets}")
    _check_offsets(memory_of(offsets), len(input))
    bags = len(offsets) - (include_last_offset and len(offsets) > 0)
    return _bag_numbers(offsets, len(input)), bags


def _check_offsets(starts: np.ndarray, length: int) -> None:
    """Raise RuntimeError unless offsets (..., bags) cut a list of this length."""
    if not starts.size:
        return
    if starts[..., 0].any():
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from"
            f" position 0. However, got {starts[..., 0].max()}"
        )
    if starts[..., -1].max() > length:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {length} but got offsets[-1]"
            f" of {starts[..., -1].max()}"
        )
    if (np.diff(starts) < 0).any():
        raise RuntimeError(f"offsets must not decrease, got {starts.tolist()}")


@primitive(input=None, batch=leading, name="embedding_bag")
def _bag_numbers(input: Value, length: int) -> Value:
    """How many bags have begun at each position, less one."""
    started = np.zeros((*input.shape[:-1], length + 1), np.int64)
    coordinates = np.indices(input.shape, sparse=True)[:-1]
    np.add.at(started, (*coordinates, input), 1)
    return np.cumsum(started, -1)[..., :-1] - 1


def _check_weights(weights: Tensor | None, input: Tensor, mode: str) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    if weights is None:
        return
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported"
            f" for mode='sum' (got mode={mode!r})"
        )
    if weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({weights.shape}) is not None, then it must have"
            f" the same shape as the input ({input.shape})"
        )


def _is_table(input: Any) -> bool:
    return isinstance(input, Tensor) and input._outline.dtype in inexact


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean",
    sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """The sum, mean or maximum of the rows of `weight` at each bag of indices.

    The rows of a 2-D `input` are bags; a 1-D `input` is cut at `offsets`. An empty bag gives
    zeros, and indices equal to `padding_idx` are left out.

    >>> import wengert
    >>> table = wengert.tensor([[1., 1.], [2., 4.], [5., 5.]])
    >>> bags = wengert.tensor([[0, 1], [2, 2]])
    >>> wengert.nn.functional.embedding_bag(bags, table, mode="sum")
    tensor([[ 3.,  5.],
            [10., 10.]])
    """
    if _is_table(input) and isinstance(weight, Tensor) and weight._outline.dtype == np.int64:
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage"
            " `embedding_bag(weight, input, ...)` is deprecated, and should now be"
            " `embedding_bag(input, weight, ...)`."
        )
        input, weight = weight, input
    _check_index("embedding_bag", input, weight)
    _check_weights(per_sample_weights, input, mode)
    rows = weight._outline.shape[0]
    padding = _padding_row(padding_idx, rows)
    whole = padding is None and input.ndim == 2 and offsets is None  # bags have as many rows each
    summed = whole and mode != "max" and per_sample_weights is None and input._outline.size > 0
    bag, bags = (None, 0) if summed else _bags(input, offsets, include_last_offset)
    _check_range_of_bags(input, rows)
    if max_norm is not None:
        _limit_norms(weight, input, max_norm, norm_type)
    if bag is None:
        total = _bag_sums(input, weight, None, scale_grad_by_freq, sparse)
        return total / input.shape[1] if mode == "mean" else total
    flat = input.reshape(-1)
    if padding is not None:  # in no bag
        bag = where(flat == padding, bags, bag)
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    embedded = _embedding(flat, weight, padding if sparse else None, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        embedded = embedded * per_sample_weights.reshape(-1, 1)
    if mode == "max":
        return _max_of_bags(embedded, bag, bags, whole)
    total = add_rows(embedded, bag, bags if whole else bags + 1)
    if whole:
        return total / max(1, input.shape[1]) if mode == "mean" else total
    if mode == "sum":
        return total[:bags]
    return total[:bags] / _counts(embedded, bag, bags).clamp_min(1)


def _counts(embedded: Tensor, bag: Tensor, bags: int) -> Tensor:
    """How many rows each bag has."""
    ones = wrap(np.ones((len(embedded), 1), embedded._outline.dtype))
    return add_rows(ones, bag, bags + 1)[:bags]


def _max_of_bags(embedded: Tensor, bag: Tensor, bags: int, whole: bool) -> Tensor:
    if not len(embedded):
        return add_rows(embedded, bag, bags)
    best = take_along(embedded, _largest(embedded, bag, bags), 0, False)
    return best if whole else where(_counts(embedded, bag, bags) > 0, best, 0)


@primitive(input=None, bag=None, mixed=False, batch=leading, name="embedding_bag")
def _largest(input: Value, bag: Value, bags: int) -> Value:
    """For each bag and column the position of the largest element; 0 for an empty bag."""
    places = np.zeros((*input.shape[:-2], bags, input.shape[-1]), np.int64)
    for k in np.ndindex(input.shape[:-2]):
        places[k] = kernels.scatter.largest_rows(input[k], bag[k], bags)
    return places


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A new last dimension of `num_classes` zeros with a one at each class.

    By default there are as many classes as the largest asks for. Raises RuntimeError for a
    class out of range or a dtype other than int64.

    >>> import wengert
    >>> wengert.nn.functional.one_hot(wengert.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    require_tensor("one_hot", "tensor", tensor)
    classes = tensor._outline
    if classes.dtype != np.int64:
        raise RuntimeError(
            "one_hot is only applicable to index tensor of type LongTensor, got"
            f" {of_numpy[classes.dtype].short}"
        )
    if not classes.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes == -1:
        array: Any = tensor._array
        if type(array) is not np.ndarray:
            raise array.shape_refusal("one_hot without an explicit positive num_classes")
        num_classes = int(memory_of(tensor).max()) + 1
    if peeks and not tensor._memoryless:  # else the operation looks at them
        _look_at_classes(tensor, num_classes)
    return _one_hot(tensor, num_classes)


@preparation
def _look_at_classes(tensor: Tensor, num_classes: int) -> None:
    _check_classes(elements_of(tensor), num_classes)


def _check_classes(indices: np.ndarray, num_classes: int) -> None:
    if kernels.scatter.native.within(indices, num_classes):
        return
    least, most = (int(indices.min()), int(indices.max())) if indices.size else (0, -1)
    if least < 0:
        raise RuntimeError(f"Class values must be non-negative, got {least}")
    if most >= num_classes:
        raise RuntimeError(
            f"Class values must be smaller than num_classes, got {most} and {num_classes}"
        )


@primitive(input=None, batch=lambda b: b(), name="one_hot")
def _one_hot(input: Value, num_classes: int) -> Value:
    _check_classes(input, num_classes)
    out = np.zeros((*input.shape, num_classes), np.int64)
    out.reshape(-1)[np.arange(0, out.size, max(num_classes, 1)) + input.reshape(-1)] = 1
    return out


__all__: list[str] = []
FUNCTIONAL = ("embedding", "embedding_bag", "one_hot")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
