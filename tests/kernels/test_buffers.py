"""The pool of memory that large arrays come from."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from collections.abc import Iterator
from contextvars import copy_context

import numpy as np
import pytest

import wengert
from tests.cli.process import good, python
from wengert.kernels import buffers, jit

LARGE = 1 << 16
handler_of = np._core.multiarray.get_handler_name


@pytest.fixture(autouse=True)
def pool() -> Iterator[None]:
    if not jit.available() or buffers._Pool.functions is None:
        pytest.skip("there is no pool without kernels")
    buffers.enter()
    buffers.trim(0)
    before = buffers.counts()["limit"]
    yield
    buffers.set_limit(before)


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def test_large_arrays_come_from_the_pool_and_small_ones_do_not() -> None:
    before = buffers.counts()
    small, large = np.empty(LARGE - 1, np.uint8), np.empty(LARGE, np.uint8)
    assert handler_of(large) == "wengert_buffer"
    assert buffers.counts()["allocated"] == before["allocated"] + LARGE
    assert address(large) % 64 == 0
    del small, large
    assert buffers.counts()["allocated"] == before["allocated"]


@pytest.mark.parametrize("size", [LARGE, LARGE + 1, 81920, 81921, 1 << 20, (1 << 20) + 1, 7 << 20])
def test_memory_comes_back_for_sizes_of_its_class(size: int) -> None:
    array = np.empty(size, np.uint8)
    before = buffers.counts()
    capacity = buffers.counts()["allocated"]
    where = address(array)
    del array
    capacity -= buffers.counts()["allocated"]
    assert size <= capacity < size * 1.25 + 1
    again = np.empty(capacity, np.uint8)
    assert address(again) == where
    assert buffers.counts()["hits"] == before["hits"] + 1
    del again
    assert address(np.empty(capacity + 1, np.uint8)) != where


def test_all_of_a_block_can_be_written() -> None:
    sizes = [LARGE + 997 * i for i in range(200)]
    arrays = [np.full(n, i, np.uint8) for i, n in enumerate(sizes)]
    assert all((a == i % 256).all() for i, a in enumerate(arrays))


def test_zeros_are_zeros_in_used_memory() -> None:
    for n in (LARGE, 100_001, 1 << 20):
        np.full(n, 255, np.uint8)
        assert not np.zeros(n, np.uint8).any()
        assert buffers.counts()["hits"]


def test_arrays_keep_their_content_when_they_are_resized() -> None:
    sizes = (10, LARGE, LARGE + 5, 300_000, 299_000, 5, 200_000, 70_000, 1)
    array, known = np.full(10, 7, np.uint8), 10
    for n in sizes:
        array.resize(n, refcheck=False)
        known = min(known, n)
        assert (array[:known] == 7).all()
    before = buffers.counts()["allocated"]
    gathered = np.fromiter(iter(range(50_000)), np.int64)
    assert (gathered == np.arange(50_000)).all()
    del gathered
    assert buffers.counts()["allocated"] == before


def test_no_more_is_kept_than_the_limit_and_what_was_used_longest_ago_goes_first() -> None:
    wengert.set_memory_limit(1 << 20)
    arrays = [np.empty(n, np.uint8) for n in [200_000] * 4 + [300_000] * 3]
    while arrays:
        del arrays[0]
        assert wengert.memory_stats()["cached"] <= 1 << 20
    before = wengert.memory_stats()
    np.empty(300_000, np.uint8)
    assert wengert.memory_stats()["hits"] == before["hits"] + 1
    np.empty(2 << 20, np.uint8)
    assert wengert.memory_stats()["cached"] == before["cached"]
    wengert.set_memory_limit(0)
    np.empty(LARGE, np.uint8)
    assert wengert.memory_stats()["cached"] == 0
    with pytest.raises(ValueError, match="size=-1"):
        wengert.set_memory_limit(-1)


# In a process of its own, where so little has no thread look in between.
_LOOKS = """
import numpy as np
from wengert.kernels import buffers
from wengert.kernels import jit
jit.available()
size = (1 << 20) + 4096

def use(n):
    arrays = [np.empty(1 << 20, np.uint8) for _ in range(n)]

def look():
    buffers.look()
    counts = buffers.counts()
    print(counts["cached"] // size, counts["returned"] // size, counts["misses"])

use(5)
look()  # all five were needed since the beginning
use(2)
use(2)
look()
use(2)
look()
look()
"""


def test_a_look_gives_back_what_nobody_needed_since_the_last_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOOKS], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n") == ["5 0 5", "2 3 5", "2 3 5", "0 5 5", ""]


IDLE = """
    import time
    import numpy as np
    from wengert.kernels import buffers

    buffers.install()
    np.empty(1 << 26, np.uint8)
    assert buffers.counts()["cached"] > 1 << 26
    until = time.monotonic() + 60
    while buffers.counts()["cached"] and time.monotonic() < until:
        time.sleep(0.1)
    assert buffers.counts()["cached"] == 0
"""


def test_an_idle_process_gives_back_what_it_kept() -> None:
    # In a process of its own: looks are further apart where blocks were missed before.
    good(python("-c", textwrap.dedent(IDLE)))


def test_nothing_is_lost_over_many_steps() -> None:
    net = wengert.nn.Sequential(
        wengert.nn.Linear(200, 300), wengert.nn.ReLU(), wengert.nn.Linear(300, 10)
    )
    optimizer, x = wengert.optim.Adam(net.parameters()), wengert.randn(500, 200)

    def step() -> int:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
        return wengert.memory_stats()["allocated"]

    first = [step() for _ in range(3)][-1]
    misses = wengert.memory_stats()["misses"]
    assert [step() for _ in range(20)] == [first] * 20
    assert wengert.memory_stats()["misses"] == misses


def test_peak() -> None:
    array = np.empty(1 << 20, np.uint8)
    wengert.reset_peak_memory_stats()
    now = wengert.memory_stats()["allocated"]
    another = np.empty(1 << 20, np.uint8)
    del another
    assert wengert.memory_stats()["peak"] == now + (1 << 20)
    del array


def test_tracemalloc_counts_the_arrays() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        array = np.empty(1 << 20, np.uint8)
        assert tracemalloc.get_traced_memory()[0] - before >= 1 << 20
        del array
        assert tracemalloc.get_traced_memory()[0] - before < 1 << 16
    finally:
        tracemalloc.stop()


def test_contexts_enter_by_a_backward_and_free_anywhere() -> None:
    kept = []

    def elsewhere() -> None:
        kept.append(np.empty(LARGE, np.uint8))
        wengert.ones((), requires_grad=True).exp().backward()
        kept.append(np.empty(LARGE, np.uint8))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert [handler_of(a) for a in kept] == ["default_allocator", "wengert_buffer"]
    copy_context().run(kept.clear)
    assert buffers.counts()["cached"] >= LARGE


def test_threads_allocate_and_free_for_each_other() -> None:
    handed: queue.SimpleQueue[tuple[int, np.ndarray]] = queue.SimpleQueue()
    wrong = []

    def work(seed: int) -> None:
        buffers.enter()
        random = np.random.default_rng(seed)
        for n in random.integers(LARGE // 2, 4 * LARGE, 300):
            mark = int(random.integers(256))
            handed.put((mark, np.full(n, mark, np.uint8)))
            expected, array = handed.get()
            if not (array == expected).all():
                wrong.append(expected)

    before = buffers.counts()["allocated"]
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert buffers.counts()["allocated"] == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_the_child_of_a_fork_has_a_pool_of_its_own() -> None:
    parents = np.full(1 << 20, 7, np.uint8)
    np.empty(1 << 18, np.uint8)
    pid = os.fork()
    if pid == 0:
        fine = buffers.counts()["cached"] == 0 and (parents == 7).all()
        del parents
        for _ in range(50):
            arrays = [np.full(LARGE * i, i, np.uint8) for i in range(1, 5)]
            fine = fine and all((a == i).all() for i, a in enumerate(arrays, 1))
        os._exit(0 if fine else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert (parents == 7).all()


class Rows(wengert.utils.data.Dataset[wengert.Tensor]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> wengert.Tensor:
        return wengert.full((1 << 16,), float(index))


def test_workers_of_a_loader_hand_over_large_arrays() -> None:
    loader = wengert.utils.data.DataLoader(Rows(), batch_size=2, num_workers=2)
    assert [batch[:, -1].tolist() for batch in loader] == [[i, i + 1.0] for i in (0, 2, 4, 6)]


_SCRIPT = """
import numpy as np, wengert
from wengert.kernels import jit
jit.available()
kept = [np.ones(1 << 20) for _ in range(4)]
print(np._core.multiarray.get_handler_name(kept[0]), sum(wengert.memory_stats().values()) > 0)
"""


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({}, "wengert_buffer True"),
        ({"WENGERT_BUFFERS": "1"}, "wengert_buffer True"),
        ({"WENGERT_BUFFERS": "0"}, "default_allocator False"),
        ({"WENGERT_JIT": "0"}, "default_allocator False"),
    ],
)
def test_settings_and_the_end_of_a_process(setting: dict[str, str], expected: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "WENGERT_BUFFERS"} | setting
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected
    assert done.stderr == ""
