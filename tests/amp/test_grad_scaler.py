"""GradScaler beside PyTorch's: scales, skipped steps, states and errors."""

from __future__ import annotations

import pytest

import wengert

STEPS = [1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0, 1.0]


def trained(lib, **options):
    """Scales, weights and states of a few steps; some gradients are not finite."""
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


def without_gradients(lib, scaler, optimizer):
    optimizer.zero_grad()
    scaler.step(optimizer)


def in_half(lib, scaler, optimizer):
    w = lib.ones(2, dtype=lib.float16, requires_grad=True)
    (w * 1).sum().backward()
    scaler.unscale_(lib.optim.SGD([w], lr=0.5))


# What is called, as often as it takes; what both say.
MISUSES = {
    "twice": (lambda lib, s, o: s.unscale_(o), r"unscale_\(\) has already been called"),
    "step twice": (lambda lib, s, o: s.step(o), r"step\(\) has already been called"),
    "late": (lambda lib, s, o: (s.step(o), s.unscale_(o)), r"unscale_\(\) is being called after"),
    "no gradients": (without_gradients, "No inf checks were recorded for this optimizer"),
    "update": (lambda lib, s, o: s.update(), "No inf checks were recorded prior to update"),
    "closure": (lambda lib, s, o: s.step(o, closure=len), "Closure use is not currently supported"),
    "no tensor": (lambda lib, s, o: s.scale(3), "outputs must be a Tensor or an iterable"),
    "empty": (lambda lib, s, o: s.load_state_dict({}), "The source state dict is empty"),
    "unused": (lambda lib, s, o: lib.amp.GradScaler("cpu").step(o), "Attempted step but _scale is"),
    "growth": (
        lambda lib, s, o: lib.amp.GradScaler("cpu", growth_factor=1.0),
        "The growth factor must be > 1.0",
    ),
    "half": (in_half, "Attempting to unscale FP16 gradients"),
}


def misused(lib, call):
    """A scaler that was used, and then misused."""
    w = lib.ones(2, requires_grad=True)
    optimizer = lib.optim.SGD([w], lr=0.5)
    scaler = lib.amp.GradScaler("cpu")
    scaler.scale(w.sum()).backward()
    for _ in range(2):
        call(lib, scaler, optimizer)


@pytest.mark.torch
@pytest.mark.parametrize("kind", MISUSES)
def test_refusals_are_pytorchs(torch, kind):
    call, text = MISUSES[kind]
    with pytest.raises(Exception, match=text) as theirs:
        misused(torch, call)
    with pytest.raises(theirs.type, match=text):
        misused(wengert, call)


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
