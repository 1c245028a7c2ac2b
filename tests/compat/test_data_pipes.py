"""Loaders and pipes that are derived from PyTorch's private classes, against PyTorch's."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import wengert
from wengert.compat._private import helpers, loaders, worker_seeds
from wengert.compat._private.pipes import graphs, iterated, settings, wrapped
from wengert.data import worker
from wengert.utils.data import DataLoader, IterableDataset

OURS = SimpleNamespace(
    library=wengert, loaders=loaders, pipes=wrapped, loader=DataLoader, stream=IterableDataset,
    settings=settings, graph=graphs, wrapper=helpers.ExceptionWrapper,
    shuffler=iterated.Shuffler,
)  # fmt: skip


def theirs(torch: ModuleType) -> SimpleNamespace:
    import torch.utils.data.datapipes.datapipe
    import torch.utils.data.graph
    import torch.utils.data.graph_settings as of_graphs

    data = torch.utils.data
    return SimpleNamespace(
        library=torch, loaders=data.dataloader, pipes=data.datapipes.datapipe,
        loader=data.DataLoader, stream=data.IterableDataset, settings=of_graphs, graph=data.graph,
        wrapper=torch._utils.ExceptionWrapper, shuffler=data.datapipes.iter.Shuffler,
    )  # fmt: skip


def epochs(kind: SimpleNamespace, streams: bool, **options: Any) -> list[Any]:
    """Two epochs of an iterator that is derived from the base class."""

    class Stream(kind.stream):  # type: ignore[name-defined]
        def __iter__(self) -> Any:
            return iter(range(7))

    class Epoch(kind.loaders._BaseDataLoaderIter):  # type: ignore[name-defined]
        def __init__(self, loader: Any) -> None:
            super().__init__(loader)
            self.fetcher = kind.loaders._DatasetKind.create_fetcher(
                self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn,
                self._drop_last,
            )  # fmt: skip

        def _next_data(self) -> Any:
            return self.fetcher.fetch(self._next_index())

    kind.library.manual_seed(3)
    found = []
    loader = kind.loader(Stream() if streams else list(range(7)), **options)
    assert isinstance(iter(loader), kind.loaders._BaseDataLoaderIter)
    for _ in range(2):
        epoch = Epoch(loader)
        batches = [batch.tolist() if hasattr(batch, "tolist") else batch for batch in epoch]
        found.append((batches, epoch._num_yielded, epoch._base_seed, epoch._rank))
        assert getattr(epoch.fetcher, "ended", True) is (options.get("batch_size", 1) is not None)
    return found


@pytest.mark.torch
@pytest.mark.parametrize("options", [
    {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None},
])  # fmt: skip
def test_derived_epochs(torch: Any, options: dict[str, Any]) -> None:
    kinds = (OURS, theirs(torch))
    assert epochs(kinds[0], True, **options) == epochs(kinds[1], True, **options)
    if options["batch_size"] is not None:
        options = {**options, "shuffle": True}
        assert epochs(kinds[0], False, **options) == epochs(kinds[1], False, **options)


def settled(kind: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the settings of a graph do to its pipes."""

    class Source(kind.pipes.IterDataPipe):  # type: ignore[name-defined]
        def __init__(self) -> None:
            self.part, self.seed, self.shuffled = (1, 0), 0, False

        def __iter__(self) -> Any:
            n, k = self.part
            return iter(range(k, 6, n))

        def is_shardable(self) -> bool:
            return True

        def apply_sharding(self, num_of_instances: int, instance_id: int) -> None:
            self.part = (num_of_instances, instance_id)

        def set_seed(self, seed: int) -> None:
            self.seed = seed

    class Both(kind.pipes.IterDataPipe):  # type: ignore[name-defined]
        def __init__(self, *pipes: Any) -> None:
            self.pipes = pipes

        def __iter__(self) -> Any:
            for pipe in self.pipes:
                yield from pipe

    for pipe_class in (Source, Both):  # PyTorch finds pipes by pickling
        pipe_class.__qualname__ = pipe_class.__name__
        monkeypatch.setitem(globals(), pipe_class.__name__, pipe_class)
    sources = Source(), Source()
    pipe = Both(*sources)
    graph = kind.graph.traverse_dps(pipe)
    assert set(graph) == {id(pipe)}
    assert set(graph[id(pipe)][1]) == {id(source) for source in sources}
    assert kind.settings.get_all_graph_pipes(graph) == [pipe, *sources]
    assert kind.settings.apply_sharding(pipe, 2, 1) is pipe
    rng = kind.library.Generator().manual_seed(5)
    assert kind.settings.apply_random_seed(pipe, rng) is pipe
    assert kind.settings.apply_shuffle_settings(pipe) is pipe
    wrapped = kind.pipes._IterDataPipeSerializationWrapper(pipe)
    return [list(wrapped), [isinstance(s.seed, int) and s.seed != 0 for s in sources]]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*[Dd]ata[Pp]ipe")
def test_settings_of_pipes(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [settled(kind, monkeypatch) for kind in (OURS, theirs(torch))]
    assert found[0] == found[1] == [[1, 3, 5] * 2, [True] * 2]


def shuffled(kind: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The orders of a shuffler by itself, by the settings of its graph, and without."""

    class Count(kind.pipes.IterDataPipe):  # type: ignore[name-defined]
        def __iter__(self) -> Any:
            return iter(range(9))

        def __len__(self) -> int:
            return 9

    Count.__qualname__ = "Count"
    monkeypatch.setitem(globals(), "Count", Count)
    shuffler = kind.shuffler(Count(), buffer_size=4)
    kind.library.manual_seed(1)
    found = [list(shuffler), list(shuffler), list(shuffler.set_seed(3)), len(shuffler)]
    kind.settings.apply_random_seed(shuffler, kind.library.Generator().manual_seed(8))
    found.append(list(shuffler))
    found.append(list(kind.settings.apply_shuffle_settings(shuffler, False)))
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        added = kind.settings.apply_shuffle_settings(Count(), True)
    found.append(list(added.set_seed(2)))
    with pytest.raises(AssertionError, match="buffer_size should be larger than 0"):
        kind.shuffler(Count(), buffer_size=0)
    return found


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*[Dd]ata[Pp]ipe")
def test_shuffled_pipes(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [shuffled(kind, monkeypatch) for kind in (OURS, theirs(torch))]
    assert found[0] == found[1]


@pytest.mark.torch
@pytest.mark.parametrize("error", [ValueError("no"), KeyError("no"), UnicodeDecodeError])
def test_exceptions_of_elsewhere(torch: Any, error: Any) -> None:
    found = []
    for wrapper in (OURS.wrapper, torch._utils.ExceptionWrapper):
        try:
            raise error if isinstance(error, Exception) else error("utf-8", b"", 0, 1, "no")
        except Exception:
            caught = wrapper(where="in a worker")
        with pytest.raises(Exception, match=r"Caught \w+ in a worker\.\sOriginal Trace") as raised:
            caught.reraise()
        found.append((raised.type, caught.exc_type, caught.where))
    assert found[0] == found[1]


def test_what_workers_of_packages_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worker_seeds.ManagerWatchdog().is_alive()
    part = wrapped.IterDataPipe[int]()
    part.apply_sharding = lambda n, k: setattr(part, "part", (n, k))  # type: ignore[attr-defined]
    called = []
    with pytest.raises(RuntimeError, match="no worker"):
        loaders._sharding_worker_init_fn(called.append, 2, 1, 3)
    monkeypatch.setattr(worker, "_worker_info", worker.WorkerInfo(3, 4, 0, part))
    loaders._sharding_worker_init_fn(called.append, 2, 1, 3)
    assert (part.part, called) == ((8, 7), [3])  # type: ignore[attr-defined]
