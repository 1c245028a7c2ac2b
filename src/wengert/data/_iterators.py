"""One epoch of a DataLoader: in this process, or by workers."""

from __future__ import annotations

import warnings
from collections import deque
from time import monotonic
from typing import Any

from wengert.core.generators import default_generator
from wengert.data._loop import Failure, Job, NewEpoch, StreamEnded, Task
from wengert.data._workers import Crew, Worker
from wengert.data.fetch import DatasetKind, DatasetReader
from wengert.data.sampler import seed_from


class Epoch:
    """Base class of both iterators: the sampler's indices, and the number of batches yielded."""

    def __init__(self, loader: Any) -> None:
        self._sampler = loader._index_sampler
        self._indices = iter(self._sampler)
        # Drawn even without workers, as in PyTorch, so that later draws agree with it.
        self._base_seed = seed_from(loader.generator or default_generator)
        self._reader = DatasetReader(
            loader.dataset,
            loader.collate_fn,
            loader._dataset_kind == DatasetKind.Iterable,
            loader._auto_collation,
            loader.drop_last,
        )
        self._count = 0
        self._promised: int | None = loader._IterableDataset_len_called

    def __iter__(self) -> Epoch:
        return self

    def __len__(self) -> int:
        return len(self._sampler)

    def __next__(self) -> Any:
        batch = self._next()
        self._count += 1
        if self._promised is not None and self._count > self._promised:
            warnings.warn(
                f"Length of IterableDataset {self._reader.dataset} was reported to be"
                f" {self._promised} (when accessing len(dataloader)), but {self._count} samples"
                " have been fetched; every worker reads all of a stream that does not ask"
                " get_worker_info() for its part",
                UserWarning,
                stacklevel=2,
            )
        return batch

    def _next(self) -> Any:
        raise NotImplementedError


class LocalEpoch(Epoch):
    """Batches made on demand."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._fetch = self._reader.start()

    def _next(self) -> Any:
        return self._fetch(next(self._indices))


class WorkerEpoch(Epoch):
    """Batches prefetched by workers.

    Tasks are numbered and distributed round-robin. At most `prefetch_factor` times the number of
    workers are in flight or waiting to be yielded; a worker has a slot for each of its own.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._prefetch = loader.prefetch_factor
        self._timeout, self._in_order = loader.timeout, loader.in_order
        self._persistent = loader.persistent_workers
        n = loader.num_workers
        jobs = [Job(k, n, self._base_seed, self._reader, loader.worker_init_fn) for k in range(n)]
        self._crew = Crew(loader.multiprocessing_context, jobs, self._prefetch, self)
        self._number = 0
        self._begin()

    def again(self, loader: Any) -> None:
        """Start another epoch with the same workers."""
        self._indices, self._count = iter(self._sampler), 0
        for worker in self._crew.workers:
            self._crew.send(worker, NewEpoch())
        self._begin()

    @property
    def stopped(self) -> bool:
        """Whether the workers are gone."""
        return self._crew.stopped

    def _begin(self) -> None:
        self._first = self._number  # answers to earlier tasks are from an abandoned epoch
        self._pending: deque[int] = deque()  # tasks whose batches were not yielded, in order
        self._results: dict[int, Any] = {}
        self._working = deque(self._crew.workers)  # the next one to get a task first
        self._more = True
        self._assign()

    def _assign(self) -> None:
        while self._more and len(self._pending) < self._prefetch * len(self._working):
            worker = self._free_worker()
            if worker is None:
                return
            try:
                indices = next(self._indices)
            except StopIteration:
                self._more = False
                return
            self._crew.send(worker, Task(self._number, worker.take_slot(self._number), indices))
            self._pending.append(self._number)
            self._number += 1
            self._working.remove(worker)
            self._working.append(worker)

    def _free_worker(self) -> Worker | None:
        # In order, the turns are kept to, so that streams are merged the same way every time.
        candidates = list(self._working)[:1] if self._in_order else self._working
        return next((w for w in candidates if w.free), None)

    def _next(self) -> Any:
        deadline = monotonic() + self._timeout if self._timeout else None
        while True:
            number = self._ready()
            if number is not None:
                break
            # Without free slots, answers to an epoch that was left early come first.
            if not self._pending and not (self._more and self._working):
                if not self._persistent:
                    self._crew.stop()
                raise StopIteration
            for number, worker, sizes in self._crew.receive(deadline, self._timeout):
                self._take(number, worker, sizes)
            self._assign()
        self._pending.remove(number)
        result = self._results.pop(number)
        self._assign()
        if isinstance(result, Failure):
            result.reraise()
        return result

    def _ready(self) -> int | None:
        """The number of the batch to yield now, if it has come."""
        candidates = list(self._pending)[:1] if self._in_order else self._pending
        return next((n for n in candidates if n in self._results), None)

    def _take(self, number: int, worker: Worker, sizes: list[int]) -> None:
        try:
            result = worker.read(number, sizes)
        except Exception:  # a batch that cannot be unpickled will never arrive
            if number >= self._first:
                self._pending.remove(number)
            raise
        if number < self._first:
            return
        if isinstance(result, StreamEnded):
            self._pending.remove(number)
            if worker in self._working:
                self._working.remove(worker)
        else:
            self._results[number] = result
