"""Optimizers step at the end of compiled steps as they do in eager mode, whatever has changed."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from tests.replay.harness import batch, compare, mlp, state


def _changes(model: Any, optimizer: Any) -> list[Any]:
    """What happens between two steps, one after the other."""
    group, first = optimizer.param_groups[0], model[0].weight
    tensor_rate = wengert.tensor(0.02)

    def shrink(*_: Any) -> None:
        first.data.mul_(0.9)

    return [
        lambda: None,
        lambda: group.update(lr=0.03),
        lambda: group.update(lr=tensor_rate),
        lambda: tensor_rate.mul_(0.5),
        lambda: model[0].bias.requires_grad_(False),
        lambda: model[0].bias.requires_grad_(True),
        lambda: setattr(first, "data", first.data.clone() * 2),
        lambda: first.data.mul_(0.5),
        lambda: optimizer.state[first].clear(),
        lambda: optimizer.load_state_dict(optimizer.state_dict()),
        lambda: optimizer.param_groups[0]["params"].reverse(),
        lambda: optimizer.register_step_pre_hook(shrink),
    ]


@pytest.mark.parametrize(
    ("name", "options"), [("SGD", {"momentum": 0.5}), ("AdamW", {"eps": 0.01})]
)
def test_steps_between_which_something_changes(name: str, options: dict[str, float]) -> None:
    def program(wrap: Any, log: list[Any]) -> None:
        model = mlp(8, 64, 64, 3)
        optimizer = getattr(wengert.optim, name)(model.parameters(), lr=0.01, **options)

        def step(x: wengert.Tensor) -> wengert.Tensor:
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        for change in _changes(model, optimizer):
            change()
            for _ in range(4):
                log += [step(batch()), *state(model)]

    compare(program)
