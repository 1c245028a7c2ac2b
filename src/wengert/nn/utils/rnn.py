"""Sequences of different lengths: padded to equal length, or packed without padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor, wrap
from wengert.ops import cat, index_copy, index_select, unbind
from wengert.ops.gathering import elements
from wengert.tensor import full, tensor


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences without padding: the first element of each, then the second ones, and so on.

    Attributes:
        data: the elements.
        batch_sizes: how many sequences have an element at each step.
        sorted_indices: the original positions of the sequences, which are sorted longest first.
        unsorted_indices: the inverse permutation.

    Args:
        data: all elements, those of the same time step side by side.
        batch_sizes: how many sequences reach each time step.
        sorted_indices: the order from the longest sequence to the shortest.
        unsorted_indices: the way back to the original order.

    >>> import wengert
    >>> from wengert.nn.utils.rnn import pack_sequence
    >>> pack_sequence([wengert.tensor([1, 2, 3]), wengert.tensor([4])]).data
    tensor([1, 4, 2, 3])
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, list | tuple) or len(data) != 2:
                raise AssertionError(
                    f"Expected data to be a list or tuple of length 2, got {type(data).__name__}"
                )
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The same sequences in another dtype or on a device, as `Tensor.to`."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """The same sequences on the CPU: these."""
        return self.to(*args, device="cpu", **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """The same sequences on a GPU, of which there is none."""
        return self.to(*args, device="cuda", **kwargs)

    def pin_memory(self) -> Self:
        """The same sequences in page-locked memory, as `Tensor.pin_memory`."""
        return type(self)(self.data.pin_memory(), *self[1:])

    def is_pinned(self) -> bool:
        """Whether the memory of `data` is page-locked."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """Whether `data` is on a GPU."""
        return self.data.is_cuda

    def double(self) -> Self:
        """In float64."""
        return self._changed(self.data.double())

    def float(self) -> Self:
        """In float32."""
        return self._changed(self.data.float())

    def half(self) -> Self:
        """In float16."""
        return self._changed(self.data.half())

    def long(self) -> Self:
        """In int64."""
        return self._changed(self.data.long())

    def int(self) -> Self:
        """In int32."""
        return self._changed(self.data.int())

    def short(self) -> Self:
        """In int16."""
        return self._changed(self.data.short())

    def char(self) -> Self:
        """In int8."""
        return self._changed(self.data.char())

    def byte(self) -> Self:
        """In uint8."""
        return self._changed(self.data.byte())

    def _changed(self, data: Tensor) -> Self:
        return self if data is self.data else type(self)(data, *self[1:])


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another; None for None.

    >>> import wengert
    >>> wengert.nn.utils.rnn.invert_permutation(wengert.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return (
        None
        if permutation is None
        else wrap(np.argsort(elements("invert_permutation", permutation)))
    )


def _lengths(lengths: Any, batch: int) -> np.ndarray:
    """Checked lengths of a batch."""
    if not isinstance(lengths, Tensor):
        lengths = tensor([int(n) for n in lengths])
    array = elements("pack_padded_sequence", lengths)
    if array.ndim != 1:
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got"
            f" {array.ndim}D cpu {of_numpy[array.dtype].short} tensor"
        )
    array = array.astype(np.int64)
    if len(array) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(array)}"
            f" (batch_size={batch})"
        )
    if array.min(initial=1) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths'"
            f" that is <= 0: {array.min()}"
        )
    return array


def _in_layout(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The step of each packed row, and the index of its sequence."""
    steps = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.cumsum(sizes) - sizes
    return steps, np.arange(len(steps)) - starts[steps]


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:  # fmt: skip
    """Leave out the padding of `input` (time, batch, ...), or (batch, time, ...) if `batch_first`.

    `lengths` are the lengths of the sequences, in decreasing order unless `enforce_sorted`
    is False.

    >>> import wengert
    >>> padded = wengert.tensor([[1, 4], [2, 0], [3, 0]])
    >>> wengert.nn.utils.rnn.pack_padded_sequence(padded, [3, 1]).batch_sizes
    tensor([2, 1, 1])
    """
    if input.ndim < 2:
        raise IndexError(
            "Dimension out of range: pack_padded_sequence() expects an input of at least 2"
            f" dimensions, got {list(input.shape)}"
        )
    batch, time = input.shape[:2] if batch_first else (input.shape[1], input.shape[0])
    row_lengths = _lengths(lengths, batch)
    order, sorted_indices = np.arange(batch), None
    if not enforce_sorted:
        order = np.argsort(-row_lengths, kind="stable")
        sorted_indices = wrap(order)
    falling = row_lengths[order]
    if (falling[1:] > falling[:-1]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True."
            f" Got {row_lengths.tolist()}: sort the sequences, or pass `enforce_sorted=False` to"
            " pack_padded_sequence or pack_sequence"
        )
    longest = falling[0] if batch else 0
    if longest > time:
        raise RuntimeError(
            f"pack_padded_sequence() got lengths of up to {longest}, for sequences padded to {time}"
        )
    sizes = (falling > np.arange(longest)[:, None]).sum(1)
    steps, column = _in_layout(sizes)
    rows = order[column] * time + steps if batch_first else steps * batch + order[column]
    data = index_select(input.flatten(0, 1), 0, wrap(rows))
    return PackedSequence(data, wrap(sizes), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Pad packed sequences to the longest, or to `total_length`; and their lengths.

    The result is (time, batch, ...), or (batch, time, ...) if `batch_first`.

    >>> import wengert
    >>> from wengert.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> packed = pack_sequence([wengert.tensor([1, 2, 3]), wengert.tensor([4])])
    >>> pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 0, 0]]), tensor([3, 1]))
    """
    sizes = elements("pad_packed_sequence", sequence.batch_sizes)
    time = len(sizes)
    if total_length is not None:
        if total_length < time:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in"
                f" input, but got total_length={total_length} and max sequence length being {time}"
            )
        time = total_length
    batch = int(sizes[0])
    lengths = (sizes > np.arange(batch)[:, None]).sum(1)
    steps, column = _in_layout(sizes)
    if sequence.sorted_indices is not None:
        order = elements("pad_packed_sequence", sequence.sorted_indices)
        column = order[column]
        lengths = lengths[np.argsort(order)]
    rows = column * time + steps if batch_first else steps * batch + column
    data = sequence.data
    flat = _constant_rows(data, batch * time, padding_value)
    padded = index_copy(flat, 0, wrap(rows), data)
    shape = (batch, time) if batch_first else (time, batch)
    return padded.reshape(*shape, *data.shape[1:]), wrap(lengths)


def _constant_rows(like: Tensor, rows: int, value: float) -> Tensor:
    return full((rows, *like.shape[1:]), value, dtype=like.dtype)


def pad_sequence(
    sequences: Tensor | Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:  # fmt: skip
    """Stack sequences (length, ...), each padded to the longest.

    The result is (time, batch, ...), or (batch, time, ...) if `batch_first`.

    >>> import wengert
    >>> sequences = [wengert.tensor([1, 2, 3]), wengert.tensor([4])]
    >>> wengert.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=-1)
    tensor([[ 1,  2,  3],
            [ 4, -1, -1]])
    """
    if isinstance(sequences, Tensor):
        sequences = unbind(sequences)
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type:"
            f" {type(sequences)}"
        )
    several = _checked_sequences(tuple(sequences))
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    lengths = np.array([s.shape[0] for s in several])
    batch, time = len(several), int(lengths.max())
    column = np.repeat(np.arange(batch), lengths)
    steps = np.arange(len(column)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    if padding_side == "left":
        steps += (time - lengths)[column]
    rows = column * time + steps if batch_first else steps * batch + column
    dtype = several[0].dtype
    data = cat([s.to(dtype) for s in several])
    padded = index_copy(_constant_rows(data, batch * time, padding_value), 0, wrap(rows), data)
    shape = (batch, time) if batch_first else (time, batch)
    return padded.reshape(*shape, *data.shape[1:])


def _checked_sequences(sequences: tuple[Any, ...]) -> tuple[Tensor, ...]:
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    for k, s in enumerate(sequences):
        if not isinstance(s, Tensor):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0, but got {type(s).__name__}"
            )
        if not s.ndim or s.shape[1:] != sequences[0].shape[1:]:
            raise RuntimeError(
                "pad_sequence() expects sequences (length, ...) that agree in all other"
                f" dimensions, got {list(sequences[0].shape)} at 0 and {list(s.shape)} at {k}"
            )
    return sequences


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Return the sequences of a padded batch (time, batch, ...), cut to `lengths`.

    >>> import wengert
    >>> padded = wengert.tensor([[1, 2, 3], [4, 0, 0]])
    >>> wengert.nn.utils.rnn.unpad_sequence(padded, wengert.tensor([3, 1]), batch_first=True)
    [tensor([1, 2, 3]), tensor([4])]
    """
    each = unbind(padded_sequences, 0 if batch_first else 1)
    counts = elements("unpad_sequence", lengths).tolist()
    return [s[:n] for s, n in zip(each, counts, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (length, ...), the longest first unless `enforce_sorted` is False.

    >>> import wengert
    >>> sequences = [wengert.tensor([4]), wengert.tensor([1, 2, 3])]
    >>> wengert.nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False).sorted_indices
    tensor([1, 0])
    """
    lengths = [s.shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the packed sequences.

    >>> import wengert
    >>> from wengert.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([wengert.tensor([1, 2, 3]), wengert.tensor([4])]))
    [tensor([1, 2, 3]), tensor([4])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
