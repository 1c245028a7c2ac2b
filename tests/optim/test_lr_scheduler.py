"""Schedulers: the learning rates of 30 epochs are PyTorch's."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import optim
from wengert.optim import lr_scheduler

SCHEDULES: list[tuple[str, dict[str, Any]]] = [
    ("StepLR", {"step_size": 4}),
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [3, 3, 11], "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("CosineAnnealingLR", {"T_max": 7}),
    ("CosineAnnealingLR", {"T_max": 10, "eta_min": 0.05}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 0.95**epoch}),
    ("LambdaLR", {"lr_lambda": [lambda epoch: 1 / (1 + epoch), lambda epoch: epoch]}),
    ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.9}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 0.1, "end_factor": 0.7, "total_iters": 9}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 4}),
    ("PolynomialLR", {"total_iters": 6, "power": 2.0}),
    ("CosineAnnealingWarmRestarts", {"T_0": 4}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.01}),
]

# Momenta cycle too, and steps go to no epoch.
CYCLES: list[tuple[str, dict[str, Any]]] = [
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 4}),
    ("CyclicLR", {"base_lr": [0.1, 0.2], "max_lr": 1.0, "step_size_up": 3, "step_size_down": 5,
                  "mode": "triangular2"}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3, "mode": "exp_range",
                  "gamma": 0.9, "base_momentum": 0.5, "max_momentum": 0.7}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3, "cycle_momentum": False,
                  "scale_fn": lambda x: 1 / x, "scale_mode": "cycle"}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 30}),
    ("OneCycleLR", {"max_lr": [1.0, 2.0], "epochs": 5, "steps_per_epoch": 6, "pct_start": 0.4,
                    "anneal_strategy": "linear", "base_momentum": 0.6}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 30, "three_phase": True, "div_factor": 5.0}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 30, "cycle_momentum": False}),
]  # fmt: skip

each = pytest.mark.parametrize(("name", "options"), SCHEDULES)


def optimizer(library: Any) -> Any:
    groups = [
        {"params": [library.zeros(1, requires_grad=True)]},
        {"params": [library.zeros(1, requires_grad=True)], "lr": 0.3},
    ]
    return library.optim.SGD(groups, lr=1.0)


def rates(library: Any, name: str, options: dict[str, Any], epochs: int = 30) -> list[Any]:
    o = optimizer(library)
    scheduler = getattr(library.optim.lr_scheduler, name)(o, **options)
    seen = [scheduler.get_last_lr()]
    for _ in range(epochs):
        o.step()
        scheduler.step()
        seen.append(scheduler.get_last_lr())
        assert seen[-1] == [g["lr"] for g in o.param_groups]
    return seen


@pytest.mark.torch
@each
def test_rates(name: str, options: dict[str, Any], torch: Any) -> None:
    np.testing.assert_allclose(
        rates(wengert, name, options), rates(torch, name, options), rtol=1e-13, atol=1e-16
    )


@pytest.mark.torch
@each
@pytest.mark.filterwarnings("ignore:The epoch parameter")
def test_steps_to_an_epoch(name: str, options: dict[str, Any], torch: Any) -> None:
    results = []
    for library in (wengert, torch):
        o = optimizer(library)
        scheduler = getattr(library.optim.lr_scheduler, name)(o, **options)
        o.step()
        seen = []
        for epoch in (5, 2, 8):
            scheduler.step(epoch)
            seen.append(scheduler.get_last_lr())
        results.append(seen)
    np.testing.assert_allclose(*results, rtol=1e-13, atol=1e-16)


@each
def test_saving_and_resuming(name: str, options: dict[str, Any]) -> None:
    a = optimizer(wengert)
    first = getattr(lr_scheduler, name)(a, **options)
    for _ in range(4):
        a.step()
        first.step()
    b = optimizer(wengert)
    second = getattr(lr_scheduler, name)(b, **options)
    b.load_state_dict(copy.deepcopy(a.state_dict()))
    second.load_state_dict(first.state_dict())
    for o, scheduler in ((a, first), (b, second)):
        o.step()
        scheduler.step()
    assert first.get_last_lr() == second.get_last_lr()
    assert first.last_epoch == second.last_epoch == 5


@pytest.mark.torch
def test_states_have_pytorchs_keys(torch: Any) -> None:
    for name, options in SCHEDULES:
        ours, theirs = (
            getattr(lib.optim.lr_scheduler, name)(optimizer(lib), **options).state_dict()
            for lib in (wengert, torch)
        )
        assert {k for k in theirs if not k.startswith("_")} == {
            k for k in ours if not k.startswith("_")
        }
        assert ours["_last_lr"] == theirs["_last_lr"]
        assert ours["_step_count"] == theirs["_step_count"]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "options"), CYCLES)
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_cycles(name: str, options: dict[str, Any], kind: str, torch: Any) -> None:
    results, states = [], []
    for library in (wengert, torch):
        groups = [{"params": [library.zeros(1, requires_grad=True)]} for _ in range(2)]
        more = {"momentum": 0.9} if kind == "SGD" else {}
        o = getattr(library.optim, kind)(groups, **more)
        scheduler = getattr(library.optim.lr_scheduler, name)(o, **options)
        seen = []
        for _ in range(30):
            momenta = [g["momentum"] if kind == "SGD" else g["betas"][0] for g in o.param_groups]
            seen.append([*scheduler.get_last_lr(), *momenta])
            o.step()
            scheduler.step()
        results.append(seen)
        states.append(scheduler.state_dict())
        twin = getattr(library.optim.lr_scheduler, name)(o, **options)
        twin.load_state_dict(scheduler.state_dict())
        assert twin.last_epoch == 30
    np.testing.assert_allclose(*results, rtol=1e-13, atol=1e-16)
    assert {k for k in states[0] if k[0] != "_"} == {k for k in states[1] if k[0] != "_"}


def combined(library: Any, o: Any) -> Any:
    of = library.optim.lr_scheduler
    warmup = of.ChainedScheduler([of.ConstantLR(o, 0.5, 3), of.ExponentialLR(o, 0.9)])
    later = [of.CosineAnnealingLR(o, 8), of.StepLR(o, 3, 0.5)]
    parts = [of.LinearLR(o, 0.1, total_iters=4), *later]
    return warmup, of.SequentialLR(o, parts, milestones=[5, 15])


@pytest.mark.torch
@pytest.mark.parametrize("which", [0, 1])
def test_combinations(which: int, torch: Any) -> None:
    results = []
    for library in (wengert, torch):
        o = optimizer(library)
        scheduler = combined(library, o)[which]
        seen = []
        for _ in range(30):
            o.step()
            scheduler.step()
            seen.append(scheduler.get_last_lr())
        results.append(seen)
        twin = combined(library, optimizer(library))[which]
        twin.load_state_dict(copy.deepcopy(scheduler.state_dict()))
        assert twin.get_last_lr() == scheduler.get_last_lr()
        for one, other in zip(scheduler._schedulers, twin._schedulers, strict=True):
            assert one.last_epoch == other.last_epoch
    np.testing.assert_allclose(*results, rtol=1e-13, atol=1e-16)


@pytest.mark.torch
@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 5])
def test_rates_for_averaging(strategy: str, epochs: int, torch: Any) -> None:
    results = []
    for library in (wengert, torch):
        o = optimizer(library)
        scheduler = library.optim.swa_utils.SWALR(o, [0.1, 0.2], epochs, strategy)
        seen = []
        for _ in range(8):
            o.step()
            scheduler.step()
            seen.append(scheduler.get_last_lr())
        results.append(seen)
    np.testing.assert_allclose(*results, rtol=1e-13)


def test_wrong_combinations() -> None:
    o, other = optimizer(wengert), optimizer(wengert)
    good, plateau = lr_scheduler.StepLR(o, 1), lr_scheduler.ReduceLROnPlateau(o)
    for build, message in (
        (lambda: lr_scheduler.ChainedScheduler([]), "at least one scheduler"),
        (lambda: lr_scheduler.ChainedScheduler([good, plateau]), "ReduceLROnPlateau"),
        (lambda: lr_scheduler.SequentialLR(other, [good], []), "the same optimizer"),
        (lambda: lr_scheduler.SequentialLR(o, [good], [1]), "one more"),
        (lambda: lr_scheduler.OneCycleLR(o, 1.0), "total_steps OR"),
        (lambda: lr_scheduler.OneCycleLR(o, 1.0, 0), "positive integer total_steps"),
        (lambda: lr_scheduler.CyclicLR(o, 0.1, 1.0, mode="x"), "mode is invalid"),
        (lambda: lr_scheduler.CosineAnnealingWarmRestarts(o, 0), "positive integer T_0"),
    ):
        with pytest.raises(ValueError, match=message):
            build()


def test_an_overridden_step_warns() -> None:
    o = optimizer(wengert)
    scheduler = lr_scheduler.StepLR(o, 1)
    o.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden"):
        scheduler.step()


def test_a_step_that_is_set_before_the_scheduler_counts_its_calls() -> None:
    early, late = optimizer(wengert), optimizer(wengert)
    for o in (early, late):
        o.step = lambda: 3
    schedulers = [lr_scheduler.StepLR(o, 1) for o in (early, late)]
    assert late.step() == 3
    schedulers[1].step()  # without a warning
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedulers[0].step()


METRICS = [5.0, 4.0, 4.0, 4.0, 3.9999, 3.9999, 3.0, 3.5, 3.5, 3.5, 3.5, 3.5, float("nan"), 1.0]


@pytest.mark.torch
@pytest.mark.parametrize(
    "options",
    [
        {"patience": 1},
        {"patience": 2, "factor": 0.5, "cooldown": 2},
        {"patience": 0, "mode": "max", "threshold_mode": "abs", "threshold": 0.5},
        {"patience": 0, "mode": "max"},
        {"patience": 0, "threshold_mode": "abs"},
        {"patience": 0, "min_lr": [0.4, 0.05]},
        {"patience": 0, "min_lr": 0.2},
    ],
)
def test_plateau(options: dict[str, Any], torch: Any) -> None:
    results = []
    for library in (wengert, torch):
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer(library), **options)
        seen = []
        for metric in METRICS:
            scheduler.step(metric)
            seen.append((scheduler.get_last_lr(), scheduler.num_bad_epochs, scheduler.best))
        results.append(seen)
    assert results[0] == results[1]


def test_plateau_takes_tensors_and_resumes() -> None:
    o = optimizer(wengert)
    scheduler = lr_scheduler.ReduceLROnPlateau(o, patience=0)
    scheduler.step(wengert.tensor(1.0))
    twin = lr_scheduler.ReduceLROnPlateau(o, patience=0)
    twin.load_state_dict(scheduler.state_dict())
    twin.step(wengert.tensor(1.0))
    assert twin.get_last_lr() == [0.1, 0.03]


def test_stepping_before_the_optimizer_warns() -> None:
    scheduler = lr_scheduler.StepLR(optimizer(wengert), 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before"):
        scheduler.step()


@pytest.mark.torch
def test_warnings_have_pytorchs_texts(torch: Any) -> None:
    texts = []
    for library in (wengert, torch):
        early, late, replaced = (
            library.optim.SGD([library.zeros(1, requires_grad=True)], lr=1.0) for _ in range(3)
        )
        schedulers = [library.optim.lr_scheduler.StepLR(o, 1) for o in (early, late, replaced)]
        replaced.step = late.step
        late.step()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            schedulers[0].step()
            schedulers[1].step(3)
            schedulers[2].step()
        texts.append([str(warning.message) for warning in caught])
    assert texts[0] == texts[1]
    assert len(texts[0]) == 3


def test_get_lr_outside_a_step_warns() -> None:
    scheduler = lr_scheduler.StepLR(optimizer(wengert), 1)
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        scheduler.get_lr()


def test_tensor_learning_rates_keep_their_identity() -> None:
    lr = wengert.tensor(1.0)
    o = optim.SGD([wengert.zeros(1, requires_grad=True)], lr=lr)
    scheduler = lr_scheduler.ExponentialLR(o, 0.5)
    o.step()
    scheduler.step()
    assert o.param_groups[0]["lr"] is lr
    assert lr.item() == 0.5


def test_errors() -> None:
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        lr_scheduler.StepLR(3, 1)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified"):
        lr_scheduler.StepLR(optimizer(wengert), 1, last_epoch=3)
    for build, message in (
        (lambda o: lr_scheduler.LambdaLR(o, [lambda e: 1]), "Expected 2 lr_lambdas, but got 1"),
        (lambda o: lr_scheduler.LinearLR(o, start_factor=0), "Starting multiplicative factor"),
        (lambda o: lr_scheduler.LinearLR(o, end_factor=2), "Ending multiplicative factor"),
        (lambda o: lr_scheduler.ConstantLR(o, factor=2), "Constant multiplicative factor"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=1), "Factor should be < 1.0"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, mode="x"), "mode x is unknown"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, min_lr=[1]), "expected 2 min_lrs, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            build(optimizer(wengert))
