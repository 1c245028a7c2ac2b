"""Steps of parameters that have stepped before are as all others, whatever happens in between."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import optim

OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("Adam", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "amsgrad": True}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5}),
]
each = pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
SHAPES = [(64, 64), (64,), (7,), ()]


class Fit:
    """Parameters that approach a target, with either library."""

    def __init__(self, library: Any, name: str, options: dict[str, Any]) -> None:
        rng = np.random.default_rng(0)
        self.library, self.made = library, 0
        self.parameters = [self.parameter(rng.normal(size=shape)) for shape in SHAPES]
        self.optimizer = getattr(library.optim, name)(self.parameters, **options)
        self.group = self.optimizer.param_groups[0]

    def parameter(self, value: Any) -> Any:
        value = np.asarray(value, np.float32)
        return self.library.tensor(value).requires_grad_()

    def step(self) -> None:
        self.optimizer.zero_grad()
        loss = sum((p * p).sum() + p.sin().sum() for p in self.parameters if p.requires_grad)
        loss.backward()
        self.optimizer.step()

    def change(self, **options: Any) -> None:
        self.group.update(options)

    def state(self, k: int) -> Any:
        return self.optimizer.state[self.parameters[k]]


def _freeze(fit: Fit) -> None:
    fit.parameters[1].requires_grad_(False)


def _show_other_memory(fit: Fit) -> None:
    fit.parameters[0].data = fit.parameters[0].data.clone() * 2


def _lie_otherwise(fit: Fit) -> None:
    fit.parameters[0].data = fit.parameters[0].data.t()


def _write(fit: Fit) -> None:
    with fit.library.no_grad():
        fit.parameters[0].mul_(0.5)


def _replace(fit: Fit) -> None:
    fit.parameters[1] = fit.group["params"][1] = fit.parameter(np.linspace(0, 1, 64))


def _replace_list(fit: Fit) -> None:
    fit.parameters = fit.group["params"] = [*reversed(fit.parameters)]


def _add(fit: Fit) -> None:
    fit.parameters.append(fit.parameter(np.linspace(0, 1, 300)))
    fit.optimizer.add_param_group({"params": fit.parameters[-1:], "lr": 0.02})


def _load(fit: Fit) -> None:
    fit.optimizer.load_state_dict(copy.deepcopy(fit.optimizer.state_dict()))
    fit.group = fit.optimizer.param_groups[0]


def _forget(fit: Fit) -> None:
    fit.optimizer.state[fit.parameters[0]] = {}


def _lag(fit: Fit) -> None:
    if "step" in fit.state(1):
        fit.state(1)["step"] -= 1


def _share_counts(fit: Fit) -> None:
    if "step" in fit.state(1):
        fit.state(1)["step"] = fit.state(0)["step"]


def _replace_state(fit: Fit) -> None:
    for name, x in [*fit.state(0).items()]:
        if name != "step" and x is not None:
            fit.state(0)[name] = x.clone() * 0.5


def _hook(fit: Fit) -> None:
    fit.optimizer.register_step_pre_hook(lambda o, args, kwargs: fit.change(lr=0.02))
    fit.optimizer.register_step_post_hook(lambda o, args, kwargs: _write(fit))


def _betas(fit: Fit) -> None:
    if "betas" in fit.group:
        fit.change(betas=[0.5, 0.9])
        fit.step()
        fit.group["betas"][0] = 0.7


def _tensor_rate(fit: Fit) -> None:
    fit.change(lr=fit.library.tensor(0.02))
    fit.step()
    fit.group["lr"].mul_(0.5)


EVENTS: list[Callable[[Fit], None]] = [
    lambda fit: None,
    lambda fit: fit.change(lr=0.03),
    lambda fit: fit.change(maximize=True, weight_decay=0.1),
    lambda fit: fit.change(params=fit.parameters[:2]),
    _tensor_rate, _betas, _freeze, _show_other_memory, _lie_otherwise, _write, _replace,
    _replace_list, _add, _load, _forget, _lag, _share_counts, _replace_state, _hook,
]  # fmt: skip


def _train(fit: Fit, event: Callable[[Fit], None]) -> list[Any]:
    for k in range(7):
        fit.step()
        if k in (2, 4):
            event(fit)
    return [p.detach().numpy() for p in fit.parameters]


@pytest.mark.torch
@each
def test_what_happens_between_steps(name: str, options: dict[str, Any], torch: Any) -> None:
    for event in EVENTS:
        ours, theirs = (_train(Fit(library, name, options), event) for library in (wengert, torch))
        for x, y in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5, err_msg=str(event))


def test_a_rule_is_looked_at_again_when_options_change(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, rule = [], optim.Adam._rule
    monkeypatch.setattr(optim.Adam, "_rule", lambda *args: calls.append(0) or rule(*args))  # type: ignore[func-returns-value]
    fit = Fit(wengert, "Adam", {})
    counts = []
    for lr in (0.1, 0.1, 0.1, 0.1, 0.2, 0.2):
        if lr != fit.group["lr"]:
            fit.change(lr=lr)
        fit.step()
        counts.append(len(calls))
    assert counts == [2, 2, 2, 2, 3, 3]  # at first for a step, and for all that follow


def test_what_is_known_keeps_no_optimizer_alive() -> None:
    fit = Fit(wengert, "Adam", {})
    for _ in range(3):
        fit.step()
    gone = weakref.ref(fit.optimizer)
    gc.disable()
    try:
        fit.optimizer = fit.group = None
        assert gone() is None
    finally:
        gc.enable()


def test_groups_that_are_gone_are_forgotten() -> None:
    fit = Fit(wengert, "SGD", {})
    for _ in range(3):
        fit.step()
        _load(fit)
    fit.step()
    assert len(fit.optimizer._rules) == 1


def test_a_later_step_is_named_by_a_graph_from_before() -> None:
    fit = Fit(wengert, "Adam", {})
    for _ in range(3):
        fit.step()
    loss = (fit.parameters[0] * fit.parameters[0]).sum()
    written = fit.parameters[0]._version
    fit.optimizer.step()
    assert fit.parameters[0]._version == written + 1
    with pytest.raises(RuntimeError, match=r"(?s)Adam\.step\(\).*fit\.optimizer\.step\(\)"):
        loss.backward()


def test_a_hook_that_a_closure_registers_is_called() -> None:
    fit, called = Fit(wengert, "SGD", {}), []

    def closure() -> None:
        if not called:
            fit.optimizer.register_step_post_hook(lambda *args: called.append(args[1:]))

    fit.optimizer.step(closure)
    assert called == [((closure,), {})]
