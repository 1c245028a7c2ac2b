"""Optimizers around others that never call `Optimizer.__init__`, as lookahead wrappers do."""

from __future__ import annotations

from typing import Any

import pytest

import wengert


def wrapped(lib: Any) -> tuple[Any, ...]:
    """A few steps through a wrapper, a scheduler, and the wrapper's state."""

    class Wrapper(lib.optim.Optimizer):  # type: ignore[name-defined, misc]
        def __init__(self, inner: Any) -> None:
            self.inner, self.state = inner, {}
            self.param_groups, self.defaults = inner.param_groups, inner.defaults

        def __getstate__(self) -> dict[str, Any]:
            return {"state": self.state, "param_groups": self.param_groups}

        def step(self, closure: Any = None) -> Any:
            return self.inner.step(closure)

    p = lib.nn.Parameter(lib.ones(2))
    optimizer = Wrapper(lib.optim.SGD([p], lr=0.1, momentum=0.9))
    scheduler = lib.optim.lr_scheduler.StepLR(optimizer, 1)
    for _ in range(2):
        optimizer.zero_grad()
        p.square().sum().backward()
        optimizer.step()
        scheduler.step()
    with pytest.raises(AttributeError, match="_optimizer_state_dict_pre_hooks"):
        optimizer.state_dict()  # needs what __init__ sets; wrappers have their own
    optimizer.add_param_group({"params": [lib.nn.Parameter(lib.ones(1))]})
    return p.tolist(), scheduler.get_last_lr(), len(optimizer.param_groups), len(optimizer.state)


@pytest.mark.torch
def test_wrapper_equals_torchs(torch: Any) -> None:
    values, rates, *counts = wrapped(wengert)
    expected_values, expected_rates, *expected_counts = wrapped(torch)
    assert values == pytest.approx(expected_values)
    assert rates == pytest.approx(expected_rates)
    assert counts == expected_counts
