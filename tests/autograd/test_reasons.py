"""What errors say of the tensors that they speak of: why an input is unused, names, NumPy."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import Tensor, nn
from wengert.autograd import NoGraphError, UnusedInputError, grad
from wengert.core import cut_log


def leaf() -> Tensor:
    return wengert.randn(4, requires_grad=True)


def unused(outputs: Tensor, inputs: Any) -> str:
    with pytest.raises(UnusedInputError) as caught:
        grad(outputs, inputs)
    return str(caught.value)


def test_a_view_that_was_made_later() -> None:
    w = leaf()
    text = unused((w * 2).sum(), w[0])
    assert "unused:    inputs[0], shape [], select (" in text
    assert "made of:   a leaf (" in text
    assert "computed from what it was made of, not from it" in text


def test_a_copy_in_its_place() -> None:
    x = leaf()
    loss = (x.exp() * 2).sum()
    x = x.exp().clone()
    assert "made of:   a leaf (" in unused(loss, x)


def test_the_value_before_an_operation_in_place() -> None:
    x = leaf() * 1
    loss = (x + 2).sum()
    x += 1
    text = unused(loss, x)
    assert "made of:   mul (" in text


def test_a_leaf_with_the_same_values() -> None:
    x = leaf()
    copy = x.detach().clone().requires_grad_()
    text = unused((copy * 2).sum(), x)
    assert "equals:    a leaf (" in text
    assert "copy = x.detach().clone().requires_grad_()" in text
    assert "perhaps a copy" in text


def test_leaves_of_one_number_are_no_copies() -> None:
    a, b = wengert.zeros(4, requires_grad=True), wengert.zeros(4, requires_grad=True)
    assert "copy of" not in unused((a * 2).sum(), b)
    assert "equals:" not in unused((a * 2).sum(), b)


def test_what_was_cut_off() -> None:
    x, w = leaf(), leaf()
    hidden = x * 2
    features = hidden.detach()
    text = unused((features * w).sum(), [w, x])
    assert "cut off by: detach()" in text
    assert "features = hidden.detach()" in text
    assert hidden.requires_grad


def test_what_was_cut_off_from_operations_that_are_gone() -> None:
    x, w = leaf(), leaf()
    features = (x * 2).detach()
    text = unused((features * w).sum(), [w, x])
    assert "features = (x * 2).detach()" in text
    assert "perhaps it was cut off there" in text


def test_what_is_used_elsewhere() -> None:
    x, w = leaf(), leaf()
    other = x.exp()
    text = unused((w * 2).sum(), x)
    assert "used by:   exp (" in text
    assert "It was used, but not for these outputs." in text
    assert other.requires_grad


def test_a_derivative_that_gives_nothing() -> None:
    class Silent(wengert.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> None:
            return None

    x = leaf()
    assert "a backward() on the way returned None" in unused(Silent.apply(x).sum(), x)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
        self.head = nn.Linear(3, 1)

    def named_parameters(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("code of the program")


def test_the_name_of_an_unused_parameter() -> None:
    net = Net()
    loss = net.encoder[0](wengert.ones(3)).sum()
    text = unused(loss, [net.encoder[0].weight, net.head.bias])
    # Tensors of other tests may have been cut off: lines about them are longer.
    words = " ".join(text.split())
    assert "unused: inputs[1], shape [1], parameter Net.head.bias (" in words
    assert "Nothing that is alive was computed from it" in text


def test_the_name_of_a_parameter_that_is_written() -> None:
    net = Net()
    with pytest.raises(RuntimeError, match=r"the leaf:  parameter Net\.encoder\.1\.weight \("):
        net.encoder[1].weight.mul_(2)


def test_the_name_of_a_saved_parameter_that_was_written() -> None:
    """The operation ran outside of any module."""
    net = Net()
    hidden = nn.functional.linear(wengert.ones(3), net.encoder[0].weight)
    loss = nn.functional.linear(hidden, net.head.weight).sum()
    with wengert.no_grad():
        net.head.weight.mul_(2)
    with pytest.raises(RuntimeError, match=r"changed:    parameter Net\.head\.weight \("):
        loss.backward()


def test_an_input_that_was_frozen() -> None:
    net = Net()
    net.head.requires_grad_(False)
    loss = net.encoder(wengert.ones(3)).sum()
    with pytest.raises(RuntimeError) as caught:
        grad(loss, net.head.weight)
    assert "inputs[0], the parameter Net.head.weight, of shape [1, 3]" in str(caught.value)
    assert "net.head.requires_grad_(False)" in str(caught.value)


def test_of_several_names_the_shortest() -> None:
    net = Net()
    outer = nn.Sequential(nn.Sequential(net), nn.Linear(1, 1))
    shared = nn.ModuleDict({"tied": net.head})
    gc.collect()
    with pytest.raises(RuntimeError, match=r"parameter ModuleDict\.tied\.weight"):
        net.head.weight.mul_(2)
    assert len(outer) == len(shared) + 1


@pytest.fixture
def nothing_left() -> None:
    cut_log.escapes.clear()


def missing(tensor: Tensor) -> str:
    with pytest.raises(NoGraphError) as caught:
        tensor.backward(wengert.ones(tensor.shape))
    return str(caught.value)


THROUGH: dict[str, Callable[[Tensor], Tensor]] = {
    "a copy": lambda y: wengert.tensor(y.detach().numpy()),
    "a view": lambda y: wengert.from_numpy(y.detach().numpy())[:],
    "numbers": lambda y: wengert.tensor(y.tolist()),
    "float64": lambda y: wengert.tensor(y.tolist(), dtype=wengert.float64),
}


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("name", THROUGH)
def test_values_that_went_through_numpy(name: str) -> None:
    text = missing(THROUGH[name](leaf() * 2))
    assert "its values were" in text
    assert f'"{name}": lambda y' in text


@pytest.mark.usefixtures("nothing_left")
def test_a_part_of_memory_that_left_a_graph() -> None:
    array = (leaf() * 2).detach().numpy()
    text = missing(wengert.from_numpy(array[1:3]))
    assert "its values were taken out of a graph" in text
    assert "array = (leaf() * 2).detach().numpy()" in text


@pytest.mark.usefixtures("nothing_left")
def test_values_that_numpy_computed() -> None:
    """It is not known what came of them: the latest line is only a hint."""
    y = wengert.from_numpy(np.exp(leaf().detach().numpy()))
    text = missing(y)
    assert "perhaps cut by: detach()" in text
    assert "taken out of a graph" not in text


@pytest.mark.usefixtures("nothing_left")
def test_values_that_many_have_accuse_nobody() -> None:
    (leaf() * 0).tolist()
    (leaf().sum() * 0 + 1).item()
    assert "taken" not in missing(wengert.zeros(4))
    assert "taken" not in missing(wengert.tensor(1.0))
