"""Classes derived from Tensor: `as_subclass`, and what is printed."""

from __future__ import annotations

from typing import Any

import pytest

import wengert


def derived(library: Any) -> Any:
    return type("Weights", (library.Tensor,), {"doubled": lambda self: self * 2})


class Slotted(wengert.Tensor):
    __slots__ = ("extra",)


def made(library: Any, kind: Any) -> list[Any]:
    """What is so of a tensor as an instance of a class."""
    x = library.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x.as_subclass(kind)
    y.sum().backward()
    plain = library.ones(2)
    shown = plain.as_subclass(kind)
    shown.add_(1)
    values = (x * 2).t()
    values.as_subclass(kind).mul_(3)
    own = library.Tensor._make_subclass(kind, x, True)
    return [
        type(y) is kind, y.data_ptr() == x.data_ptr(), y.requires_grad, y.is_leaf,
        x.grad.tolist(), y.doubled().tolist(), shown.is_leaf, plain.tolist(), values.tolist(),
        type(y.as_subclass(library.Tensor)) is library.Tensor, repr(shown), repr(own),
        own.is_leaf, own.data_ptr() == x.data_ptr(), own._is_view(),
        type(library.Tensor._make_subclass(kind, plain)) is kind,
    ]  # fmt: skip


@pytest.mark.torch
def test_is_what_it_is_in_pytorch(torch: Any) -> None:
    assert made(wengert, derived(wengert)) == made(torch, derived(torch))


@pytest.mark.torch
@pytest.mark.parametrize("kind", [int, object, 3, None])
def test_other_classes_are_refused_as_in_pytorch(kind: Any, torch: Any) -> None:
    texts = []
    for library in (wengert, torch):
        with pytest.raises(TypeError) as raised:
            library.ones(2).as_subclass(kind)
        texts.append(str(raised.value))
    assert texts[0].startswith(texts[1])


def test_a_class_may_have_slots() -> None:
    y = wengert.ones(2).as_subclass(Slotted)
    y.extra = 3
    assert (type(y), y.extra, y.tolist()) == (Slotted, 3, [1.0, 1.0])


def test_a_graph_that_was_lost_stays_explained() -> None:
    x = wengert.ones(2, requires_grad=True)
    with pytest.raises(wengert.autograd.NoGraphError, match="cut off by: detach"):
        x.detach().as_subclass(Slotted).sum().backward()


def test_inside_of_a_batch_it_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="transforms"):
        wengert.vmap(lambda row: row.as_subclass(Slotted))(wengert.ones(2, 3))
