"""Running a program compiled and eager, and comparing what it has noted."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.compiler import compile as compiled
from wengert.compiler import reset
from wengert.replay import compiled as functions
from wengert.replay.layout_forms import is_view

Log = list[Any]
Program = Callable[[Callable[[Any], Any], Log], Any]


def adding_to(programs: list[Program]) -> Callable[[Program], Program]:
    """A decorator that adds programs to a list."""

    def program(function: Program) -> Program:
        programs.append(function)
        return function

    return program


def mlp(*widths: int) -> nn.Sequential:
    """Linear layers with tanh between them, at least 4096 hidden values for a batch of 64."""
    layers: list[nn.Module] = []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def batch(n: int = 64, width: int = 8) -> wengert.Tensor:
    return wengert.randn(n, width)


def state(model: Any) -> list[Any]:
    """All numbers of a model, and its gradients."""
    tensors = [*model.parameters(), *model.buffers()]
    return [t.detach().numpy().copy() for t in tensors] + [
        None if p.grad is None else p.grad.numpy().copy() for p in model.parameters()
    ]


def run(function: Program, wrap: Callable[[Any], Any]) -> Log:
    """The log of a program, from a fixed start; the state of the random stream last."""
    wengert.manual_seed(0)
    random.seed(0)
    log: Log = []
    function(wrap, log)
    return [*log, wengert.rand(2), random.random()]


def check_same(ours: Any, eager: Any) -> None:
    """Numbers to rounding, all else exactly."""
    if isinstance(eager, wengert.Tensor):
        assert ours.requires_grad == eager.requires_grad
        assert (ours.grad_fn is None) == (eager.grad_fn is None)
        if eager.grad_fn is not None:
            assert ours.grad_fn.name() == eager.grad_fn.name()
        assert ours.stride() == eager.stride()
        assert ours.tolist() is not None  # now its value is read
        assert type(ours) is type(eager)
        ours, eager = ours.detach().numpy(), eager.detach().numpy()
    if isinstance(eager, np.ndarray):
        assert (ours.shape, ours.dtype) == (eager.shape, eager.dtype)
        # What sums have rounded off is relative to their terms.
        scale = max(1.0, float(np.abs(eager[np.isfinite(eager)]).max(initial=0)))
        np.testing.assert_allclose(ours, eager, rtol=2e-5, atol=2e-6 * scale)
    elif isinstance(eager, float):
        assert ours == pytest.approx(eager, rel=2e-5, abs=2e-6, nan_ok=True)
    elif isinstance(eager, list):
        assert len(ours) == len(eager)
        for a, b in zip(ours, eager, strict=True):
            check_same(a, b)
    else:
        assert ours == eager


def sample(shape: tuple[int, ...], kind: str = "") -> np.ndarray:
    """Floats; with `kind` some are alike, NaN, infinite or zeros."""
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    flat = x.reshape(-1)
    if kind == "ties":
        x = x.round()
    elif kind == "nan":
        flat[::7] = np.nan
    elif kind == "infinities":
        flat[::5], flat[1::9] = np.inf, -np.inf
    elif kind == "zeros":
        flat[::6] = 0
    return x


def outcome(function: Callable[[Any], Any], x: np.ndarray, dtype: Any) -> list[Any]:
    """What a function gives of an array, and the gradient of the array."""
    leaf = wengert.tensor(x).to(dtype).requires_grad_()
    found = function(leaf * 1.0)
    found = list(found) if isinstance(found, tuple | list) else [found]
    loss = wengert.zeros(())
    for y in found:
        if y.requires_grad:
            y = y.reshape(-1)
            weights = (wengert.arange(len(y)) * 0.37).cos()
            loss = loss + (y * weights.to(y.dtype)).sum().float()
    if loss.requires_grad:
        loss.backward()
    return [*[y.detach() for y in found], leaf.grad]


def check_native(
    function: Callable[[Any], Any], x: np.ndarray, dtype: Any = wengert.float32, whole: bool = True
) -> None:
    """A function of one array, compiled: what it gives, and that nothing is called from Python.

    With `whole` False something may be.
    """
    reset()
    eager, step = outcome(function, x, dtype), compiled(function)
    for _ in range(3):
        for a, b in zip(outcome(step, x, dtype), eager, strict=True):
            if b is not None:
                check_same(a, b)
    plans = list(step.compiled.record.plans.values())
    assert not any(plan.problem for plan in plans)
    if not whole:
        return
    programs = [plan.native for plan in plans if plan.native is not None]
    assert programs
    names = {i.name for p in programs for i in p.instructions if not is_view(i)}
    assert names <= {"native", "number", "numbers", "element"}


skipping = partial(compiled, mode="reduce-overhead")


def compare(function: Program) -> None:
    """Run a program eager and compiled: values have to agree to rounding, all else exactly.

    Compiled it runs twice, in the usual mode and in the one that skips Python.
    """
    for wrap in (compiled, skipping):
        reset()
        eager = run(function, lambda f: f)
        ours = run(function, wrap)
        problems = [p.problem for f in functions.alive() for p in f.record.plans.values()]
        assert not any(problems)
        assert len(ours) == len(eager)
        for a, b in zip(ours, eager, strict=True):
            check_same(a, b)


def compare_skipping(program: Program) -> list[Any]:
    """Compare a program that skips Python where it can; the functions that it has compiled."""
    made: list[Any] = []

    def wrap(function: Any) -> Any:
        made.append(skipping(function))
        return made[-1]

    reset()
    eager, ours = run(program, lambda f: f), run(program, wrap)
    assert len(ours) == len(eager)
    for a, b in zip(ours, eager, strict=True):
        check_same(a, b)
    return [f.compiled for f in made]
