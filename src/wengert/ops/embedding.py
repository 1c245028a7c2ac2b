"""Tables of vectors: rows by index, bags of rows, and one-hot rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import _storage
from wengert._core import Tensor, caller, getframe, wrap
from wengert._dtypes import of_numpy
from wengert.kernels.precision import narrowed, widened
from wengert.kernels.scatter import sum_at
from wengert.ops._declare import Value, multilinear
from wengert.ops._variadic import require_tensor
from wengert.ops.extrema import take_along


def _shares(index: np.ndarray, padding_idx: int | None, by_frequency: bool) -> np.ndarray | None:
    """What each looked-up row counts for in the gradient, where that is not one for all."""
    if padding_idx is None and not by_frequency:
        return None
    share = np.ones(index.shape)
    if by_frequency:
        _, inverse, counts = np.unique(index, return_inverse=True, return_counts=True)
        share /= counts[inverse.reshape(index.shape)]
    if padding_idx is not None:
        share[index == padding_idx] = 0
    return share[..., None]


def _shared(rows: np.ndarray, share: np.ndarray | None) -> np.ndarray:
    return rows if share is None else rows * share.astype(rows.dtype)


@multilinear(
    mixed=False,
    label="EmbeddingBackward0",
    input=None,
    weight=lambda g, input, weight_shape, padding_idx, by_frequency: add_rows(
        g, input, weight_shape[0], padding_idx, by_frequency
    ),
)
def _embedding(
    input: Value, weight: Value, padding_idx: int | None = None, by_frequency: bool = False
) -> Value:
    return np.take(weight, input, axis=0)


@multilinear(
    mixed=False,
    grad=lambda g, input, padding_idx, by_frequency: _weighed_rows(
        g, input, padding_idx, by_frequency
    ),
    input=None,
    name="embedding_backward",
)
def add_rows(
    grad: Value, input: Value, rows: int, padding_idx: int | None = None, by_frequency: bool = False
) -> Value:
    """Zeros (rows, width), and each row of `grad` (..., width) added where the index says."""
    wide = widened(grad)
    wide = _shared(wide, _shares(input, padding_idx, by_frequency))
    return narrowed(sum_at((rows, grad.shape[-1]), (input,), wide), grad.dtype)


@multilinear(
    mixed=False,
    grad=lambda g, input, grad_shape, padding_idx, by_frequency: add_rows(
        g, input, grad_shape[0], padding_idx, by_frequency
    ),
    input=None,
    name="embedding_backward",
)
def _weighed_rows(grad: Value, input: Value, padding_idx: int | None, by_frequency: bool) -> Value:
    """The adjoint of `add_rows`."""
    return _shared(np.take(grad, input, axis=0), _shares(input, padding_idx, by_frequency))


def _check_index(name: str, input: Any, weight: Any) -> np.ndarray:
    for what, x in (("indices", input), ("weight", weight)):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): argument {what!r} must be Tensor, not {type(x).__name__}")
    index, table = input._array, weight._array
    if table.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D in {name}(), got shape {list(table.shape)}")
    if index.dtype.kind != "i" or index.dtype.itemsize < 4:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types:"
            f" Long, Int; but got {of_numpy[index.dtype].short} instead in {name}()"
        )
    return index


def _check_range(index: np.ndarray, rows: int) -> None:
    if index.size and not 0 <= int(index.min()) <= int(index.max()) < rows:
        wrong = index[(index < 0) | (index >= rows)].flat[0]
        raise IndexError(f"index out of range in self: {wrong} in a table of {rows} rows")


def _padding_row(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(
            f"Padding_idx must be within num_embeddings, got {padding_idx} for {rows} rows"
        )
    return padding_idx % rows


def _limit_norms(weight: Tensor, index: np.ndarray, max_norm: float, norm_type: float) -> None:
    """Shorten, in place, the rows of the table that will be looked up."""
    table = weight._array
    used = np.unique(index)
    norms = np.linalg.norm(table[used], norm_type, axis=1)
    long = norms > max_norm
    _storage.before_write(table)
    table[used[long]] *= (max_norm / (norms[long] + 1e-7))[:, None].astype(table.dtype)
    _storage.stamp(table, "embedding", *caller(getframe(1)))


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of `weight` (rows, width) at the indices in `input`, of any shape.

    Row `padding_idx` gets no gradient; rows longer than `max_norm` are shortened in place
    first. Gradients are dense, also with `sparse`. Raises IndexError for an index that names
    no row.

    >>> import wengert
    >>> table = wengert.tensor([[0., 0.], [1., 2.], [3., 4.]])
    >>> wengert.nn.functional.embedding(wengert.tensor([2, 1]), table)
    tensor([[3., 4.],
            [1., 2.]])
    """
    index = _check_index("embedding", input, weight)
    rows = weight._array.shape[0]
    padding = _padding_row(padding_idx, rows)
    _check_range(index, rows)
    if max_norm is not None:
        _limit_norms(weight, index, max_norm, norm_type)
    return _embedding(input, weight, padding, scale_grad_by_freq)


def _bags(
    input: Tensor, index: np.ndarray, offsets: Tensor | None, include_last_offset: bool
) -> np.ndarray:
    """Where each bag begins in the flat index, and the end of the last."""
    if index.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch"
                f" of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        return np.arange(index.shape[0] + 1) * index.shape[1]
    if index.ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {index.ndim}"
        )
    if offsets is None or offsets._array.ndim != 1:
        raise ValueError(f"offsets has to be a 1D Tensor but got {offsets}")
    starts = offsets._array
    if len(starts) and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from"
            f" position 0. However, got {starts[0]}"
        )
    if len(starts) and starts[-1] > len(index):
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {len(index)} but got offsets[-1]"
            f" of {starts[-1]}"
        )
    if (np.diff(starts) < 0).any():
        raise RuntimeError(f"offsets must not decrease, got {starts.tolist()}")
    return starts if include_last_offset else np.append(starts, len(index))


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


def _largest(rows: np.ndarray, bag: np.ndarray, bags: int) -> np.ndarray:
    """For each bag and column the position of the largest element; 0 for an empty bag."""
    where = np.zeros((bags, rows.shape[1]), np.int64)
    for b in np.unique(bag):
        inside = np.flatnonzero(bag == b)
        where[b] = inside[rows[inside].argmax(0)]
    return where


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
    index = _check_index("embedding_bag", input, weight)
    _check_weights(per_sample_weights, input, mode)
    ends = _bags(input, index, offsets, include_last_offset)
    bag = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    flat = index.ravel()[: ends[-1] if len(ends) else 0]
    rows = weight._array.shape[0]
    _check_range(flat, rows)
    padding = _padding_row(padding_idx, rows)
    weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)[: len(flat)]
    if padding is not None:
        kept = np.flatnonzero(flat != padding)
        flat, bag = flat[kept], bag[kept]
        weights = None if weights is None else weights[wrap(kept)]
    if max_norm is not None:
        _limit_norms(weight, flat, max_norm, norm_type)
    taken = _embedding(wrap(flat), weight, None, scale_grad_by_freq)
    return _reduced(taken, weights, bag, len(ends) - 1, mode)


def _reduced(
    taken: Tensor, weights: Tensor | None, bag: np.ndarray, bags: int, mode: str
) -> Tensor:
    dtype = taken._array.dtype
    counts = np.bincount(bag, minlength=bags)[:, None]
    if mode == "max":
        if not len(bag):
            return add_rows(taken, bag, bags)
        best = take_along(taken, _largest(taken._array, bag, bags), 0, False)
        return best * wrap((counts > 0).astype(dtype))
    if weights is not None:
        taken = taken * weights.unsqueeze(-1)
    total = add_rows(taken, bag, bags)
    return total if mode == "sum" else total * wrap((1 / np.maximum(counts, 1)).astype(dtype))


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
    classes = tensor._array
    if classes.dtype != np.int64:
        raise RuntimeError(
            "one_hot is only applicable to index tensor of type LongTensor, got"
            f" {of_numpy[classes.dtype].short}"
        )
    if not classes.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    least, most = (int(classes.min()), int(classes.max())) if classes.size else (0, -1)
    if least < 0:
        raise RuntimeError(f"Class values must be non-negative, got {least}")
    count = most + 1 if num_classes == -1 else num_classes
    if most >= count:
        raise RuntimeError(
            f"Class values must be smaller than num_classes, got {most} and {num_classes}"
        )
    out = np.zeros((*classes.shape, count), np.int64)
    np.put_along_axis(out, classes[..., None], 1, axis=-1)
    return wrap(out)


__all__: list[str] = []
FUNCTIONAL = ("embedding", "embedding_bag", "one_hot")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
