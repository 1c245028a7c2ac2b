"""The DataLoader's worker processes: what they yield, and how they end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert
from tests.data import workers as w
from tests.garbage import garbage_of
from tests.source import ROOT
from wengert.utils import data


@pytest.fixture(autouse=True, scope="module")
def forked() -> Iterator[None]:
    """Datasets may be local classes; since Python 3.14 Linux has another default."""
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("fork", force=True)
    yield
    multiprocessing.set_start_method(before, force=True)


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    """After each test, all workers have ended and been waited for."""
    yield
    gc.collect()
    assert active_children() == []


def flat(epoch: Any) -> list[Any]:
    """The batches of an epoch as lists."""
    return [
        [x.tolist() if hasattr(x, "tolist") else x for x in batch]
        if isinstance(batch, list | tuple)
        else batch.tolist()
        for batch in epoch
    ]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"shuffle": True, "drop_last": True},
    {"shuffle": True, "persistent_workers": True},
    {"shuffle": True, "prefetch_factor": 4, "batch_size": 1},
    {"sampler": [3, 1, 4, 1, 5], "batch_size": 2},
    {"batch_sampler": [[0, 1], [5], [2, 3, 4]]},
    {"batch_size": None},
]


@pytest.mark.torch
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seeded", [False, True])
def test_batches_orders_and_seeds_are_pytorchs(
    options: dict[str, Any], seeded: bool, torch: Any
) -> None:
    if "batch_sampler" not in options:
        options = {"batch_size": 3, **options}
    stories = []
    for library in (wengert, torch):
        library.manual_seed(3)
        g = library.Generator().manual_seed(9) if seeded else None
        dataset = w.Numbered(library.__name__)
        loader = library.utils.data.DataLoader(dataset, generator=g, num_workers=2, **options)
        epochs = [flat(loader) for _ in range(2)]
        stories.append([epochs, len(loader), library.rand(1).item()])
    assert stories[0] == stories[1]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start(method: str) -> None:
    epochs = []
    for context in (get_context("fork"), method):
        wengert.manual_seed(3)
        loader = data.DataLoader(
            w.Numbered("wengert", 4), 2, num_workers=1, multiprocessing_context=context
        )
        epochs.append(flat(loader))
    assert epochs[0] == epochs[1]


class Shards(data.IterableDataset):
    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        return w.shard(self.n, "wengert")


@pytest.mark.torch
@pytest.mark.parametrize("options", [{"batch_size": 2}, {"batch_size": None},
                                     {"batch_size": 2, "drop_last": True}])  # fmt: skip
@pytest.mark.parametrize("persistent", [False, True])
def test_streams(options: dict[str, Any], persistent: bool, torch: Any) -> None:
    class Theirs(torch.utils.data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Iterator[int]:
            return w.shard(11, "torch")

    options |= {"num_workers": 2, "persistent_workers": persistent}
    ours = data.DataLoader(Shards(11), **options)
    theirs = torch.utils.data.DataLoader(Theirs(), **options)
    for _ in range(2):
        assert [repr(b) for b in ours] == [repr(b) for b in theirs]


def test_streams_of_unequal_length() -> None:
    class Unequal(data.IterableDataset):
        def __iter__(self) -> Iterator[int]:
            info = data.get_worker_info()
            assert info is not None
            return iter(range(100 * info.id, 100 * info.id + (1, 9, 4)[info.id]))

    loader = data.DataLoader(Unequal(), None, num_workers=3)
    assert list(loader) == [0, 100, 200, 101, 201, 102, 202, 103, 203, 104, 105, 106, 107, 108]
    freely = data.DataLoader(Unequal(), None, num_workers=3, in_order=False)
    assert sorted(freely) == sorted(loader)


def appears(path: Path, within: float = 60.0) -> bool:
    """Whether there is a file in time."""
    deadline = time.monotonic() + within
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return path.exists()


class Waiting(data.Dataset):
    """0, 1, 2, ..., each a file when it is made; the first is made once there is another file."""

    def __init__(self, folder: Path, until: str) -> None:
        self.folder, self.until = folder, until

    def __getitem__(self, index: int) -> int:
        assert index or appears(self.folder / self.until)
        (self.folder / str(index)).touch()
        return index

    def __len__(self) -> int:
        return 6


def test_batches_come_in_order_though_others_are_ready(tmp_path: Path) -> None:
    assert list(data.DataLoader(Waiting(tmp_path, "3"), None, num_workers=2)) == list(range(6))


def test_batches_come_as_they_are_ready_if_not_in_order(tmp_path: Path) -> None:
    loader = data.DataLoader(Waiting(tmp_path, "received"), None, num_workers=2, in_order=False)
    epoch = iter(loader)
    assert next(epoch) == 1
    (tmp_path / "received").touch()
    assert sorted(epoch) == [0, 2, 3, 4, 5]


def test_workers_that_persist_are_the_same_processes() -> None:
    dataset = w.Doing(0, os.getpid, n=1)
    kept = data.DataLoader(dataset, None, num_workers=1, persistent_workers=True)
    assert next(iter(kept)) == next(iter(kept)) != os.getpid()
    fresh = data.DataLoader(dataset, None, num_workers=1)
    assert next(iter(fresh)) != next(iter(fresh))


def test_an_epoch_left_early_leaves_nothing_to_the_next() -> None:
    loader = data.DataLoader(range(20), 2, num_workers=2, persistent_workers=True)
    for _ in range(3):
        assert next(iter(loader)).tolist() == [0, 1]
    assert flat(loader) == [[2 * i, 2 * i + 1] for i in range(10)]


def test_two_epochs_at_once() -> None:
    loader = data.DataLoader(range(4), 2, num_workers=1)
    assert [(a.tolist(), b.tolist()) for a, b in zip(loader, loader, strict=True)] == [
        ([0, 1], [0, 1]), ([2, 3], [2, 3])
    ]  # fmt: skip


def test_what_is_made_ahead_is_bounded(tmp_path: Path) -> None:
    class Counted(data.Dataset):
        def __getitem__(self, index: int) -> int:
            (tmp_path / str(index)).touch()
            return index

        def __len__(self) -> int:
            return 50

    epoch = iter(data.DataLoader(Counted(), None, num_workers=2, prefetch_factor=3))
    assert next(epoch) == 0
    assert appears(tmp_path / "5")
    assert appears(tmp_path / "6")
    time.sleep(0.05)
    assert len(list(tmp_path.iterdir())) == 7


def test_tensors_arrive_whole_and_writable() -> None:
    class Kinds(data.Dataset):
        def __getitem__(self, index: int) -> Any:
            return {
                "bfloat16": wengert.full((2, 3), index, dtype=wengert.bfloat16),
                "empty": wengert.zeros(0, 4),
                "scalar": wengert.tensor(index),
                "leaf": wengert.ones(2, requires_grad=True),
                "strided": np.arange(6.0).reshape(2, 3).T[::2],
                "text": ["a", b"b", None][index],
            }

        def __len__(self) -> int:
            return 3

    def first(batch: Any) -> Any:
        return batch

    here = data.DataLoader(Kinds(), None, collate_fn=first)
    there = data.DataLoader(Kinds(), None, collate_fn=first, num_workers=1)
    for ours, expected in zip(there, here, strict=True):
        assert repr(ours) == repr(expected)
        assert [getattr(v, "dtype", None) for v in ours.values()] == [
            getattr(v, "dtype", None) for v in expected.values()
        ]
        ours["bfloat16"].zero_()
        ours["strided"][0] = 1
    assert ours["leaf"].requires_grad


def test_large_batches_and_long_lists_of_indices() -> None:
    batches = data.DataLoader(w.Arrays((400, 1000)), 2, num_workers=2)
    for i, batch in enumerate(batches):
        np.testing.assert_array_equal(batch.numpy()[:, ::100, ::100], [
            np.full((4, 10), 2 * i), np.full((4, 10), 2 * i + 1)
        ])  # fmt: skip
    n = 200_000
    (whole,) = data.DataLoader(range(n), n, num_workers=1)
    assert int(whole.sum()) == n * (n - 1) // 2


def test_a_batch_that_is_kept_holds_on_to_itself_only() -> None:
    loader = data.DataLoader(w.Arrays((100,), n=4), 1, num_workers=1, prefetch_factor=1)
    kept = list(loader)
    assert [batch.numpy()[0, 0] for batch in kept] == [0, 1, 2, 3]


def test_no_file_stays_open() -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    list(data.DataLoader(range(4), num_workers=2))
    before = opened()
    for _ in range(3):
        list(data.DataLoader(range(4), num_workers=2))
        next(iter(data.DataLoader(range(4), num_workers=2)))
    gc.collect()
    assert opened() <= before


def test_init_function_sees_its_worker() -> None:
    def init(worker: int) -> None:
        info = data.get_worker_info()
        assert info is not None
        assert info.id == worker
        info.dataset.at = worker

    dataset = w.Doing(-1, os.getpid, n=4)
    loader = data.DataLoader(dataset, None, num_workers=2, worker_init_fn=init)
    assert sum(value > 3 for value in loader) == 2
    assert data.get_worker_info() is None


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (w.keys, KeyError, r"(?s)^Caught KeyError in DataLoader worker process 1\.\nOriginal"
     r" Traceback.*, in keys\n.*KeyError: 'what is missing'"),
    (w.particular, RuntimeError, "Caught ParticularError in DataLoader worker process 1"),
    (w.local, RuntimeError, "Caught LocalError in DataLoader worker process 1"),
    (w.unpicklable, w.UNPICKLED, "(?s)Caught .*Error in .* 1.*Can't (get|pickle) local"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "kind", "message"), ERRORS)
def test_exceptions_arrive_with_their_class_and_traceback(
    what: Callable[[], Any], kind: type[Exception], message: str
) -> None:
    epoch = iter(data.DataLoader(w.Doing(3, what), 2, num_workers=2, collate_fn=list))
    assert next(epoch) == [0, 1]
    with pytest.raises(kind, match=message) as error:
        next(epoch)
    assert type(error.value) is kind
    assert list(epoch) == [[4, 5], [6, 7]]  # one bad batch does not end the epoch


def test_an_exception_of_the_init_function() -> None:
    def init(worker: int) -> None:
        raise ValueError(f"not for {worker}")

    with pytest.raises(ValueError, match=r"(?s)Caught ValueError in .* process 0.*not for 0"):
        next(iter(data.DataLoader(range(4), num_workers=2, worker_init_fn=init)))


def test_a_batch_that_cannot_be_unpickled() -> None:
    epoch = iter(data.DataLoader(w.Doing(1, w.Opened, 3), None, num_workers=1))
    assert next(epoch) == 0
    with pytest.raises(KeyError, match="what is missing"):
        next(epoch)
    assert list(epoch) == [2]


def test_what_cannot_be_sent_to_a_spawned_worker_raises_here() -> None:
    with pytest.raises(w.UNPICKLED, match=r"Can't (get|pickle) local object") as error:
        iter(data.DataLoader([1], collate_fn=lambda b: b, num_workers=2,
                             multiprocessing_context="spawn"))  # fmt: skip
    assert "workers start by 'spawn'" in error.value.__notes__[-1]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (w.leave, r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly with exit code 7"),
        (w.die, r"DataLoader worker \(pid \d+\) is killed by signal: Killed \(SIGKILL, perhaps"),
        (sys.exit, r"exited unexpectedly with exit code 0"),
    ],
)
@pytest.mark.parametrize("persistent", [False, True])
def test_a_dead_worker_is_told_of(what: Callable[[], Any], message: str, persistent: bool) -> None:
    loader = data.DataLoader(w.Doing(5, what), 2, num_workers=2, persistent_workers=persistent)
    start = time.monotonic()
    epoch = iter(loader)
    for _ in range(2):  # asking again changes nothing
        with pytest.raises(RuntimeError, match=message):
            list(epoch)
    assert time.monotonic() - start < 15
    assert next(iter(loader)).tolist() == [0, 1]  # another epoch has other workers


def test_a_worker_that_died_between_epochs() -> None:
    loader = data.DataLoader(w.Doing(0, os.getpid, 1), None, num_workers=1, persistent_workers=True)
    (pid,) = loader
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=f"pid {pid}.* is killed by signal: Killed"):
        list(loader)
    assert len(list(loader)) == 1


def test_timeout() -> None:
    epoch = iter(data.DataLoader(w.Doing(0, w.sleep), None, num_workers=1, timeout=0.2))
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"timed out after 0\.2 seconds"):
        next(epoch)
    assert time.monotonic() - start < 15


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def ends(pids: list[int], within: float = 20.0) -> bool:
    """Whether processes end in time."""
    deadline = time.monotonic() + within
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(alive, pids))


def test_leaving_an_epoch_ends_its_workers() -> None:
    for _ in data.DataLoader(w.Doing(-1, w.sleep, 1000), 2, num_workers=2):
        break
    assert active_children() == []


def test_a_worker_that_does_not_listen_is_terminated() -> None:
    epoch = iter(data.DataLoader(w.Doing(1, w.sleep), None, num_workers=1))
    assert next(epoch) == 0
    start = time.monotonic()
    del epoch
    assert active_children() == []
    assert time.monotonic() - start < 15


SCRIPT = """
import sys, time
import numpy as np
import wengert
from wengert.utils.data import DataLoader
from tests.data import workers as w
import multiprocessing

if __name__ == "__main__":
    epoch = iter(DataLoader(w.Doing(-1, w.sleep, 10**6), 2, num_workers=2,
                            multiprocessing_context=sys.argv[1]))
    next(epoch)
    print(*(p.pid for p in multiprocessing.active_children()), flush=True)
    while True:
        next(epoch)
"""


@pytest.mark.parametrize(
    ("method", "number", "group"),
    [
        ("fork", signal.SIGINT, True),
        ("spawn", signal.SIGINT, True),
        ("fork", signal.SIGINT, False),
        ("fork", signal.SIGTERM, False),
        ("fork", signal.SIGKILL, False),
        ("spawn", signal.SIGKILL, False),
        ("forkserver", signal.SIGKILL, False),
    ],
)
def test_no_worker_outlives_a_signal_to_its_parent(
    method: str, number: int, group: bool, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    parent = subprocess.Popen(
        [sys.executable, str(script), method], cwd=ROOT, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
    )  # fmt: skip
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    (os.killpg if group else os.kill)(parent.pid, number)
    errors = parent.communicate(timeout=30)[1]
    assert ends(pids)
    told, interrupted = errors.count("Traceback"), number == signal.SIGINT
    if method == "spawn" and group and interrupted:
        # A spawned worker that is still importing says so itself, until it is ended.
        assert told >= 1
        assert "KeyboardInterrupt" in errors
    else:
        assert told == interrupted
        assert errors.rstrip().endswith("KeyboardInterrupt" if interrupted else "")


def test_matrix_products_on_both_sides_of_a_fork() -> None:
    a = wengert.rand(600, 600)
    expected = (a @ a).sum().item()  # the threads of OpenBLAS run now

    class Products(data.Dataset):
        def __getitem__(self, index: int) -> float:
            return (a @ a).sum().item()

        def __len__(self) -> int:
            return 4

    for value in data.DataLoader(Products(), None, num_workers=2, timeout=20):
        assert value == pytest.approx(expected, rel=1e-5)
        assert (a @ a).sum().item() == pytest.approx(expected, rel=1e-5)


def test_a_copy_of_an_epoch_in_a_worker_does_not_end_the_others() -> None:
    loader = data.DataLoader(range(4), 2, num_workers=1, persistent_workers=True)
    assert len(list(loader)) == 2

    class Collecting(data.Dataset):
        def __getitem__(self, index: int) -> int:
            object.__setattr__(loader, "_iterator", None)
            return gc.collect() * 0

        def __len__(self) -> int:
            return 2

    assert list(data.DataLoader(Collecting(), None, num_workers=1)) == [0, 0]
    assert len(list(loader)) == 2


def test_a_failing_worker_leaves_no_cycles() -> None:
    loader = data.DataLoader(w.Doing(0, w.keys), num_workers=1)
    assert garbage_of(lambda: list(loader)) == Counter()
