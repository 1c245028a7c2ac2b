"""Samplers: the order and the batches in which a dataset is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np

from wengert.core.generators import Generator, default_generator
from wengert.core.tensor import Tensor, wrap

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Indices in some order; subclasses define `__iter__`, and `__len__` if there is one.

    >>> from wengert.utils.data import Sampler
    >>> class Evens(Sampler):
    ...     def __iter__(self):
    ...         return iter(range(0, 6, 2))
    >>> list(Evens())
    [0, 2, 4]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__()")


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ...

    >>> from wengert.utils.data import SequentialSampler
    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def seed_from(generator: Generator) -> int:
    """A seed for another generator, drawn as in PyTorch."""
    return int(generator.integers((), 0, 2**63))


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class RandomSampler(Sampler[int]):
    """All indices in random order, or with `replacement` drawn one by one.

    >>> import wengert
    >>> from wengert.utils.data import RandomSampler
    >>> g = wengert.Generator().manual_seed(0)
    >>> sorted(RandomSampler(range(4), generator=g))
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices per pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, generator = len(self.data_source), self.generator
        if generator is None:
            generator = Generator().manual_seed(seed_from(default_generator))
        rounds, remainder = divmod(self.num_samples, 32 if self.replacement else n)
        if self.replacement:
            for count in [32] * rounds + [remainder]:
                yield from generator.integers((count,), 0, n).tolist()
        else:
            for _ in range(rounds):
                yield from generator.permutation(n).tolist()
            yield from generator.permutation(n).tolist()[:remainder]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    >>> from wengert.utils.data import SubsetRandomSampler
    >>> sorted(SubsetRandomSampler([7, 5, 3]))
    [3, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in (self.generator or default_generator).permutation(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities proportional to weights.

    >>> from wengert.utils.data import WeightedRandomSampler
    >>> list(WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        values = weights._array if isinstance(weights, Tensor) else weights
        array = np.array(values, np.float64)
        if array.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {array.shape}"
            )
        self.weights = wrap(array)
        self.num_samples, self.replacement = num_samples, replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        from wengert.tensor.random import multinomial

        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of `batch_size`.

    >>> from wengert.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        full, remainder = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return full + (remainder > 0 and not self.drop_last)


__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]
