"""Collectives as methods of a group, and what a profiler sees of them."""

from __future__ import annotations

import io
from typing import Any

import pytest

import wengert
from tests.distributed.ranks import Ranks
from wengert import distributed as dist
from wengert.autograd import profiler


def rank_values(rank: int) -> Any:
    return wengert.tensor([rank + 1.0, rank + 2.0])


def check_methods(rank: int, size: int) -> None:
    group: Any = dist.group.WORLD
    both = [rank_values(r) for r in range(size)]
    total = both[0] + both[1]

    x = rank_values(rank)
    work = group.allreduce([x])
    work.wait()
    assert wengert.equal(work.get_future().wait()[0], total)
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp.MAX
    for tensors, opts in (([x], options), (x, dist.ReduceOp.MAX)):
        x.copy_(both[rank])
        group.allreduce(tensors, opts).wait()
        assert wengert.equal(x, both[1])
    pair = [rank_values(rank), rank_values(rank)]
    group.allreduce_coalesced(pair).wait()
    assert all(wengert.equal(x, total) for x in pair)

    root = dist.BroadcastOptions()
    root.rootRank = 1
    for how in ({"opts": root}, {"root": 1}):
        x = rank_values(rank)
        group.broadcast([x], **how).wait()
        assert wengert.equal(x, both[1])
    x = rank_values(rank)
    group.reduce([x], root=1).wait()
    assert wengert.equal(x, total if rank == 1 else both[0])


def check_methods_of_lists(rank: int, size: int) -> None:
    group: Any = dist.group.WORLD
    both = [rank_values(r) for r in range(size)]
    total = both[0] + both[1]
    for nested in (False, True):
        outputs = [wengert.zeros(2), wengert.zeros(2)]
        group.allgather([outputs] if nested else outputs, [rank_values(rank)]).wait()
        assert wengert.equal(wengert.stack(outputs), wengert.stack(both))
    whole = wengert.zeros(4)
    group._allgather_base(whole, rank_values(rank)).wait()
    assert wengert.equal(whole, wengert.cat(both))
    outputs = [wengert.zeros(2), wengert.zeros(2)] if rank == 1 else []
    group.gather([outputs] if outputs else [], [rank_values(rank)], root=1).wait()
    assert not outputs or wengert.equal(wengert.stack(outputs), wengert.stack(both))

    x = wengert.zeros(2)
    group.scatter([x], [both] if rank == 0 else [], root=0).wait()
    assert wengert.equal(x, both[rank])
    group.reduce_scatter([x], [both]).wait()
    assert wengert.equal(x, 2 * both[rank])
    x = wengert.zeros(1)
    group._reduce_scatter_base(x, rank_values(rank)).wait()
    assert x.item() == total[rank].item()

    outputs = [wengert.zeros(2), wengert.zeros(2)]
    group.alltoall(outputs, [rank_values(rank) + 10 * r for r in range(size)]).wait()
    assert wengert.equal(wengert.stack(outputs), wengert.stack(both) + 10 * rank)
    whole = wengert.zeros(2)
    group.alltoall_base(whole, rank_values(rank), [], []).wait()
    assert whole.tolist() == [1.0 + rank, 2.0 + rank]

    if rank == 0:
        group.send([rank_values(0)], 1, tag=3).wait()
    else:
        group.recv([x := wengert.zeros(2)], 0, tag=3).wait()
        assert wengert.equal(x, both[0])
    group.barrier().wait()


def test_methods_of_a_group(two_ranks: Ranks) -> None:
    two_ranks.run(check_methods)
    two_ranks.run(check_methods_of_lists)


@pytest.fixture
def alone() -> Any:
    dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_one_tensor_for_one_device(alone: Any) -> None:
    with pytest.raises(ValueError, match=r"ProcessGroup.allreduce: expected one tensor, got 2"):
        alone.allreduce([wengert.ones(1), wengert.ones(1)])


def test_profilers_see_collectives(alone: Any) -> None:
    with profiler.profile(record_shapes=True) as seen:
        dist.all_reduce(wengert.ones(2, 3))
        dist.broadcast(wengert.ones(2, dtype=wengert.complex64), 0, async_op=True).wait()
        alone.allgather([[wengert.ones(4)]], [wengert.ones(4)]).wait()
    found = {e.name: e for e in seen.function_events if ":" in e.name and e.is_async}
    shapes = {name.partition(":")[2]: e.input_shapes for name, e in found.items()}
    assert shapes == {"all_reduce": [[2, 3]], "broadcast": [[2, 2]], "all_gather": [[4]]}
    assert all(e.cpu_time > 0 and e.count == 1 for e in found.values())


def test_products_of_complex_numbers_are_refused(alone: Any) -> None:
    x = wengert.ones(2, dtype=wengert.complex64)
    for call in (dist.all_reduce, lambda x, op: dist.all_reduce_coalesced([x], op)):
        with pytest.raises(ValueError, match=r"all_reduce does not support ReduceOp\.PRODUCT on"):
            call(x, dist.ReduceOp.PRODUCT)


def check_coalesced(rank: int, size: int) -> None:
    inputs = [rank_values(rank), wengert.full((3,), float(rank))]
    outputs = [[wengert.zeros(2), wengert.zeros(3)] for _ in range(size)]
    dist.all_gather_coalesced(outputs, inputs)
    for r, (a, b) in enumerate(outputs):
        assert wengert.equal(a, rank_values(r))
        assert wengert.equal(b, wengert.full((3,), float(r)))
    with pytest.raises(RuntimeError, match=r"has 1 tensors, expected 2"):
        dist.all_gather_coalesced([[wengert.zeros(2)]] * size, inputs)


def test_several_tensors_are_gathered_by_one_collective(two_ranks: Ranks, alone: Any) -> None:
    two_ranks.run(check_coalesced)
    with profiler.profile() as seen:
        dist.all_gather_coalesced(
            [[wengert.ones(2), wengert.ones(1)]], [wengert.ones(2), wengert.ones(1)]
        )
    names = [e.name.partition(":")[2] for e in seen.function_events if e.is_async]
    assert names == ["all_gather_coalesced"]


def test_whole_modules_are_saved(alone: Any) -> None:
    model = wengert.nn.parallel.DistributedDataParallel(wengert.nn.Linear(2, 1))
    file = io.BytesIO()
    wengert.save(model, file)
    file.seek(0)
    loaded = wengert.load(file, weights_only=False)
    x = wengert.ones(3, 2)
    assert wengert.equal(loaded(x), model(x))
    loaded(x).sum().backward()
    assert loaded.module.weight.grad.tolist() == [[3.0, 3.0]]
