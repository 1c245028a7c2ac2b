"""What a group's steps update is noted, and others may change it between two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import optim
from wengert.optim._tables import table_of

Optimizer = Any
Parameters = list[wengert.Tensor]


def _replace_state(o: Optimizer, params: Parameters) -> None:
    for own in o.state.values():
        own.update({k: v * 2 for k, v in own.items() if k != "step" and v is not None})


def _new_state(o: Optimizer, params: Parameters) -> None:
    o.load_state_dict(o.state_dict())


def _forget_one(o: Optimizer, params: Parameters) -> None:
    o.state.pop(params[1], None)


def _no_gradient(o: Optimizer, params: Parameters) -> None:
    params[0].grad = None


def _strided_gradient(o: Optimizer, params: Parameters) -> None:
    params[0].grad = wengert.arange(4096.0).view(64, 64).t()


def _gradient_of_another_dtype(o: Optimizer, params: Parameters) -> None:
    params[1]._grad = wengert.ones(64, dtype=wengert.float64)


def _gradient_that_is_the_parameter(o: Optimizer, params: Parameters) -> None:
    params[0].grad = params[0].detach()


def _other_data(o: Optimizer, params: Parameters) -> None:
    params[0].data = params[0].data.clone() * 3


def _shared_data(o: Optimizer, params: Parameters) -> None:
    params[1].data = params[0].data.view(-1)[:64]


def _other_order(o: Optimizer, params: Parameters) -> None:
    group = o.param_groups[0]["params"]
    group[0], group[1] = group[1], group[0]


def _one_less(o: Optimizer, params: Parameters) -> None:
    del o.param_groups[0]["params"][1]


def _other_rate(o: Optimizer, params: Parameters) -> None:
    o.param_groups[0]["lr"] *= 2


CHANGES = [
    _replace_state, _new_state, _forget_one, _no_gradient, _strided_gradient,
    _gradient_of_another_dtype, _gradient_that_is_the_parameter, _other_data, _shared_data,
    _other_order, _one_less, _other_rate,
]  # fmt: skip
KINDS: list[Callable[[Any], Any]] = [
    lambda params: optim.SGD(params, lr=0.1),
    lambda params: optim.SGD(params, lr=0.1, momentum=0.9),
    lambda params: optim.AdamW(params, lr=0.1),
]


@pytest.mark.parametrize("kind", range(len(KINDS)))
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__.strip("_"))
def test_a_change_is_seen(
    change: Callable[[Optimizer, Parameters], None], kind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = run(kind, change)
    monkeypatch.setattr("wengert.optim._tables.table_of", lambda *args: None)
    for ours, plain in zip(noted, run(kind, change), strict=True):
        np.testing.assert_array_equal(ours, plain)


def run(kind: int, change: Callable[[Optimizer, Parameters], None]) -> list[Any]:
    """All numbers after some steps with a change between them."""
    rng = np.random.default_rng(0)
    params = [wengert.tensor(rng.standard_normal(s), dtype=wengert.float32, requires_grad=True)
              for s in ((64, 64), (64,))]  # fmt: skip
    optimizer = KINDS[kind](params)
    found: list[Any] = []
    for k in range(9):
        for p in params:
            p.grad = wengert.tensor(rng.standard_normal(p.shape), dtype=wengert.float32)
        if k == 4:
            change(optimizer, params)
        optimizer.step()
        found += [p.detach().numpy().copy() for p in params] + [p._version for p in params]
        states = [optimizer.state.get(p, {}) for p in params]
        found += [x.numpy().copy() for own in states for x in own.values() if x is not None]
    return found


def test_a_table_is_made_and_holds() -> None:
    params = [wengert.ones(64, 128, requires_grad=True)]
    optimizer = optim.Adam(params)
    for _ in range(3):
        params[0].grad = wengert.ones(64, 128)
        optimizer.step()
    (known,) = optimizer._rules
    if table_of(known.rule.formula, known.rule.options, known.rule.states, params,
                optimizer.state, True) is None:  # fmt: skip
        pytest.skip("words of this Python are not known")
    assert known.noted.holds(params, optimizer.state)
    assert known.noted.count == 1
