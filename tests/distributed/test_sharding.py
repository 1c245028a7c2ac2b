"""State and parameters that are shared out, against one process on the joined batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert
from tests.distributed.ranks import Ranks
from tests.distributed.test_data_parallel import batches, net, part
from wengert import distributed as dist
from wengert import nn
from wengert.distributed import checkpoint
from wengert.distributed.checkpoint import state_dict as states
from wengert.distributed.fsdp import DTensor, FullyShardedDataParallel, fully_shard
from wengert.distributed.optim import ZeroRedundancyOptimizer
from wengert.nn.parallel import DistributedDataParallel

WHOLE = states.StateDictOptions(full_state_dict=True)


def loss_of(model: Any, x: Any, y: Any) -> Any:
    return ((model(x) + model(x, "other") - y) ** 2).mean()


def train(model: Any, optimizer: Any, x: Any, y: Any, steps: int = 2) -> list[float]:
    norms = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
        optimizer.step()
    return norms


def adam(model: Any) -> Any:
    return wengert.optim.AdamW(model.parameters(), lr=0.1)


def trained(size: int, steps: int = 2) -> tuple[Any, Any, list[float]]:
    """One process on the joined batch."""
    model = net()
    optimizer = adam(model)
    return model, optimizer, train(model, optimizer, *batches(size), steps=steps)


def assert_same(own: Any, expected: Any) -> None:
    for name, value in expected.items():
        np.testing.assert_allclose(
            own[name].detach().numpy(), value.detach().numpy(), rtol=1e-9, atol=1e-12, err_msg=name
        )


def elements(optimizer: Any) -> int:
    return sum(v.numel() for state in optimizer.state.values() for v in state.values() if v.ndim)


def check_zero(rank: int, size: int) -> None:
    x, y = batches(size)
    expected, plain, _ = trained(size, 4)
    model = DistributedDataParallel(net())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), wengert.optim.AdamW, lr=0.1)
    train(model, optimizer, *part(rank, x, y))
    assert elements(optimizer.optim) <= 0.6 * elements(plain)
    with pytest.raises(RuntimeError, match="not been consolidated on this rank"):
        optimizer.state_dict()
    optimizer.consolidate_state_dict(to=1)
    holder = [optimizer.state_dict() if rank == 1 else None]
    dist.broadcast_object_list(holder, 1)
    optimizer.consolidate_state_dict(to=size)
    with pytest.raises(RuntimeError, match="not been consolidated on this rank"):
        optimizer.state_dict()
    fresh = ZeroRedundancyOptimizer(model.parameters(), wengert.optim.AdamW, lr=9.0)
    fresh.load_state_dict(holder[0])
    assert fresh.param_groups[0]["lr"] == 0.1
    train(model, fresh, *part(rank, x, y))
    assert_same(model.module.state_dict(), expected.state_dict())


def check_fully_shard(rank: int, size: int) -> None:
    x, y = batches(size)
    expected, plain, norms = trained(size)
    model = net()
    for p in model.parameters():
        p.data.mul_(rank + 1.0)  # rank 0's are copied
    whole = sum(p.numel() for p in model.parameters())
    fully_shard(model.trunk)
    assert fully_shard(model) is model
    assert type(model).__name__ == "FSDPNet"
    assert isinstance(model.head.weight, DTensor)
    assert sum(p.numel() for p in model.parameters()) == whole
    assert sum(p.to_local().numel() for p in model.parameters()) <= 0.6 * whole
    optimizer = adam(model)
    assert train(model, optimizer, *part(rank, x, y)) == pytest.approx(norms, rel=1e-9)
    assert elements(optimizer) <= 0.6 * elements(plain)
    full = states.get_model_state_dict(model, options=WHOLE)
    assert_same(full, expected.state_dict())
    rows = model.state_dict()["head.weight"]
    assert isinstance(rows, DTensor)
    with pytest.raises(RuntimeError, match="some rows of the tensor alone"):
        wengert.save({"a": rows}, "/dev/null")
    again = fully_shard(net())
    again.load_state_dict(full)
    assert_same(states.get_model_state_dict(again, options=WHOLE), full)
    # Gradients of gradients, and no_grad.
    for module, a, b in ((expected, x, y), (model, *part(rank, x, y))):
        module.zero_grad()
        grads = wengert.autograd.grad(loss_of(module, a, b), module.parameters(), create_graph=True)
        sum((g**2).sum() for g in grads).backward()
    if size == 2:
        own = model.head.bias.grad
        assert own is not None
        assert own.shape == model.head.bias.shape
    with wengert.no_grad():
        np.testing.assert_allclose(model(x).numpy(), expected(x).numpy(), rtol=1e-9)


def check_wrapper(rank: int, size: int) -> None:
    x, y = batches(size)
    expected, _, norms = trained(size)
    model = FullyShardedDataParallel(
        net(), auto_wrap_policy=lambda module, recurse, nonwrapped_numel: nonwrapped_numel > 60
    )
    optimizer = adam(model)
    assert train(model, optimizer, *part(rank, x, y)) == pytest.approx(norms, rel=1e-9)
    assert_same(model.state_dict(), expected.state_dict())
    model.load_state_dict(expected.state_dict())


def save_checkpoint(rank: int, size: int, folder: str) -> None:
    model = fully_shard(net())
    optimizer = adam(model)
    train(model, optimizer, *part(rank, *batches(size)))
    weights, moments = states.get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "epoch": 3, "scale": wengert.ones(2)}
    checkpoint.save(state, checkpoint_id=folder)


def load_checkpoint(rank: int, size: int, folder: str, from_ranks: int) -> None:
    """Go on where other ranks have stopped; as one process does on their joined batch."""
    x, y = batches(from_ranks)
    expected, plain, _ = trained(from_ranks)
    wengert.manual_seed(7)
    model = fully_shard(nn.Module.double(type(expected)()))
    optimizer = wengert.optim.AdamW(model.parameters(), lr=9.0)
    weights, moments = states.get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "epoch": 0, "scale": wengert.zeros(2)}
    checkpoint.load(state, checkpoint_id=folder)
    assert (state["epoch"], state["scale"].tolist()) == (3, [1.0, 1.0])
    states.set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
    train(expected, plain, x, y)
    train(model, optimizer, x, y)
    full, moments = states.get_state_dict(model, optimizer, options=WHOLE)
    assert_same(full, expected.state_dict())
    assert_same(moments["state"]["head.weight"], plain.state[expected.head.weight])
    with pytest.raises(RuntimeError, match="has no 'absent'"):
        checkpoint.load({"absent": wengert.ones(1)}, checkpoint_id=folder)
    with pytest.raises(RuntimeError, match="has shape"):
        checkpoint.load({"scale": wengert.ones(3)}, checkpoint_id=folder)


@pytest.mark.parametrize("check", [check_zero, check_fully_shard, check_wrapper])
def test_ranks(ranks: Ranks, check: Any) -> None:
    ranks.run(check)


def test_another_number_of_ranks(two_ranks: Ranks, three_ranks: Ranks, tmp_path: Path) -> None:
    three_ranks.run(save_checkpoint, str(tmp_path))
    two_ranks.run(load_checkpoint, str(tmp_path), 3)
    three_ranks.run(load_checkpoint, str(tmp_path), 3)
