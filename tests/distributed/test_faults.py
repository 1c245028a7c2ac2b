"""Ranks that are late, lost, or call something else: every other rank says which, and where."""

from __future__ import annotations

import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

import wengert
from tests.distributed.ranks import Ranks
from wengert import distributed as dist
from wengert.distributed._links import Link, Links

SHORT = timedelta(seconds=0.6)


def raised_by(call: object) -> str:
    try:
        call()  # type: ignore[operator]
    except dist.DistBackendError as error:
        return str(error)
    raise AssertionError("nothing was raised")


def check_late(rank: int, size: int) -> str:
    group = dist.new_group(timeout=SHORT)
    dist.all_reduce(wengert.ones(2), group=group)
    if rank == 1:
        time.sleep(1.5)
        return raised_by(lambda: dist.barrier(group))
    started = time.monotonic()
    text = raised_by(lambda: dist.all_reduce(wengert.ones(3), group=group))
    assert time.monotonic() - started < 3
    assert "group is broken" in raised_by(lambda: dist.barrier(group))
    return text


def check_monitored(rank: int, size: int) -> str:
    group = dist.new_group()
    if rank == 1:
        time.sleep(1.0)
        return raised_by(lambda: dist.barrier(group))
    return raised_by(lambda: dist.monitored_barrier(group, timeout=SHORT))


def check_mismatch(rank: int, size: int, kind: str) -> str:
    group = dist.new_group()
    dist.barrier(group)
    kept = wengert.full((5,), float(rank))
    if kind == "operation":
        call = dist.all_reduce if rank != 1 else lambda t, group: dist.broadcast(t, 0, group)
    elif kind == "shape":
        call = lambda t, group: dist.all_reduce(t if rank != 1 else t[:4], group=group)  # noqa: E731
    elif kind == "dtype":
        call = lambda t, group: dist.all_reduce(t if rank != 1 else t.double(), group=group)  # noqa: E731
    else:
        op = dist.ReduceOp.MAX if rank == 1 else dist.ReduceOp.SUM
        call = lambda t, group: dist.all_reduce(t, op, group)  # noqa: E731
    text = raised_by(lambda: call(kept, group=group))
    assert kept.tolist() == [float(rank)] * 5  # no data has moved
    return text


def check_giving_up(rank: int, size: int) -> str:
    """A rank that leaves a group in the middle, and one that is asked for a message by nobody."""
    group = dist.new_group()
    if rank == 1:
        dist.destroy_process_group(group)
        return ""
    text = raised_by(lambda: dist.all_reduce(wengert.ones(2), group=group))
    other = raised_by(lambda: dist.irecv(wengert.ones(2), 1, tag=99).wait(SHORT))
    assert "no message from rank 1 with tag 99" in other
    return text


def check_split_sizes(rank: int, size: int) -> str:
    group = dist.new_group()
    outputs = [wengert.empty(3 if rank == 0 else 2) for _ in range(size)]
    return raised_by(
        lambda: dist.all_to_all(outputs, [wengert.ones(2) for _ in range(size)], group)
    )


def test_a_late_rank_is_named_with_its_line(ranks: Ranks) -> None:
    first, late, *others = ranks.run(check_late)
    for text in (first, *others):
        assert "all_reduce #2, test_faults.py:" in text
    named = [text for text in (first, *others) if "the timeout of 0.6 s is over" in text]
    assert named
    assert "; rank 1 last reached all_reduce #1, test_faults.py:" in named[0]
    assert "gave up" in late


def test_a_monitored_barrier_names_the_rank(two_ranks: Ranks) -> None:
    text, _ = two_ranks.run(check_monitored)
    assert "monitored_barrier #1, test_faults.py:" in text
    assert "rank 1 has called" in text or "rank 1 last reached new_group #0" in text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("operation", "rank 1 called broadcast #2 (float32, 5 elements, from rank 0), test_faults"),
        ("shape", "rank 1 called all_reduce #2 (float32, 4 elements, SUM), test_faults.py"),
        ("dtype", "rank 1 called all_reduce #2 (float64, 5 elements, SUM), test_faults.py"),
        ("reduction", "rank 1 called all_reduce #2 (float32, 5 elements, MAX), test_faults.py"),
    ],
)
def test_ranks_that_disagree_say_so_before_data_moves(ranks: Ranks, kind: str, words: str) -> None:
    first, second, *_ = ranks.run(check_mismatch, kind)
    assert "ranks disagree: this rank (0) called all_reduce #2" in first
    assert words in first
    assert "this rank (1)" in second


def test_a_rank_that_has_left_is_named(ranks: Ranks) -> None:
    text, _, *others = ranks.run(check_giving_up)
    assert any("; rank 1 is gone (process" in t for t in (text, *others))


def test_sizes_that_do_not_match_end_an_exchange(ranks: Ranks) -> None:
    texts = ranks.run(check_split_sizes)
    assert any("the split sizes do not match" in text for text in texts)


def test_objects_are_read_without_running_code(two_ranks: Ranks) -> None:
    first, second = two_ranks.run(check_hostile)
    assert first == second == "refused"


class Hostile:
    def __reduce__(self) -> object:
        return os.system, ("exit 1",)


def check_hostile(rank: int, size: int) -> str:
    import pickle

    from wengert.distributed.objects import unpacked

    try:
        unpacked(pickle.dumps(Hostile()))
    except Exception:
        return "refused"
    return "ran"


def test_hanging_up_twice_closes_nothing_else() -> None:
    ends = socket.socketpair()
    pair = [Links(rank, 2, 5.0) for rank in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        calls = [
            pool.submit(links.connect, [Link(1 - links.rank, end, near=True)])
            for links, end in zip(pair, ends, strict=True)
        ]
        for call in calls:
            call.result()
    for links in pair:
        links.close()
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(8)]
    for links in pair:
        links.close()
    for file in files:
        os.close(file)  # OSError if it was no longer open
