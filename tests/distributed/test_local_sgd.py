"""Local SGD: averages of gradients at first, averages of parameters later."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from tests.distributed.ranks import Ranks
from wengert import distributed as dist
from wengert.distributed.algorithms.ddp_comm_hooks import debugging_hooks, post_localSGD_hook
from wengert.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from wengert.distributed.optim import PostLocalSGDOptimizer
from wengert.nn.parallel import DistributedDataParallel

START, PERIOD, STEPS, RATE = 2, 3, 9, 0.25


def batches(rank: int) -> np.ndarray:
    return np.sin(np.arange(3.0 * STEPS) + rank).reshape(STEPS, 3)


def check_steps(rank: int, size: int) -> None:
    """Weights are those of a simulation of all ranks; the gradient of the loss is the batch."""
    model = DistributedDataParallel(wengert.nn.Linear(3, 1, bias=False).double())
    start = model.module.weight._array.copy()[0]
    state = post_localSGD_hook.PostLocalSGDState(None, None, START, False)
    model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
    local = wengert.optim.SGD(model.parameters(), lr=RATE)
    optimizer = PostLocalSGDOptimizer(local, PeriodicModelAverager(PERIOD, warmup_steps=START))
    simulated = [start.copy() for _ in range(size)]
    for step in range(STEPS):
        optimizer.zero_grad()
        model(wengert.tensor(batches(rank)[step])).sum().backward()
        optimizer.step()
        gradients = [batches(r)[step] for r in range(size)]
        if step < START:
            gradients = [np.mean(gradients, axis=0)] * size
        for weights, gradient in zip(simulated, gradients, strict=True):
            weights -= RATE * gradient
        if step >= START and (step - START) % PERIOD == 0:
            simulated = [np.mean(simulated, axis=0) for _ in range(size)]
        np.testing.assert_allclose(model.module.weight._array[0], simulated[rank], rtol=1e-12)
    saved = optimizer.state_dict()
    assert (saved["step"], state.iter) == (STEPS, STEPS)
    optimizer.averager.step = 0
    optimizer.load_state_dict(saved)
    assert optimizer.averager.step == STEPS
    assert optimizer.param_groups is local.param_groups
    del saved["step"]
    with pytest.warns(UserWarning, match="step counter"):
        optimizer.load_state_dict(saved)
    assert optimizer.averager.step == 0


def check_subgroups(rank: int, size: int) -> None:
    """Later averages are those of the subgroup; without a hook's work a gradient stays its own."""
    own, _ = dist.new_subgroups(1)
    for subgroup, expected in ((own, rank), (None, (size - 1) / 2)):
        model = DistributedDataParallel(wengert.nn.Linear(1, 1, bias=False))
        state = post_localSGD_hook.PostLocalSGDState(None, subgroup, 0)
        model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
        model(wengert.tensor([float(rank)])).sum().backward()
        assert model.module.weight.grad.item() == expected
    alone = DistributedDataParallel(wengert.nn.Linear(1, 1, bias=False))
    alone.register_comm_hook(None, debugging_hooks.noop_hook)
    alone(wengert.tensor([float(rank)])).sum().backward()
    assert alone.module.weight.grad.item() == rank


def check_refusals(rank: int, size: int) -> None:
    with pytest.raises(ValueError, match="`period`` must be a positive value, got 0"):
        PeriodicModelAverager(0)
    with pytest.raises(ValueError, match="`warmup_steps`` must be a non-negative number, got -1"):
        PeriodicModelAverager(1, -1)


def test_local_sgd(ranks: Ranks) -> None:
    for check in (check_steps, check_subgroups, check_refusals):
        ranks.run(check)
