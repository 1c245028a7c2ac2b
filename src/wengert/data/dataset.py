"""Datasets: samples by index or in a stream."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from wengert.core.generators import Generator, default_generator
from wengert.core.tensor import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index; subclasses define `__getitem__`, and `__len__` for the samplers.

    If it also defines `__getitems__(indices)`, that is called for a whole batch at once.

    >>> from wengert.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> Squares()[3]
    9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples in a stream; subclasses define `__iter__`.

    >>> from wengert.utils.data import IterableDataset
    >>> class Words(IterableDataset):
    ...     def __iter__(self):
    ...         return iter("to be or not".split())
    >>> list(Words())
    ['to', 'be', 'or', 'not']
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of several tensors: sample i is row i of each.

    >>> import wengert
    >>> from wengert.utils.data import TensorDataset
    >>> TensorDataset(wengert.tensor([1, 2]), wengert.tensor([3, 4]))[0]
    (tensor(1), tensor(3))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [t._array.shape[0] for t in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(f"Size mismatch between tensors: first dimensions are {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0]._array.shape[0])


class StackDataset(Dataset[T_co]):
    """Several datasets side by side: a sample is a tuple, or by keyword a dict, of one of each.

    >>> from wengert.utils.data import StackDataset
    >>> StackDataset("ab", [1, 2])[1], StackDataset(x="ab", n=[1, 2])[1]
    (('b', 2), {'x': 'b', 'n': 2})
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like"
                f" input/output, but both types are given: {len(args)} and {sorted(kwargs)}"
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = kwargs or args
        lengths = [len(dataset) for dataset in self._parts()]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: their lengths are {lengths}")
        self._length = lengths[0]

    def _parts(self) -> list[Any]:
        datasets = self.datasets
        return list(datasets.values() if isinstance(datasets, dict) else datasets)

    def _sample(self, values: Any) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, values, strict=True))
        return tuple(values)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([dataset[index] for dataset in self._parts()])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = [_samples_of(dataset, indices) for dataset in self._parts()]
        return [self._sample(values) for values in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


def _samples_of(dataset: Any, indices: list[Any]) -> Any:
    """The samples at some indices, fetched at once if the dataset supports it."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    samples = dataset.__getitems__(indices)
    if len(samples) != len(indices):
        raise ValueError(
            "Nested dataset's output size mismatch."
            f" Expected {len(indices)}, got {len(samples)} from {type(dataset).__name__}"
        )
    return samples


class ConcatDataset(Dataset[T_co]):
    """Several datasets, one after the other.

    >>> from wengert.utils.data import ConcatDataset
    >>> ConcatDataset([[1, 2], [3]])[2]
    3
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError(
                    "absolute value of index should not exceed dataset length, got"
                    f" {idx} for length {len(self)}"
                )
            idx += len(self)
        if idx >= len(self):
            raise IndexError(f"index {idx} is out of range for length {len(self)}")
        which = bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - before]


class ChainDataset(IterableDataset[T_co]):
    """Several streams, one after the other.

    >>> from wengert.utils.data import ChainDataset
    >>> list(ChainDataset([]))
    []
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for d in self.datasets:
            _check_stream(d)
            yield from d

    def __len__(self) -> int:
        total = 0
        for d in self.datasets:
            _check_stream(d)
            total += len(d)
        return total


def _check_stream(dataset: Any) -> None:
    if not isinstance(dataset, IterableDataset):
        raise AssertionError(
            f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}"
        )


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices.

    >>> from wengert.utils.data import Subset
    >>> list(Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__, which the DataLoader"
                " calls; define def __getitems__(self, indices): return"
                " [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        chosen = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[i] for i in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator | None = default_generator
) -> list[Subset[Any]]:
    """Split a dataset at random into parts of the given lengths, or fractions that sum to 1.

    >>> from wengert.utils.data import random_split
    >>> [len(part) for part in random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of(lengths, len(dataset))
    if sum(lengths) != len(dataset):
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset! Got"
            f" {list(lengths)} for {len(dataset)} samples"
        )
    order = (generator or default_generator).permutation(len(dataset)).tolist()
    ends = accumulate(int(n) for n in lengths)
    return [
        Subset(dataset, order[end - int(n) : end]) for end, n in zip(ends, lengths, strict=True)
    ]


def _lengths_of(fractions: Sequence[float], total: int) -> list[int]:
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1, got {fraction}")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):  # distribute the remainder round-robin
        lengths[i % len(lengths)] += 1
    for i, n in enumerate(lengths):
        if n == 0:
            warnings.warn(
                f"Length of split at index {i} is 0. This might result in an empty dataset.",
                UserWarning,
                stacklevel=3,
            )
    return lengths


__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]
