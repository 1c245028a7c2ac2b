"""Data parallelism against one process on the joined batch."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.distributed.ranks import Ranks
from wengert import distributed as dist
from wengert import nn
from wengert.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from wengert.distributed.nn import functional as dist_functional
from wengert.nn.parallel import DistributedDataParallel

ROWS = 6  # of the batch of a rank


class Net(nn.Module):
    """A trunk with two heads."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh())
        self.head, self.other = nn.Linear(8, 3), nn.Linear(8, 3)

    def forward(self, x: Any, head: str = "head") -> Any:
        return getattr(self, head)(self.trunk(x))


def net() -> Net:
    wengert.manual_seed(0)
    return Net().double()


def one_loss(model: Any, x: Any, y: Any) -> None:
    ((model(x) - y) ** 2).mean().backward()


def two_losses(model: Any, x: Any, y: Any) -> None:
    out = model(x)
    ((out - y) ** 2).mean().backward(retain_graph=True)
    out.abs().mean().backward()


def two_heads(model: Any, x: Any, y: Any) -> None:
    ((model(x) - y) ** 2).mean().backward()
    (model(x, "other") ** 3).mean().backward()


def no_sync(model: Any, x: Any, y: Any) -> None:
    with getattr(model, "no_sync", contextlib.nullcontext)():
        ((model(x, "other") - y) ** 2).mean().backward()
    (model(x) ** 3).mean().backward()


def penalty_on_inputs(model: Any, x: Any, y: Any) -> None:
    x = x.clone().requires_grad_()
    (g,) = wengert.autograd.grad(model(x).sum(), x, create_graph=True)
    ((g.norm(dim=1) - 1) ** 2).mean().backward()


def penalty_on_parameters(model: Any, x: Any, y: Any) -> None:
    loss = ((model(x) - y) ** 2).mean()
    gradients = wengert.autograd.grad(
        loss, list(model.parameters()), create_graph=True, allow_unused=True
    )
    (loss + sum((g**2).sum() for g in gradients if g is not None)).backward()


def recorded_backward(model: Any, x: Any, y: Any) -> None:
    ((model(x) - y) ** 2).mean().backward(create_graph=True)
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    sum((g**2).sum() for g in gradients).backward()


def gradients_by_hand(model: Any, x: Any, y: Any) -> None:
    loss = ((model(x) - y) ** 2).mean()
    (model(x, "other") ** 2).mean().backward()
    for p, g in zip(
        model.parameters(),
        wengert.autograd.grad(loss, list(model.parameters()), allow_unused=True),
        strict=True,
    ):
        if g is not None:
            p.grad = g if p.grad is None else p.grad + g


STEPS: list[Callable[[Any, Any, Any], None]] = [
    one_loss, two_losses, two_heads, no_sync, penalty_on_inputs, penalty_on_parameters,
    recorded_backward, gradients_by_hand,
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {},
    {"gradient_as_bucket_view": True},
    {"bucket_cap_mb": 0.0001, "find_unused_parameters": True},
]


def batches(size: int) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(ROWS * size, 4)), random.normal(size=(ROWS * size, 3))
    return wengert.tensor(x), wengert.tensor(y)


def part(rank: int, *tensors: Any) -> list[Any]:
    return [t[rank * ROWS : (rank + 1) * ROWS] for t in tensors]


def assert_same_gradients(model: Any, expected: Any, what: object) -> None:
    for (name, p), q in zip(model.named_parameters(), expected.parameters(), strict=True):
        if q.grad is None:
            assert p.grad is None, (what, name)
        else:
            assert p.grad is not None, (what, name)
            np.testing.assert_allclose(
                p.grad.detach()._array, q.grad.detach()._array, rtol=1e-10, atol=1e-13,
                err_msg=f"{what} {name}",
            )  # fmt: skip


def check_steps(rank: int, size: int) -> None:
    """Twice each, because buckets are arranged anew after the first."""
    x, y = batches(size)
    for step in STEPS:
        expected = net()
        step(expected, x, y)
        for options in OPTIONS:
            model = net()
            for p in model.parameters():
                p.data.mul_(rank + 1.0)  # rank 0's are copied
            model = DistributedDataParallel(model, **options)
            for _ in range(2):
                model.zero_grad()
                step(model, *part(rank, x, y))
                assert_same_gradients(model.module, expected, (step.__name__, options))


def check_unused(rank: int, size: int) -> None:
    """A parameter that only one rank uses."""
    x, y = batches(size)
    model = DistributedDataParallel(net())
    own_x, own_y = part(rank, x, y)
    ((model(own_x, "other" if rank else "head") - own_y) ** 2).mean().backward()
    expected = net()
    losses = [
        ((expected(a, "other" if r else "head") - b) ** 2).mean()
        for r in range(size)
        for a, b in [part(r, x, y)]
    ]
    (sum(losses) / size).backward()
    assert_same_gradients(model.module, expected, "unused")


def check_hooks(rank: int, size: int) -> None:
    x, y = batches(size)
    expected = net()
    one_loss(expected, x, y)
    seen = []

    def local_times_rank(state: Any, bucket: dist.GradBucket) -> Any:
        seen.append(bucket.index())
        work = dist.all_reduce(bucket.buffer().div_(size), async_op=True)
        return work.get_future().then(lambda f: f.value()[0])

    for hook, tolerance in (
        (default_hooks.allreduce_hook, 1e-12),
        (local_times_rank, 1e-12),
        (default_hooks.fp16_compress_hook, 1e-2),
        (default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), 5e-2),
    ):
        model = DistributedDataParallel(net(), bucket_cap_mb=0.0001)
        model.register_comm_hook(None, hook)
        one_loss(model, *part(rank, x, y))
        for p, q in zip(model.module.parameters(), expected.parameters(), strict=True):
            if q.grad is not None:
                np.testing.assert_allclose(
                    p.grad._array, q.grad._array, rtol=tolerance, atol=tolerance / 10
                )
    assert len(seen) > 1


def check_power_sgd(rank: int, size: int) -> None:
    """Exact where the rank suffices; with less, what one step loses comes with the next."""
    expected = net()
    x, y = batches(size)
    one_loss(expected, x, y)
    gradient = expected.trunk[2].weight.grad._array
    for hook in (powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook):
        for matrix_rank, epsilon in ((16, 0), (16, 1e-30), (2, 0)):
            if epsilon and hook is powerSGD_hook.batched_powerSGD_hook:
                continue  # its square has fewer independent columns, the others would be noise
            state = powerSGD_hook.PowerSGDState(
                None, matrix_rank, 2, min_compression_rate=0, orthogonalization_epsilon=epsilon
            )
            model = DistributedDataParallel(net())
            model.register_comm_hook(state, hook)
            steps, total = 42, np.zeros_like(gradient)
            for step in range(steps):
                model.zero_grad()
                one_loss(model, *part(rank, x, y))
                if matrix_rank == 16 and step in (1, 2, 3):
                    assert_same_gradients(model.module, expected, (hook.__name__, epsilon, step))
                if step >= 2:
                    total += model.module.trunk[2].weight.grad._array
                elif step == 1:
                    assert state.compression_stats() == (0, 0, 0)
                if matrix_rank == 16 and step == 3:
                    break
            if matrix_rank == 2:
                error = np.abs(total / (steps - 2) - gradient).max() / np.abs(gradient).max()
                assert error < 0.1, (hook.__name__, error)
                rate, before, after = state.compression_stats()
                assert rate > 1, (before, after)


def check_static_graph(rank: int, size: int) -> None:
    x, y = batches(size)
    expected = net()
    one_loss(expected, x, y)
    model = DistributedDataParallel(net(), static_graph=True)
    for _ in range(3):
        model.zero_grad()
        one_loss(model, *part(rank, x, y))
        assert_same_gradients(model.module, expected, "static graph")


def adversaries(wrap: Callable[[Any], Any]) -> tuple[Any, Any]:
    wengert.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    return wrap(generator), wrap(critic)


def train_adversaries(generator: Any, critic: Any, z: Any, real: Any) -> None:
    """Two losses with a graph in common, a penalty on gradients, and steps between them."""
    optimizers = [wengert.optim.SGD(m.parameters(), lr=0.1) for m in (generator, critic)]
    for _ in range(3):
        fake = generator(z)
        for optimizer in optimizers:
            optimizer.zero_grad()
        between = (real + fake.detach()).requires_grad_()
        (slope,) = wengert.autograd.grad(critic(between).sum(), between, create_graph=True)
        (critic(fake.detach()).mean() - critic(real).mean()).backward()
        ((slope.norm(dim=1) - 1) ** 2).mean().backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        (-critic(fake).mean()).backward()
        optimizers[0].step()


def check_adversaries(rank: int, size: int) -> None:
    z, real = batches(size)
    expected = adversaries(lambda module: module)
    train_adversaries(*expected, z, real)
    models = adversaries(DistributedDataParallel)
    train_adversaries(*models, *part(rank, z, real))
    for model, other in zip(models, expected, strict=True):
        for p, q in zip(model.module.parameters(), other.parameters(), strict=True):
            np.testing.assert_allclose(p.detach()._array, q.detach()._array, rtol=1e-9, atol=1e-13)


class Squares(wengert.utils.data.Dataset):
    """A number, and its square."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, i: int) -> Any:
        return wengert.tensor([float(i), float(i * i)])


def check_loader_workers(rank: int, size: int) -> list[int]:
    """Workers start while the group is there, and collectives go on around them."""
    sampler = wengert.utils.data.distributed.DistributedSampler(Squares(), shuffle=True, seed=3)
    orders = []
    for context in ("fork", "spawn"):
        loader = wengert.utils.data.DataLoader(
            Squares(), 2, sampler=sampler, num_workers=1, multiprocessing_context=context
        )
        seen = []
        for batch in loader:
            total = batch.clone()
            dist.all_reduce(total)
            assert (batch[:, 1] == batch[:, 0] ** 2).all()
            seen += [int(i) for i in batch[:, 0].tolist()]
        orders.append(seen)
    assert orders[0] == orders[1]
    return orders[0]


def check_join(rank: int, size: int) -> None:
    """Rank r has r + 1 batches."""
    x, y = batches(size)
    model = DistributedDataParallel(net())
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        for _ in range(rank + 1):
            optimizer.zero_grad()
            one_loss(model, *part(rank, x, y))
            optimizer.step()
    expected = net()
    optimizer = wengert.optim.SGD(expected.parameters(), lr=0.1)
    for step in range(size):
        optimizer.zero_grad()
        for r in range(step, size):
            own_x, own_y = part(r, x, y)
            (((expected(own_x) - own_y) ** 2).mean() / size).backward()
        optimizer.step()
    for p, q in zip(model.module.parameters(), expected.parameters(), strict=True):
        np.testing.assert_allclose(p.detach()._array, q.detach()._array, rtol=1e-10)


def check_batch_norm(rank: int, size: int) -> None:
    wengert.manual_seed(0)
    plain = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 3)).double()
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(
        nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 3)).double()
    )
    converted.load_state_dict(plain.state_dict())
    model = DistributedDataParallel(converted)
    assert all(key.startswith("module.") for key in model.state_dict())
    x, y = batches(size)
    one_loss(plain, x, y)
    one_loss(model, *part(rank, x, y))
    assert_same_gradients(model.module, plain, "batch norm")
    for buffer, other in zip(model.module.buffers(), plain.buffers(), strict=True):
        np.testing.assert_allclose(buffer._array, other._array, rtol=1e-12)


def check_functional(rank: int, size: int) -> None:
    """The gradient of the sum of all ranks' losses, and that of its norm."""
    rows = [np.arange(1.0, 5.0) * (r + 1) / 4 for r in range(size)]

    def losses(inputs: list[Any], exchange: Callable[..., list[Any]]) -> list[Any]:
        return [(out**3).sum() * (r + 1) for r, out in enumerate(exchange(inputs))]

    def exchanged(inputs: list[Any]) -> list[Any]:
        total = sum(inputs)
        parts = [i.split(4 // 2) for i in inputs]
        mixed = [wengert.cat([p[0] for p in parts]) for _ in inputs]
        return [total * 2 + m.sum() for m in mixed]

    def distributed(inputs: list[Any]) -> list[Any]:
        x = inputs[0]
        total = dist_functional.all_reduce(x)
        mean = dist_functional.all_reduce(x, dist.ReduceOp.AVG)
        gathered = wengert.cat(dist_functional.all_gather(x[:2]))
        return [total + mean * size + gathered.sum()]

    everything = [wengert.tensor(row, requires_grad=True) for row in rows]
    whole = sum(losses(everything, exchanged))
    gradients = wengert.autograd.grad(whole, everything, create_graph=True)
    seconds = wengert.autograd.grad(sum((g**2).sum() for g in gradients), everything)

    x = wengert.tensor(rows[rank], requires_grad=True)
    own = (distributed([x])[0] ** 3).sum() * (rank + 1)
    (g,) = wengert.autograd.grad(own, x, create_graph=True)
    np.testing.assert_allclose(g.detach()._array, gradients[rank].detach()._array, rtol=1e-12)
    (second,) = wengert.autograd.grad((g**2).sum(), x)
    np.testing.assert_allclose(second._array, seconds[rank]._array, rtol=1e-12)

    w = wengert.tensor(rows[rank], requires_grad=True)
    dist_functional.broadcast(w * 2, 1).sum().backward()
    assert (w.grad._array == (2 * size if rank == 1 else 0)).all()
    w.grad = None
    dist_functional.reduce_scatter(w[:1], [w * (r + 1) for r in range(size)]).sum().backward()
    assert (w.grad._array == size * (size + 1) // 2).all()
    w.grad = None
    dist_functional.all_to_all_single(wengert.empty(size, 4), w.expand(size, 4)).sum().backward()
    assert (w.grad._array == size).all()


def check_many_buffers(rank: int, size: int) -> None:
    """Of several dtypes, more than a round has pieces, more bytes than it has room."""
    model = wengert.nn.Linear(1, 1)
    for k in range(150):
        model.register_buffer(
            f"small{k}", wengert.full((k % 3,), k + 100 * rank, dtype=wengert.int32)
        )
    model.register_buffer("number", wengert.tensor(rank))
    model.register_buffer("large", wengert.full((2_500_001,), float(rank), dtype=wengert.float64))
    model.register_buffer("columns", wengert.full((3, 5), float(rank)).t())
    model.register_buffer("flags", wengert.tensor([rank == 0, True]))
    parallel = DistributedDataParallel(model, init_sync=False)
    parallel(wengert.ones(1, 1))
    assert all((getattr(model, f"small{k}") == k).all() for k in range(150))
    assert model.number.item() == 0
    assert not model.large.any()
    assert not model.columns.any()
    assert model.flags.all()


FOLDS = {
    dist.ReduceOp.PRODUCT: wengert.prod,
    dist.ReduceOp.MIN: wengert.amin,
    dist.ReduceOp.MAX: wengert.amax,
}


def check_products_and_extremes(rank: int, size: int) -> None:
    """Derivatives, also second ones, are those of one process that has the rows of all ranks."""
    rows = [np.cos(np.arange(2.0 * size) + 3 * r) for r in range(size)]
    weights = [np.arange(2.0 * size) + r for r in range(size)]
    for op, fold in FOLDS.items():
        own = wengert.tensor(rows[rank], requires_grad=True)
        parts = [part * 1 for part in own.split(2)]
        weight = wengert.tensor(weights[rank])
        at_root = dist_functional.reduce(own, 1, op) * (rank == 1)
        share = dist_functional.reduce_scatter(wengert.zeros(2).double(), parts, op)
        total = dist_functional.all_reduce(own, op) + at_root
        loss = (total**2 * weight).sum() + (share**3).sum() * (rank + 1)

        every = [wengert.tensor(row, requires_grad=True) for row in rows]
        folded = fold(wengert.stack(every), 0)
        whole = sum(
            ((folded * (2 if r == 1 else 1)) ** 2 * wengert.tensor(weights[r])).sum()
            + (folded[2 * r : 2 * r + 2] ** 3).sum() * (r + 1)
            for r in range(size)
        )
        (g,) = wengert.autograd.grad(loss, own, create_graph=True)
        expected = wengert.autograd.grad(whole, every, create_graph=True)
        np.testing.assert_allclose(g.detach()._array, expected[rank].detach()._array, rtol=1e-12)
        (second,) = wengert.autograd.grad((g**2).sum(), own)
        seconds = wengert.autograd.grad(sum((e**2).sum() for e in expected), every)
        np.testing.assert_allclose(second._array, seconds[rank]._array, rtol=1e-12)


def check_collected(rank: int, size: int) -> None:
    """Nothing holds a wrapper, its buckets or a graph, and no cycle has to be found."""
    gc.collect()
    gc.disable()
    try:
        model = DistributedDataParallel(net())
        one_loss(model, *part(rank, *batches(size)))
        reference, inner = weakref.ref(model), weakref.ref(model.module)
        del model
        assert reference() is None
        assert inner() is None
    finally:
        gc.enable()


def test_gradients_are_those_of_the_joined_batch(ranks: Ranks) -> None:
    ranks.run(check_steps)
    ranks.run(check_unused)


def test_hooks_uneven_inputs_and_batch_norm(ranks: Ranks) -> None:
    for check in (check_hooks, check_join, check_batch_norm, check_collected):
        ranks.run(check)


def test_compressed_static_and_adversarial_training(ranks: Ranks) -> None:
    for check in (check_power_sgd, check_static_graph, check_adversaries):
        ranks.run(check)
    with pytest.raises(ValueError, match=r"start_powerSGD_iter must be > 1 .* got 1"):
        powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1)


def test_ranks_share_a_dataset_and_their_loaders_have_workers(two_ranks: Ranks) -> None:
    first, second = two_ranks.run(check_loader_workers)
    assert sorted(first + second) == list(range(12))


def test_machines_that_share_no_memory(two_machines: Ranks) -> None:
    """More than a round's bytes, both ways at once."""
    two_machines.run(check_large)
    two_machines.run(check_batch_norm)
    two_machines.run(check_adversaries)


def check_large(rank: int, size: int) -> None:
    numbers = wengert.arange(2_000_001, dtype=wengert.float64)
    total = numbers * (rank + 1)
    dist.all_reduce(total)
    assert (total == numbers * 3).all()
    outputs = [wengert.empty(2_000_001, dtype=wengert.float64) for _ in range(size)]
    dist.all_gather(outputs, numbers + rank)
    assert all((out == numbers + r).all() for r, out in enumerate(outputs))


def test_collectives_with_gradients(ranks: Ranks) -> None:
    ranks.run(check_functional)
    ranks.run(check_products_and_extremes)


def test_buffers_come_from_one_rank(ranks: Ranks) -> None:
    ranks.run(check_many_buffers)


def test_buffers_come_from_another_machine(two_machines: Ranks) -> None:
    two_machines.run(check_many_buffers)


def check_description(rank: int, size: int) -> None:
    model = DistributedDataParallel(wengert.nn.Linear(2, 3), find_unused_parameters=True)
    assert model._get_ddp_logging_data() == {
        "backend_name": "gloo", "broadcast_buffers": 1, "find_unused_parameters": 1,
        "gradient_as_bucket_view": 0, "module_name": "Linear", "num_parameter_tensors": 2,
        "rank": rank, "total_parameter_size_bytes": 36, "world_size": size,
    }  # fmt: skip


def test_what_a_parallel_module_says_of_itself(two_ranks: Ranks) -> None:
    two_ranks.run(check_description)
