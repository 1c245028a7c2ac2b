"""Collectives against NumPy: every operation, every dtype, sizes of several rounds."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert
from tests.distributed.ranks import Ranks
from wengert import distributed as dist
from wengert.core.dtypes import ALL, BOOL, COMPLEX, INT, of_numpy

Op = dist.ReduceOp
REDUCTIONS = {
    Op.SUM: np.add, Op.PRODUCT: np.multiply, Op.MIN: np.minimum, Op.MAX: np.maximum,
    Op.BAND: np.bitwise_and, Op.BOR: np.bitwise_or, Op.BXOR: np.bitwise_xor,
}  # fmt: skip
# One round, one without a remainder, several rounds (the last not full), none at all.
SIZES = (1, 7, 4096, 2_200_003, 0)


def values(kind: Any, size: int, rank: int) -> np.ndarray:
    """Small integers, which every dtype adds up exactly; another row for each rank."""
    row = (np.arange(size) * (rank + 2) + rank) % 4
    return row.astype(bool) if kind.category == BOOL else (row + 1).astype(kind.np)


def check_dtypes(rank: int, size: int) -> int:
    checked = 0
    for kind in ALL:
        if kind.name.startswith("float8"):
            continue
        rows = [values(kind, 50, r) for r in range(size)]
        for op, function in REDUCTIONS.items():
            if op in (Op.BAND, Op.BOR, Op.BXOR) and kind.category not in (BOOL, INT):
                continue
            if op in (Op.MIN, Op.MAX, Op.PRODUCT) and kind.category == COMPLEX:
                continue
            expected = rows[0]
            for row in rows[1:]:
                expected = function(expected, row)
            tensor = wengert.tensor(rows[rank].tolist(), dtype=kind)
            dist.all_reduce(tensor, op)
            assert (tensor._array == expected).all(), (kind, op)
            root = wengert.tensor(rows[rank].tolist(), dtype=kind)
            dist.reduce(root, 1, op)
            assert (root._array == (expected if rank == 1 else rows[rank])).all(), (kind, op)
            checked += 1
        outputs = [wengert.empty(50, dtype=kind) for _ in range(size)]
        dist.all_gather(outputs, wengert.tensor(rows[rank].tolist(), dtype=kind))
        assert all((out._array == row).all() for out, row in zip(outputs, rows, strict=True))
    return checked


def check_sizes(rank: int, size: int) -> None:
    for count in SIZES:
        row = np.arange(count, dtype=np.float32)
        total = wengert.tensor(row * (rank + 1)) if count else wengert.empty(0)
        dist.all_reduce(total)
        np.testing.assert_array_equal(total._array, row * (size * (size + 1) // 2))
        mean = wengert.full((count,), float(rank))
        dist.all_reduce(mean, Op.AVG)
        assert np.allclose(mean._array, (size - 1) / 2, rtol=1e-6)
        copied = wengert.full((count,), float(rank))
        dist.broadcast(copied, src=1)
        assert (copied._array == 1).all()
        gathered = wengert.empty(size, count)
        dist.all_gather_into_tensor(gathered, wengert.full((count,), float(rank)))
        assert (gathered._array == np.arange(size)[:, None]).all()
        own = wengert.empty(count)
        dist.reduce_scatter_tensor(own, gathered * (rank + 1))
        assert (own._array == rank * size * (size + 1) // 2).all()
        swapped = wengert.empty(size, count)
        dist.all_to_all_single(swapped, wengert.full((size, count), float(rank)))
        assert (swapped._array == np.arange(size)[:, None]).all()


def check_roots(rank: int, size: int) -> None:
    for root in range(size):
        tensor = wengert.full((3,), float(rank))
        outputs = [wengert.empty(3) for _ in range(size)] if rank == root else None
        dist.gather(tensor, outputs, dst=root)
        if outputs is not None:
            assert [out[0].item() for out in outputs] == list(range(size))
        inputs = [wengert.full((3,), 10.0 * r) for r in range(size)] if rank == root else None
        dist.scatter(tensor, inputs, src=root)
        assert tensor.tolist() == [10.0 * rank] * 3
    parts = [wengert.full((2,), float(rank + r)) for r in range(size)]
    own = wengert.empty(2)
    dist.reduce_scatter(own, parts, Op.MAX)
    assert own.tolist() == [float(size - 1 + rank)] * 2


def check_uneven(rank: int, size: int) -> None:
    """Rank i has i + j + 1 elements for rank j; some pairs have none."""
    inputs = [wengert.full((rank + j, 2), float(rank)) for j in range(size)]
    outputs = [wengert.empty(i + rank, 2) for i in range(size)]
    dist.all_to_all(outputs, inputs)
    for i, out in enumerate(outputs):
        assert (out._array == i).all()
    row = wengert.cat(inputs)
    out = wengert.empty(sum(i + rank for i in range(size)), 2)
    dist.all_to_all_single(
        out, row, [i + rank for i in range(size)], [rank + j for j in range(size)]
    )
    assert (out._array == wengert.cat(outputs)._array).all()


def check_layouts(rank: int, size: int) -> None:
    """Tensors that are not contiguous, and whose memory other tensors show."""
    base = wengert.zeros(4, 6)
    view = base.t()[1:5:2]
    view.fill_(float(rank + 1))
    dist.all_reduce(view)
    assert (base._array[:, [1, 3]] == size * (size + 1) // 2).all()
    assert base.sum().item() == 8 * size * (size + 1) // 2
    x = wengert.ones(3, requires_grad=True)
    y = x * 2
    loss = (y * y).sum()
    dist.all_reduce(y.detach())
    with pytest.raises(RuntimeError, match="all_reduce"):  # wrote to a saved value
        loss.backward()


def check_async(rank: int, size: int) -> None:
    tensors = [wengert.full((1000,), float(k)) for k in range(20)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    dist.barrier()  # runs behind them
    for k, (tensor, work) in enumerate(zip(tensors, works, strict=True)):
        assert work is not None
        assert work.wait()
        assert work.is_completed()
        assert work.is_success()
        assert (tensor._array == k * size).all()
    future = dist.all_reduce(wengert.ones(2), async_op=True).get_future()
    doubled = future.then(lambda f: f.value()[0] * 2)
    assert doubled.wait().tolist() == [2.0 * size] * 2


def check_messages(rank: int, size: int) -> None:
    following, before = (rank + 1) % size, (rank - 1) % size
    sent, received = wengert.full((300_000,), float(rank)), wengert.empty(300_000)
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, sent, following), dist.P2POp(dist.irecv, received, before)]
    )
    for work in works:
        work.wait()
    assert (received._array == before).all()
    if rank == 0:
        for tag in (2, 1):
            dist.send(wengert.tensor([tag]), 1, tag=tag)
        dist.send_object_list(["a", {"b": wengert.ones(2)}], 1)
    if rank == 1:
        first, second = wengert.empty(1, dtype=wengert.int64), wengert.empty(1, dtype=wengert.int64)
        assert dist.recv(first, tag=1) == 0
        dist.recv(second, 0, tag=2)
        assert (first.item(), second.item()) == (1, 2)
        objects = [None, None]
        assert dist.recv_object_list(objects, 0) == 0
        assert objects[0] == "a"


def check_objects(rank: int, size: int) -> None:
    objects: list[Any] = [None] * size
    dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank * 1000})
    assert [o["rank"] for o in objects] == list(range(size))
    objects = [rank, wengert.ones(2) * rank]
    dist.broadcast_object_list(objects, src=1)
    assert objects[0] == 1
    assert objects[1].tolist() == [1.0, 1.0]
    gathered: Any = [None] * size if rank == 0 else None
    dist.gather_object(rank * 2, gathered, dst=0)
    assert rank or gathered == [2 * r for r in range(size)]
    output = [None]
    dist.scatter_object_list(output, [f"for {r}" for r in range(size)] if rank == 0 else None)
    assert output == [f"for {rank}"]


def check_groups(rank: int, size: int) -> None:
    before = dist.get_pg_count()  # faults may have left some
    pair = dist.new_group([0, 1])
    tensor = wengert.ones(2)
    dist.all_reduce(tensor, group=pair)
    assert tensor.tolist() == ([2.0] * 2 if rank < 2 else [1.0] * 2)
    assert dist.get_rank(pair) == (rank if rank < 2 else -1)
    backwards = dist.new_group([1, 0], sort_ranks=False)
    if rank < 2:
        assert dist.get_rank(backwards) == 1 - rank
        assert dist.get_global_rank(backwards, 0) == 1
        dist.broadcast(tensor.fill_(float(rank)), src=1, group=backwards)
        assert tensor.tolist() == [1.0, 1.0]
        dist.destroy_process_group(backwards)
        dist.destroy_process_group(pair)
    own, groups = dist.new_subgroups(1)
    assert own.size() == 1
    assert len(groups) == size
    dist.all_reduce(tensor, group=own)
    mesh = dist.init_device_mesh("cpu", (size,), mesh_dim_names=("data",))
    assert mesh["data"].get_local_rank() == rank
    assert mesh.get_coordinate() == (rank,)
    for member in groups:
        dist.destroy_process_group(member)
    assert dist.get_pg_count() == before


def check_halves(rank: int, size: int) -> None:
    """Sums of halves are rounded once."""
    kind = of_numpy[np.dtype(ml_dtypes.bfloat16)]
    tensor = wengert.full((3,), 1.0 if rank else 256.0, dtype=kind)
    dist.all_reduce(tensor)
    expected = np.float32(256 + size - 1).astype(ml_dtypes.bfloat16)
    assert (tensor._array == expected).all()


def check_refusals(rank: int, size: int) -> None:
    x = wengert.ones(2)
    refused = [
        (TypeError, lambda: dist.all_reduce(3)),
        (TypeError, lambda: dist.all_reduce(x, "sum")),
        (RuntimeError, lambda: dist.all_reduce(x, Op.BAND)),
        (ValueError, lambda: dist.all_reduce(x.to(wengert.complex64), Op.MAX)),
        (RuntimeError, lambda: dist.broadcast(x, 7)),
        (ValueError, lambda: dist.broadcast(x)),
        (RuntimeError, lambda: dist.all_gather([x], x)),
        (ValueError, lambda: dist.all_gather([x.double()] * size, x)),
        (RuntimeError, lambda: dist.all_gather([wengert.ones(3)] * size, x)),
        (ValueError, lambda: dist.send(x, rank)),
        (ValueError, lambda: dist.new_group([0, 0])),
        (ValueError, lambda: dist.new_group([9])),
        (ValueError, lambda: dist.init_process_group("gloo")),
        (RuntimeError, lambda: dist.all_reduce(wengert.ones(1).expand(3))),
        (ValueError, lambda: dist.get_rank("a group")),
        (RuntimeError, lambda: dist.all_to_all_single(x, x, [1] * size, [5] * size)),
    ]
    for kind, call in refused:
        try:
            call()
        except kind:
            continue
        raise AssertionError(call.__code__.co_firstlineno)
    dist.barrier()  # none of them disturbed the group


def test_reductions_of_every_dtype(ranks: Ranks) -> None:
    assert min(ranks.run(check_dtypes)) > 60


def test_sizes_of_no_round_and_of_several(ranks: Ranks) -> None:
    ranks.run(check_sizes)


def test_roots_layouts_and_uneven_exchanges(ranks: Ranks) -> None:
    for check in (check_roots, check_uneven, check_layouts, check_halves, check_refusals):
        ranks.run(check)


def test_asynchronous_collectives_messages_and_objects(ranks: Ranks) -> None:
    for check in (check_async, check_messages, check_objects):
        ranks.run(check)


def test_groups(ranks: Ranks) -> None:
    ranks.run(check_groups)
