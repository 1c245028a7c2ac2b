"""What nodes saved, as attributes and as data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.autograd import Function, GraphReleasedError
from wengert.autograd.graph import saved_tensors_hooks
from wengert.graph import SavedValue, held_by, saved


def pair(library: Any = wengert) -> tuple[Any, Any]:
    a = library.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    return a, library.tensor([[2.0, 3.0], [4.0, 5.0]], requires_grad=True)


# Programs, and the attributes that mean the same in PyTorch.
ATTRIBUTES = {
    "mul": (lambda m, a, b: a * b, ["self", "other"]),
    "mul by a constant": (lambda m, a, b: a * b.detach(), ["self", "other"]),
    "div": (lambda m, a, b: a / b, ["other"]),
    "exp": (lambda m, a, b: a.exp(), ["result"]),
    "tanh": (lambda m, a, b: a.tanh(), ["result"]),
    "sigmoid": (lambda m, a, b: a.sigmoid(), ["result"]),
    "relu": (lambda m, a, b: a.relu(), ["result"]),
    "sin": (lambda m, a, b: a.sin(), ["self"]),
    "log": (lambda m, a, b: a.log(), ["self"]),
    "pow": (lambda m, a, b: a**3, ["self", "exponent"]),
    "softmax": (lambda m, a, b: a.softmax(1), ["result", "dim"]),
    "log_softmax": (lambda m, a, b: a.log_softmax(0), ["result", "dim"]),
    "sum": (lambda m, a, b: a.sum(1, keepdim=True), ["keepdim"]),
    "transpose": (lambda m, a, b: a.transpose(0, 1), ["dim0", "dim1"]),
    "where": (lambda m, a, b: m.where(a > 2, a, b), ["condition"]),
}


def plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.torch
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_are_pytorchs(name: str, torch: Any) -> None:
    program, names = ATTRIBUTES[name]
    for attribute in names:
        ours, theirs = (
            plain(getattr(program(m, *pair(m)).grad_fn, f"_saved_{attribute}"))
            for m in (wengert, torch)
        )
        assert type(ours) is type(theirs), attribute
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, err_msg=attribute)


@pytest.mark.torch
def test_places_in_the_graph_are_pytorchs(torch: Any) -> None:
    for library in (wengert, torch):
        a, b = pair(library)
        y = a * b
        assert y.grad_fn._saved_self is a
        z = y.exp() * b
        assert z.grad_fn._saved_self.grad_fn is z.grad_fn.next_functions[0][0]
        e = a.exp()
        assert e.grad_fn._saved_result.grad_fn is e.grad_fn
        (y * b.detach()).grad_fn._saved_other.requires_grad_(False)


@pytest.mark.torch
def test_released_nodes_refuse(torch: Any) -> None:
    for library in (wengert, torch):
        a, _ = pair(library)
        y = a.softmax(1)
        y.sum().backward()
        with pytest.raises(RuntimeError, match="or directly access saved tensors"):
            _ = y.grad_fn._saved_result
        assert y.grad_fn._saved_dim == 1


def test_the_refusal_names_the_call() -> None:
    a, b = pair()
    y = a * b
    y.sum().backward()
    with pytest.raises(GraphReleasedError) as caught:
        _ = y.grad_fn._saved_other
    text = str(caught.value)
    assert "'other' of mul" in text
    assert "released by: backward()  at " in text
    assert "y.sum().backward()" in text


def test_reading_costs_no_node_its_speed() -> None:
    """A `__getattr__` would make every attribute of a node slower to read."""
    a, b = pair()
    assert not hasattr(type((a * b).grad_fn), "__getattr__")


class TestSaved:
    def test_values(self) -> None:
        a, b = pair()
        y = a * b
        by_name = {v.name: v for v in saved(y.grad_fn)}
        other = by_name["other"]
        assert isinstance(other, SavedValue)
        assert (other.of, other.packed, other.nbytes) == ("input 1", False, 16)
        assert (other.shape, other.dtype) == (b.shape, wengert.float32)
        assert other.storage == b.untyped_storage().data_ptr()
        assert wengert.equal(other.value, b)
        assert not other.value.requires_grad
        assert by_name["self"].of == "input 0"
        assert saved(y.grad_fn).nbytes == 32

    def test_one_storage_counts_once(self) -> None:
        a, _ = pair()
        b = a.mul(1.0)
        values = saved((b @ b.t()).grad_fn)
        assert len({v.storage for v in values}) == 1
        assert [v.nbytes for v in values] == [16, 16]
        assert values.nbytes == 16

    def test_arguments_and_intermediates(self) -> None:
        layer = nn.LayerNorm(2)
        found = {v.name: v.of for v in saved(layer(pair()[0]).grad_fn)}
        assert found["self"] == "input 0"
        assert found["weight"] == "input 1"
        assert found["rstd"] == "intermediate"
        assert found["eps"] == "argument"

    def test_what_is_not_needed_is_not_there(self) -> None:
        a, b = pair()
        assert [v.name for v in saved((a * b.detach()).grad_fn)] == ["other"]
        assert saved((a + b).grad_fn) == []
        assert saved(a._edge) == []

    def test_packed(self) -> None:
        a, _ = pair()
        with saved_tensors_hooks(lambda t: t.clone(), lambda t: 1 / 0):
            y = a.exp()
        (value,) = saved(y.grad_fn)
        assert (value.packed, value.value, value.nbytes, value.shape) == (True, None, 16, (2, 2))
        assert (value.of, value.storage, value.dtype) == ("output", None, wengert.float32)
        assert held_by([y.grad_fn]).graph == 16

    def test_released(self) -> None:
        a, _ = pair()
        y = a.softmax(1)
        assert saved(y.grad_fn).released is None
        y.sum().backward()
        values = saved(y.grad_fn)
        assert [v.name for v in values] == ["dim"]
        assert values.nbytes == 0
        assert values.released.startswith(f"backward()  at {__file__}:")
        assert values.node.startswith("softmax (")

    def test_functions_of_the_user(self) -> None:
        class Own(Function):
            @staticmethod
            def forward(ctx: Any, factor: float, x: Any, c: Any) -> Any:
                y = x * factor
                ctx.save_for_backward(x, None, c, y, x * x)
                return y

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return None, g, None

        a, b = pair()
        y = Own.apply(2.0, a, b.detach())
        found = [(v.name, v.of) for v in saved(y.grad_fn)]
        assert found == [
            ("tensors[0]", "input 1"), ("tensors[2]", "input"), ("tensors[3]", "output"),
            ("tensors[4]", "intermediate"),
        ]  # fmt: skip
        y.sum().backward()
        assert saved(y.grad_fn) == []
        assert saved(y.grad_fn).released

    def test_no_node(self) -> None:
        with pytest.raises(TypeError, match="must be a Node"):
            saved(pair()[0])
