"""Horovod's names on two and three ranks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import wengert
import wengert.horovod.torch as hvd
from tests.distributed.ranks import Ranks
from tests.distributed.test_data_parallel import batches, net, part
from wengert import compat, nn
from wengert.horovod.common.exceptions import HorovodInternalError


def with_horovod(rank: int, size: int, check: Callable[[int, int], Any]) -> Any:
    hvd.init()
    try:
        assert (hvd.rank(), hvd.size(), hvd.local_size()) == (rank, size, size)
        assert (hvd.cross_size(), hvd.is_homogeneous()) == (1, True)
        return check(rank, size)
    finally:
        hvd.shutdown()
        assert not hvd.is_initialized()


def own(rank: int, dtype: Any = np.float32) -> Any:
    """What a rank has: seven numbers, of both signs unless the dtype has none."""
    return wengert.tensor(np.arange(7).astype(dtype) * (rank + 1) + rank)


def all_of(size: int, dtype: Any = np.float32) -> np.ndarray:
    return np.stack([own(rank, dtype).numpy() for rank in range(size)])


def check_reductions(rank: int, size: int) -> None:
    for dtype in (np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64):
        everyone = all_of(size, dtype).astype(np.float64)
        for op, expected in {
            hvd.Sum: everyone.sum(0), hvd.Min: everyone.min(0), hvd.Max: everyone.max(0),
            hvd.Average: everyone.mean(0), hvd.Product: everyone.prod(0),
        }.items():  # fmt: skip
            if np.dtype(dtype).kind != "f":
                expected = np.trunc(expected).astype(dtype)
            elif op is hvd.Product and dtype is np.float16:
                continue
            result = hvd.allreduce(own(rank, dtype), op=op)
            assert result.numpy().dtype == dtype
            rtol = 1e-3 if dtype is np.float16 else 1e-6
            np.testing.assert_allclose(result.numpy(), expected, rtol=rtol)
    x = own(rank)
    mean, total = all_of(size).mean(0), all_of(size).sum(0)
    handles = [
        hvd.allreduce_async(x, name="a", op=hvd.Sum, prescale_factor=2.0, postscale_factor=0.5),
        *(hvd.allreduce_async(x, average=average) for average in (True, False)),
        hvd.grouped_allreduce_async([x, x.double()]),
    ]
    scaled, average, summed, (first, second) = map(hvd.synchronize, handles)
    assert hvd.synchronize(handles[0]) is None
    np.testing.assert_allclose(scaled.numpy(), total)
    np.testing.assert_allclose(average.numpy(), mean, rtol=1e-6)
    np.testing.assert_allclose(summed.numpy(), total)
    np.testing.assert_allclose(first.numpy(), mean, rtol=1e-6)
    assert second.dtype is wengert.float64
    np.testing.assert_array_equal(x.numpy(), own(rank).numpy())
    small = hvd.allreduce(x, compression=hvd.Compression.fp16)
    assert small.dtype is wengert.float32
    np.testing.assert_allclose(small.numpy(), mean, rtol=1e-3)
    column = wengert.zeros(7, 2)[:, 1]  # not contiguous
    column.copy_(x)
    assert hvd.allreduce_(column) is column
    np.testing.assert_allclose(column.numpy(), mean, rtol=1e-6)
    handle = hvd.grouped_allreduce_async_([x], op=hvd.Sum)
    while not hvd.poll(handle):
        pass
    assert hvd.synchronize(handle)[0] is x
    np.testing.assert_allclose(x.numpy(), total)
    with pytest.raises(ValueError, match="supersedes average"):
        hvd.allreduce(x, average=True, op=hvd.Sum)


def check_adasum(rank: int, size: int) -> None:
    a, b = np.array([1.0, 0.0, 2.0]), np.array([0.5, 3.0, -1.0])
    mine = wengert.tensor([a, b, a][rank])
    if size & (size - 1):
        with pytest.raises(NotImplementedError, match="non-power of 2"):
            hvd.allreduce(mine, op=hvd.Adasum)
        return
    dot = a @ b
    expected = (1 - dot / (2 * a @ a)) * a + (1 - dot / (2 * b @ b)) * b
    np.testing.assert_allclose(hvd.allreduce(mine, op=hvd.Adasum).numpy(), expected)
    model = nn.Linear(3, 1, bias=False).double()
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    start = model.weight.detach().numpy().copy()
    optimizer = hvd.DistributedOptimizer(wengert.optim.SGD(model.parameters(), 1.0), op=hvd.Adasum)
    model(mine[None]).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(model.weight.detach().numpy()[0], start[0] - expected)


def check_exchanges(rank: int, size: int) -> None:
    rows = own(rank).reshape(7, 1)[: rank + 1]
    joined = np.concatenate([own(r).numpy().reshape(7, 1)[: r + 1] for r in range(size)])
    np.testing.assert_array_equal(hvd.allgather(rows).numpy(), joined)
    first, second = hvd.synchronize(hvd.grouped_allgather_async([rows, own(rank)]))
    np.testing.assert_array_equal(first.numpy(), joined)
    np.testing.assert_array_equal(second.numpy(), all_of(size).reshape(-1))
    x = own(rank)
    assert hvd.broadcast_(x, root_rank=size - 1) is x
    np.testing.assert_array_equal(x.numpy(), own(size - 1).numpy())
    np.testing.assert_array_equal(
        hvd.synchronize(hvd.broadcast_async(own(rank), 0)).numpy(), own(0).numpy()
    )
    splits = [r + 1 for r in range(size)]  # rank r gets r + 1 rows of each
    sent = wengert.arange(sum(splits)) + 100 * rank
    received, counts = hvd.alltoall(sent, splits=wengert.tensor(splits))
    at = sum(splits[:rank])
    expected = [np.arange(at, at + rank + 1) + 100 * r for r in range(size)]
    np.testing.assert_array_equal(received.numpy(), np.concatenate(expected))
    assert counts.tolist() == [rank + 1] * size
    assert hvd.alltoall(wengert.arange(size) + size * rank).tolist() == [
        rank + size * r for r in range(size)
    ]
    for rows_ in (2 * size, 2 * size + 1):
        matrix = wengert.arange(rows_ * 2).reshape(rows_, 2).float() * (rank + 1)
        share = [rows_ // size + (r < rows_ % size) for r in range(size)]
        at = sum(share[:rank])
        total = np.arange(rows_ * 2).reshape(rows_, 2) * sum(range(1, size + 1))
        piece = hvd.reducescatter(matrix, op=hvd.Sum)
        np.testing.assert_allclose(piece.numpy(), total[at : at + share[rank]])
        piece = hvd.synchronize(hvd.reducescatter_async(matrix))
        np.testing.assert_allclose(piece.numpy(), total[at : at + share[rank]] / size, rtol=1e-6)
    assert hvd.allgather_object({"rank": rank}) == [{"rank": r} for r in range(size)]
    assert hvd.broadcast_object(["a", rank], root_rank=1) == ["a", 1]
    places = wengert.tensor([[rank, 0]])
    sparse = wengert.sparse_coo_tensor(places, wengert.tensor([1.0, 2.0]), (4,))
    dense = hvd.sparse_allreduce_async(sparse, "s", hvd.Sum)().to_dense().numpy()
    expected_sparse = np.zeros(4, np.float32)
    for r in range(size):
        expected_sparse[r] += 1
        expected_sparse[0] += 2
    np.testing.assert_array_equal(dense, expected_sparse)
    hvd.barrier()


def check_gradients(rank: int, size: int) -> None:
    weights = wengert.arange(3.0) + rank
    sums = sum(np.arange(3.0) + r for r in range(size))

    def gradient(function: Any) -> np.ndarray:
        x = wengert.ones(3, requires_grad=True)
        y = function(x)
        (y * wengert.ones_like(y).copy_(weights.repeat(len(y) // 3))).sum().backward()
        assert x.grad is not None
        return x.grad.numpy()

    np.testing.assert_allclose(gradient(lambda x: hvd.allreduce(x, op=hvd.Sum)), sums)
    np.testing.assert_allclose(gradient(hvd.allreduce), sums / size, rtol=1e-6)
    # Horovod averages the gradients of what all ranks see.
    np.testing.assert_allclose(gradient(hvd.allgather), sums / size, rtol=1e-6)
    at_root = sums / size if rank == 0 else np.zeros(3)
    np.testing.assert_allclose(gradient(lambda x: hvd.broadcast(x, 0)), at_root, rtol=1e-6)
    x = wengert.ones(size, requires_grad=True)
    (hvd.alltoall(x) * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [r + 1 for r in range(size)]
    x = wengert.ones(size, requires_grad=True)
    (hvd.reducescatter(x) * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [r + 1 for r in range(size)]
    y = hvd.allreduce(wengert.ones(2, requires_grad=True), op=hvd.Max)
    with pytest.raises(RuntimeError, match=r"op=Max\) has no derivative"):
        y.sum().backward()


def check_errors(rank: int, size: int) -> None:
    """All ranks hear of a disagreement, and go on."""
    for wrong in (
        lambda: hvd.allreduce(wengert.ones(2 + rank)),
        lambda: hvd.allreduce(wengert.ones(2, dtype=[wengert.int32, wengert.float32][rank > 0])),
        lambda: hvd.allreduce(wengert.ones(2), op=hvd.Sum if rank else hvd.Average),
        lambda: hvd.allgather(wengert.ones(2, 2 + rank)),
        lambda: hvd.broadcast(wengert.ones(2), root_rank=min(rank, 1)),
        lambda: hvd.allreduce(wengert.ones(2), name=f"n{rank}"),
        lambda: hvd.allreduce(wengert.ones(2)) if rank else hvd.allgather(wengert.ones(2)),
    ):
        with pytest.raises(hvd.HorovodInternalError, match="ranks disagree: rank 0 called"):
            wrong()
    handle = hvd.allreduce_async(wengert.ones(2 + rank))
    with pytest.raises(hvd.HorovodInternalError, match=r"rank 1 called allreduce\(float32\[3\]"):
        hvd.synchronize(handle)
    with pytest.raises(ValueError, match="root_rank 9"):
        hvd.broadcast(wengert.ones(2), root_rank=9)
    with pytest.raises(ValueError, match="splits"):
        hvd.alltoall(wengert.ones(3), splits=[2] * size)
    assert hvd.allreduce(wengert.ones(1), op=hvd.Sum).item() == size


def check_join(rank: int, size: int) -> None:
    totals = []
    for _ in range(rank + 1):
        totals.append(hvd.allreduce(wengert.ones(3), op=hvd.Sum)[0].item())
        hvd.allgather(wengert.ones(2))
    assert totals == [size - step for step in range(rank + 1)]
    if rank == size - 1:
        with pytest.raises(hvd.HorovodInternalError, match="joined ranks"):
            hvd.allreduce(wengert.ones(3), op=hvd.Max)
    assert hvd.join() == size - 1
    assert hvd.allreduce(wengert.ones(1), op=hvd.Sum).item() == size


def check_process_sets(rank: int, size: int) -> None:
    members = [0, 2] if size > 2 else [1]
    some = hvd.add_process_set(members)
    with pytest.raises(ValueError, match="already exists"):
        hvd.add_process_set(members[::-1])
    if some.included():
        assert (some.size(), some.rank()) == (len(members), members.index(rank))
        total = hvd.allreduce(wengert.ones(1), op=hvd.Sum, process_set=some)
        assert total.item() == len(members)
        x = wengert.tensor([float(rank)])
        assert hvd.broadcast(x, members[-1], process_set=some).item() == members[-1]
    else:
        with pytest.raises(ValueError, match="is not part of"):
            hvd.allreduce(wengert.ones(1), process_set=some)
    assert hvd.remove_process_set(some)
    assert not hvd.remove_process_set(hvd.global_process_set)


def check_optimizer(rank: int, size: int) -> None:
    """Steps as in one process on the joined batch, in every configuration."""
    x, y = batches(size)
    options: list[dict[str, Any]] = [
        {},
        {"groups": 3},
        {"gradient_predivide_factor": 2.0},
        {"backward_passes_per_step": 2},
        {"compression": hvd.Compression.fp16},
    ]
    for option in options:
        expected, model = net(), net()
        wengert.manual_seed(rank)
        for p in model.parameters():
            p.data.mul_(1.0 + rank)  # rank 0's are copied
        plain = wengert.optim.SGD(expected.parameters(), lr=0.1, momentum=0.9)
        optimizer = hvd.DistributedOptimizer(
            wengert.optim.SGD(model.parameters(), lr=0.1 * (rank + 1), momentum=0.9),
            named_parameters=model.named_parameters(), **option,
        )  # fmt: skip
        assert type(optimizer).__name__ == "SGD"
        assert isinstance(optimizer, wengert.optim.SGD)
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        own_x, own_y = part(rank, x, y)
        passes = option.get("backward_passes_per_step", 1)
        for step in range(2):
            for trained, a, b in ((expected, x, y), (model, own_x, own_y)):
                for _ in range(passes):
                    ((trained(a) + trained(a, "other") - b) ** 2).mean().backward()
            plain.step()
            if step:
                optimizer.synchronize()
                nn.utils.clip_grad_norm_(model.parameters(), 1e9)
                with optimizer.skip_synchronize():
                    optimizer.step()
            else:
                optimizer.step()
            plain.zero_grad()
            optimizer.zero_grad()
        rtol = 2e-3 if "compression" in option else 1e-10
        for p, q in zip(model.parameters(), expected.parameters(), strict=True):
            np.testing.assert_allclose(
                p.detach().numpy(), q.detach().numpy(), rtol=rtol, atol=rtol, err_msg=str(option)
            )
    check_misuse(rank, model, optimizer, own_x)


def check_misuse(rank: int, model: Any, optimizer: Any, x: Any) -> None:
    (model(x) + model(x, "other")).sum().backward()
    with pytest.raises(AssertionError, match=r"zero_grad\(\) was called after"):
        optimizer.zero_grad()
    with pytest.raises(AssertionError, match="Increase backward_passes_per_step"):
        model(x).sum().backward()
    optimizer.synchronize()
    with pytest.warns(UserWarning, match="skip_synchronize"):
        optimizer.step()
    # Ranks that use different parameters agree all the same.
    optimizer.zero_grad()
    model(x, "other" if rank else "head").sum().backward()
    optimizer.step()
    joined = hvd.allgather(model.head.weight.detach()[None])
    assert (joined == joined[0]).all()
    parameters = list(model.parameters())
    for wrong, text in (
        ({"named_parameters": parameters}, "sequence of tuples"),
        ({"named_parameters": [("a", parameters[0])]}, "not named"),
        ({"named_parameters": [("a", p) for p in parameters]}, "must be unique"),
        ({"groups": [[parameters[0]], [parameters[0]]]}, "only appear once"),
        ({"gradient_predivide_factor": 2.0, "op": hvd.Sum}, "gradient_predivide_factor"),
    ):
        with pytest.raises(ValueError, match=text):
            hvd.DistributedOptimizer(wengert.optim.SGD(parameters), **wrong)


def check_elastic(rank: int, size: int) -> None:
    model = nn.Linear(2, 1)
    sampler = hvd.elastic.ElasticSampler(range(4 * size))
    state = hvd.elastic.TorchState(
        model, wengert.optim.SGD(model.parameters(), 0.1), batch=rank, sampler=sampler
    )

    @hvd.elastic.run
    def train(state: Any) -> None:
        assert state.batch == 0
        weight = model.weight.detach().clone()
        assert (hvd.broadcast(weight, 0) == weight).all()
        with wengert.no_grad():
            model.weight.add_(1.0)
        state.batch = 5
        state.restore()
        assert state.batch == 0
        assert (model.weight == weight).all()
        assert len(sampler) == 4
        seen = hvd.allgather(wengert.tensor(list(sampler)))
        assert sorted(seen.tolist()) == list(range(4 * size))

    train(state)


def recovered(failing: Sequence[int]) -> tuple[Any, ...]:
    """A loop in which some ranks fail once, after a commit and before another one."""
    hvd.init()
    failures, resets = [hvd.rank()] if hvd.rank() in failing else [], []
    state = hvd.elastic.ObjectState(step=0, total=0.0)
    state.register_reset_callbacks([lambda: resets.append(state.step)])

    @hvd.elastic.run
    def train(state: Any) -> float:
        while state.step < 6:
            if state.step == 4 and failures:
                failures.clear()
                raise HorovodInternalError("lost")
            state.total += hvd.allreduce(wengert.tensor(float(state.step)), op=hvd.Sum).item()
            state.step += 1
            if state.step == 3:
                state.commit()
        return state.total

    result = train(state), resets, hvd.size()
    hvd.shutdown()
    return result


def check_recovery(rank: int, size: int) -> None:
    """All ranks go back to what was committed when all have failed, but not for ever."""
    assert recovered(list(range(size))) == (15.0 * size, [3], size)
    hvd.init()
    state, errors = hvd.elastic.ObjectState(), []

    def fail(state: Any) -> None:
        errors.append(1)
        raise HorovodInternalError("always")

    with pytest.raises(HorovodInternalError, match="always"):
        hvd.elastic.run(fail)(state)
    assert len(errors) == 4


CHECKS = [
    check_reductions, check_adasum, check_exchanges, check_gradients, check_errors, check_join,
    check_process_sets, check_optimizer, check_elastic, check_recovery,
]  # fmt: skip


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_ranks(ranks: Ranks, check: Any) -> None:
    ranks.run(with_horovod, check)


def mean_rank(offset: int) -> float:
    hvd.init()
    mean = hvd.allreduce(wengert.tensor(float(hvd.rank() + offset))).item()
    hvd.shutdown()
    return mean


def test_run() -> None:
    """A program that starts its own ranks."""
    from wengert.horovod import run

    assert run(mean_rank, args=(1,), np=2) == [1.5, 1.5]
    assert run(recovered, args=([1],), np=2) == [(30.0, [3], 2)] * 2  # they meet again
    with pytest.raises(ValueError, match="this machine alone"):
        run(mean_rank, np=2, hosts="node1:2")


def test_alias() -> None:
    with pytest.raises(ValueError, match="Horovod has not been initialized"):
        hvd.rank()
    compat.install("horovod")
    try:
        import horovod.torch
        import horovod.torch.mpi_ops

        assert horovod.torch is hvd
        assert horovod.torch.mpi_ops.allreduce is hvd.allreduce
        with pytest.raises(ModuleNotFoundError, match="no such part of horovod"):
            import horovod.tensorflow
    finally:
        compat.uninstall("horovod")
    assert "horovod.torch" not in sys.modules
    with pytest.raises(ValueError, match="not for 'jax'"):
        compat.install("jax")
