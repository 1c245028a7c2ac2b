"""Lifetime errors: the exception, what it says, and the lines that it names."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.autograd import (
    GraphReleasedError,
    NoGraphError,
    NonScalarRootError,
    SavedTensorOverwrittenError,
    UnusedInputError,
)


def here(offset: int = 0) -> str:
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno + offset}"


def test_non_scalar_root_gives_shape_line_and_remedies() -> None:
    x = wengert.ones(2, 3, requires_grad=True)
    line = here(1)
    y = x.sigmoid()
    with pytest.raises(NonScalarRootError, match="only for scalar outputs") as caught:
        y.backward()
    text = str(caught.value)
    assert "[2, 3]" in text
    assert f"sigmoid ({line}" in text
    assert ".sum().backward()" in text
    assert "gradient=" in text


def test_no_grad_root() -> None:
    x = wengert.ones(3)
    with pytest.raises(NoGraphError, match="does not require grad and does not have") as caught:
        (x * 2).sum().backward()
    assert "requires_grad_()" in str(caught.value)
    assert here(-2) in str(caught.value)


def test_integers_have_no_backward() -> None:
    with pytest.raises(RuntimeError, match="does not require grad"):
        wengert.arange(3).sum().backward()
    with pytest.raises(RuntimeError, match="floating point"):
        wengert.arange(3).requires_grad_()


def test_unused_input_names_its_line() -> None:
    x = wengert.ones(3, requires_grad=True)
    line = here(1)
    z = wengert.ones(2, requires_grad=True)
    with pytest.raises(UnusedInputError, match="not have been used") as caught:
        wengert.autograd.grad(x.sum(), [x, z])
    assert "inputs[1]" in str(caught.value)
    assert line in str(caught.value)
    first, second = wengert.autograd.grad(x.sum(), [x, z], allow_unused=True)
    assert first.tolist() == [1.0, 1.0, 1.0]
    assert second is None
    _, zeros = wengert.autograd.grad(x.sum(), [x, z], materialize_grads=True)
    assert zeros.tolist() == [0.0, 0.0]


def test_write_to_a_saved_tensor_names_the_writing_line() -> None:
    x = wengert.ones(3, requires_grad=True)
    z = (x * 2).exp()  # saves its output
    line = here(1)
    z.mul_(3)
    with pytest.raises(SavedTensorOverwrittenError, match="modified by an inplace") as caught:
        z.sum().backward()
    assert f"written by: mul_  at {line}" in str(caught.value)
    assert "saved by:   exp" in str(caught.value)


def test_write_to_a_saved_input() -> None:
    x = wengert.ones(3, requires_grad=True)
    z = x * 2
    square = z * z
    line = here(1)
    z += 1
    with pytest.raises(SavedTensorOverwrittenError) as caught:
        square.sum().backward()
    assert line in str(caught.value)
    assert "saved by:   mul" in str(caught.value)


def test_a_write_that_nothing_saved_does_no_harm() -> None:
    x = wengert.ones(3, requires_grad=True)
    z = x * 2
    w = z + 1
    z.mul_(5)
    (w + z).sum().backward()
    assert x.grad.tolist() == [12.0, 12.0, 12.0]


def test_in_place_activations_keep_the_written_memory() -> None:
    x = wengert.ones(3, requires_grad=True)
    z = (x * 2).tanh_()
    assert z.grad_fn.s_out is z._array
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * (1 - np.tanh(2.0) ** 2), rtol=1e-5)


def test_the_step_of_an_optimizer_between_two_losses() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)
    out = model(wengert.ones(4, 2))
    out.mean().backward(retain_graph=True)
    line = here(1)
    optimizer.step()
    with pytest.raises(SavedTensorOverwrittenError) as caught:
        out.sum().backward()
    text = str(caught.value)
    assert f"written by: SGD.step()  at {line}" in text
    assert "'weight' of linear, float32 [1, 3]" in text
    assert "changed:    parameter Sequential.1.weight (" in text
    assert "1. call backward before SGD.step(): of several losses, all of them" in text
    assert "clone()" not in text


def test_write_to_a_parameter_between_two_losses() -> None:
    w = wengert.ones(3, requires_grad=True)
    hidden = w.exp() * w
    one, two = hidden.sum(), (hidden * hidden).sum()
    one.backward(retain_graph=True)
    before = w.grad.clone()
    with wengert.no_grad():
        written = here(1)
        w.sub_(0.1)
    with pytest.raises(SavedTensorOverwrittenError) as caught:
        two.backward()
    assert written in str(caught.value)
    assert (w.grad == before).all()


def test_disjoint_regions_do_not_disturb_each_other() -> None:
    x = wengert.ones(4, requires_grad=True)
    y = x * 1.0
    left = y[:2]
    loss = (left * left).sum()
    with wengert.no_grad():
        y[2:] = 7.0
    loss.backward()
    assert x.grad.tolist() == [2.0, 2.0, 0.0, 0.0]


def test_leaf_in_place() -> None:
    x = wengert.ones(3, requires_grad=True)
    line = here(2)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad") as caught:
        x.add_(1)
    assert line in str(caught.value)
    assert "no_grad" in str(caught.value)
    assert x.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x[0].add_(1)
    assert x.tolist() == [1.0, 1.0, 1.0]
    with wengert.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 2.0, 2.0]


def test_wrong_gradients() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        y.backward(wengert.ones(2))
    with pytest.raises(RuntimeError, match="got 1 tensors and 2 gradients"):
        wengert.autograd.backward([y], [wengert.ones(3), wengert.ones(3)])
    with pytest.raises(ValueError, match="'auto'"):
        y.backward(wengert.ones(3), retain_graph="yes")
    with pytest.raises(RuntimeError, match="cannot be empty"):
        y.backward(wengert.ones(3), inputs=[])
    y.backward(wengert.ones(3))  # none of the failures cost anything
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_assigned_grads_are_checked() -> None:
    x = wengert.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="assign a gradient of size"):
        x.grad = wengert.ones(2)
    with pytest.raises(RuntimeError, match="assign a gradient with dtype"):
        x.grad = wengert.ones(3, dtype=wengert.float64)
    with pytest.raises(TypeError):
        x.grad = 1.0


def test_grad_of_a_non_leaf_warns() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf"):
        assert y.grad is None
    y.retain_grad()
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0, 1.0]


def test_retain_variables_is_deprecated() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = x.exp().sum()
    with pytest.warns(DeprecationWarning, match="retain_graph"):
        y.backward(retain_variables=True)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(3, 2 * np.e), rtol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize(
    "program",
    [
        lambda t: t.ones(3, requires_grad=True).exp().backward(),
        lambda t: t.ones(3).sum().backward(),
        lambda t: t.ones(3, requires_grad=True).add_(1),
        lambda t: t.ones(3, requires_grad=True)[0].add_(1),
        lambda t: t.autograd.grad(t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)),
        lambda t: t.autograd.grad(t.ones(1, requires_grad=True), t.ones(1)),
        lambda t: t.arange(3).requires_grad_(),
        lambda t: (t.ones(3, requires_grad=True) * 2).requires_grad_(False),
        lambda t: t.ones(3).register_hook(lambda g: g),
        lambda t: t.ones(3).retain_grad(),
        lambda t: (t.ones(3, requires_grad=True) * 2).backward(t.ones(2)),
        lambda t: setattr(t.ones(3, requires_grad=True), "grad", t.ones(2)),
    ],
)
def test_classes_and_first_words_are_torchs(program: Any, torch: Any) -> None:
    def failure(library: Any) -> Exception:
        with pytest.raises(Exception) as caught:  # noqa: PT011 (the class is compared)
            program(library)
        return caught.value

    ours, theirs = failure(wengert), failure(torch)
    assert isinstance(ours, type(theirs))
    assert str(ours)[:25] == str(theirs)[:25]


def test_a_second_backward_names_the_variable() -> None:
    x = wengert.ones(3, requires_grad=True)
    hidden = x.exp()
    first = hidden.sum()
    second = wengert.softmax(hidden, dim=0)[0]
    first.backward()
    with pytest.raises(GraphReleasedError) as caught:
        second.backward()
    text = str(caught.value)
    assert "The last line uses hidden, of the graph that the earlier call released." in text
    assert "use hidden.detach() for hidden where the other uses it" in text


def test_a_variable_is_not_guessed() -> None:
    x = wengert.ones(3, requires_grad=True)
    kept = {}
    kept["hidden"] = x.exp()
    first = kept["hidden"].sum()
    second = kept["hidden"].square().sum()
    first.backward()
    with pytest.raises(GraphReleasedError) as caught:
        second.backward()
    text = str(caught.value)
    assert "The last line uses a value of the graph that the earlier call released." in text
    assert "use value.detach() where the other uses it" in text


def test_a_second_turn_of_a_loop_is_told_as_one() -> None:
    cell = nn.RNNCell(2, 3)

    def windows() -> None:
        state = wengert.zeros(1, 3)
        for _ in range(2):
            state = cell(wengert.ones(1, 2), state)
            state.sum().backward()

    with pytest.raises(GraphReleasedError) as caught:
        windows()
    text = str(caught.value)
    assert "uses state from a turn of the loop whose backward is through. Remedies:" in text
    assert "1. it should not pass gradients on: use state.detach() for state in that line" in text


def test_a_value_from_before_a_loop_is_told_as_one() -> None:
    x = wengert.ones(3, requires_grad=True)
    scale = x.exp()
    line = here(3)

    def turns() -> None:
        kept = scale * 2
        for _ in range(2):
            (kept * wengert.ones(3)).square().sum().backward()

    with pytest.raises(GraphReleasedError) as caught:
        turns()
    text = str(caught.value)
    assert "The last line uses kept again, and the first backward released it." in text
    assert f"1. it is trained: move {line}  kept = scale * 2  into the loop" in text
    assert "2. it is not to be trained: use kept.detach() for kept in that line" in text


def test_a_sum_that_goes_on_over_turns_is_named() -> None:
    x = wengert.ones(3, requires_grad=True)

    def turns() -> None:
        total = wengert.zeros(())
        for _ in range(2):
            total += x.exp().sum()
            total.backward()

    with pytest.raises(GraphReleasedError, match="uses total from a turn of the loop"):
        turns()


@pytest.mark.parametrize(
    ("write", "remedy"),
    [
        (lambda y: y.add_(1), "2. use the out-of-place form in the writing line: y = y.add(...)"),
        (lambda y: y.__imul__(2), "2. write y = y * ... for y *= ... in the writing line"),
        (lambda y: y.__setitem__(0, 5.0), "2. compute a new tensor in the writing line"),
    ],
)
def test_remedies_name_what_takes_the_place_of_a_write(write: Any, remedy: str) -> None:
    y = wengert.ones(3, requires_grad=True).exp()
    write(y)
    with pytest.raises(SavedTensorOverwrittenError) as caught:
        y.sum().backward()
    assert "1. write to a copy" in str(caught.value)  # exp saved its own result
    assert remedy in str(caught.value)


def test_a_write_to_an_input_names_what_made_it() -> None:
    x = wengert.ones(3, requires_grad=True)
    line = here(1)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(SavedTensorOverwrittenError) as caught:
        z.sum().backward()
    assert f"changed:    the result of mul ({line}" in str(caught.value)
    assert "1. give the operation that saved it a .clone()" in str(caught.value)


def test_a_leaf_outside_of_modules_is_named_by_its_line() -> None:
    line = here(1)
    w = wengert.ones(3, requires_grad=True)
    loss = (w * w).sum()
    with wengert.no_grad():
        w.sub_(0.1)
    with pytest.raises(SavedTensorOverwrittenError) as caught:
        loss.backward()
    assert f"changed:    a leaf ({line}" in str(caught.value)
    assert "1. call backward before sub_(): of several losses, all of them" in str(caught.value)
