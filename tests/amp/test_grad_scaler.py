"""GradScaler beside PyTorch's: scales, skipped steps, states and errors."""

from __future__ import annotations

import pytest

import wengert

STEPS = [1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0, 1.0]


def trained(lib, **options):
    """Scales, weights and states of a few steps, some of them with gradients that are not finite."""
    w = lib.ones(2, requires_grad=True)
    optimizer = lib.optim.SGD([w], lr=0.25)
    scaler = lib.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, **options)
    seen = []
    for number in STEPS:
        optimizer.zero_grad()
        loss = (w * lib.tensor([1.0, number])).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), w.tolist(), scaler.state_dict()))
    return seen


@pytest.mark.torch
@pytest.mark.parametrize("options", [{}, {"growth_factor": 4.0, "backoff_factor": 0.25}])
def test_steps_are_pytorchs(torch, options):
    assert trained(wengert, **options) == trained(torch, **options)


def misuse(lib, kind):
    """A call that both refuse."""
    w = lib.ones(2, requires_grad=True)
    optimizer = lib.optim.SGD([w], lr=0.5)
    scaler = lib.amp.GradScaler("cpu")
    if kind == "unused":
        scaler.step(optimizer)
    scaler.scale(w.sum()).backward()
    if kind == "twice":
        scaler.unscale_(optimizer)
        scaler.unscale_(optimizer)
    elif kind == "step twice":
        scaler.step(optimizer)
        scaler.step(optimizer)
    elif kind == "late":
        scaler.step(optimizer)
        scaler.unscale_(optimizer)
    elif kind == "nothing to look at":
        w.grad = None
        scaler.step(optimizer)
    elif kind == "update":
        scaler.update()
    elif kind == "closure":
        scaler.step(optimizer, closure=len)
    elif kind == "no tensor":
        scaler.scale(3)
    elif kind == "empty":
        scaler.load_state_dict({})
    elif kind == "growth":
        lib.amp.GradScaler("cpu", growth_factor=1.0)
    elif kind == "half":
        half = lib.ones(2, dtype=lib.float16, requires_grad=True)
        (half * 1).sum().backward()
        scaler.unscale_(lib.optim.SGD([half], lr=0.5))


KINDS = {
    "unused": "Attempted step but _scale is None",
    "twice": r"unscale_\(\) has already been called",
    "step twice": r"step\(\) has already been called",
    "late": r"unscale_\(\) is being called after step",
    "nothing to look at": "No inf checks were recorded for this optimizer",
    "update": "No inf checks were recorded prior to update",
    "closure": "Closure use is not currently supported",
    "no tensor": "outputs must be a Tensor or an iterable",
    "empty": "The source state dict is empty",
    "growth": "The growth factor must be > 1.0",
    "half": "Attempting to unscale FP16 gradients",
}


@pytest.mark.torch
@pytest.mark.parametrize("kind", KINDS)
def test_refusals_are_pytorchs(torch, kind):
    with pytest.raises(Exception, match=KINDS[kind]) as theirs:
        misuse(torch, kind)
    with pytest.raises(theirs.type, match=KINDS[kind]):
        misuse(wengert, kind)


def test_a_disabled_scaler_lets_pass():
    w = wengert.ones(2, requires_grad=True)
    optimizer = wengert.optim.SGD([w], lr=0.5)
    scaler = wengert.amp.GradScaler("cpu", enabled=False)
    loss = w.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.5, 0.5]
    assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()) == (1.0, {}, False)


def test_without_the_device_it_is_disabled():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not wengert.amp.GradScaler().is_enabled()


def test_scales_what_is_nested():
    scaler = wengert.amp.GradScaler("cpu", init_scale=2.0)
    scaled = scaler.scale([wengert.ones(1), (wengert.ones(2),)])
    assert [type(scaled), type(scaled[1])] == [list, tuple]
    assert scaled[1][0].tolist() == [2.0, 2.0]


def test_states_go_over():
    ours = wengert.amp.GradScaler("cpu", init_scale=4.0, growth_interval=7)
    other = wengert.amp.GradScaler("cpu")
    other.load_state_dict(ours.state_dict())
    assert other.state_dict() == ours.state_dict()
