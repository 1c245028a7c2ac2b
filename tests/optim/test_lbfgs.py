"""L-BFGS goes the way that PyTorch's goes, call by call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert import optim

OPTIONS: list[dict[str, Any]] = [
    {"lr": 0.5, "history_size": 3, "max_iter": 7},
    {"line_search_fn": "strong_wolfe", "max_iter": 5},
    {"line_search_fn": "strong_wolfe", "lr": 20.0, "max_iter": 4, "history_size": 2},
    {"line_search_fn": "strong_wolfe", "max_eval": 4},
]


def train(library: Any, options: dict[str, Any]) -> tuple[list[float], int, Any]:
    rng = np.random.default_rng(0)
    a, b, c, x, y = (
        library.from_numpy(rng.normal(size=s)) for s in ((3, 5), (5,), (5, 1), (20, 3), (20, 1))
    )
    made = [p.requires_grad_() for p in (a, b, c)]
    unused = library.zeros(2, dtype=library.float64, requires_grad=True)
    optimizer = library.optim.LBFGS([*made, unused], **options)
    calls = 0

    def closure() -> Any:
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = ((library.tanh(x @ a + b) @ c - y) ** 2).mean()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(4)]
    return losses, calls, optimizer


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")  # PyTorch's own
@pytest.mark.parametrize("options", OPTIONS)
def test_trajectory_and_state(options: dict[str, Any], torch: Any) -> None:
    ours, our_calls, a = train(wengert, options)
    theirs, their_calls, b = train(torch, options)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert our_calls == their_calls
    mine, yours = (o.state_dict()["state"][0] for o in (a, b))
    assert mine.keys() == yours.keys()
    assert mine["func_evals"] == yours["func_evals"]
    assert len(mine["old_dirs"]) == len(yours["old_dirs"])
    np.testing.assert_allclose(mine["d"].numpy(), yours["d"].numpy(), rtol=1e-6, atol=1e-9)


def test_a_loaded_state_goes_on() -> None:
    _, _, source = train(wengert, OPTIONS[0])
    _, _, target = train(wengert, OPTIONS[0])
    target.load_state_dict(source.state_dict())
    again = target.state_dict()["state"][0]
    assert again["n_iter"] == source.state_dict()["state"][0]["n_iter"]
    p = target.param_groups[0]["params"][0]
    before = p.tolist()

    def closure() -> Any:
        target.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    target.step(closure)
    assert p.tolist() != before


def test_errors() -> None:
    w = wengert.ones(2, requires_grad=True)
    v = wengert.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        optim.LBFGS([{"params": [w]}, {"params": [v]}])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optim.LBFGS([w], line_search_fn="x").step(lambda: 1.0)
