"""`swap_tensors`: identity stays, all else is exchanged."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import wengert
from wengert import nn
from wengert.utils import swap_tensors


def outcome(torch: Any) -> list[Any]:
    """What a program finds out by swapping; the same under both libraries."""
    found: list[Any] = []
    a, b = torch.ones(3), torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.float64))
    a.note, b.grad = "of a", torch.full((2, 2), 5.0, dtype=torch.float64)
    seen: list[Any] = []
    b.register_hook(lambda g: seen.append(g.tolist()))
    kept = [a, b]
    torch.utils.swap_tensors(a, b)
    assert kept[0] is a
    assert kept[1] is b
    for x in (a, b):
        found += [type(x).__name__, x.tolist(), str(x.dtype), x.requires_grad, x.is_leaf]
        found += [getattr(x, "note", None), None if x.grad is None else x.grad.tolist()]
    (a * 2).sum().backward()
    found += [a.grad.tolist(), seen, b.grad]
    before = torch.nn.Parameter(torch.ones(2))
    loss = (before * 3).sum()
    torch.utils.swap_tensors(before, torch.nn.Parameter(torch.zeros(4)))
    try:
        loss.backward()
    except RuntimeError as error:
        found.append(str(error)[:80])
    found.append(before.grad)
    (before + 1).sum().backward()
    return [*found, before.grad.tolist()]


@pytest.mark.torch
def test_as_pytorch(torch: Any) -> None:
    assert outcome(wengert) == outcome(torch)


def test_a_view_stays_a_view_of_its_base() -> None:
    base, other = wengert.zeros(4), wengert.zeros(2)
    view = base[1:3]
    swap_tensors(view, other)
    other.fill_(7.0)
    assert base.tolist() == [0, 7, 7, 0]
    assert view.tolist() == [0, 0]


def test_retained_gradients_follow() -> None:
    leaf = wengert.ones(2, requires_grad=True)
    hidden, other = leaf * 2, wengert.zeros(3)
    hidden.retain_grad()
    swap_tensors(hidden, other)
    other.sum().backward()
    assert other.grad.tolist() == [1, 1]
    assert leaf.grad.tolist() == [2, 2]


def test_what_refers_to_a_tensor_is_noticed() -> None:
    x = wengert.ones(3)
    reference = weakref.ref(x)
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref"):
        swap_tensors(x, wengert.zeros(2))
    del reference
    view = x[1:]
    with pytest.raises(RuntimeError, match="Expected use_count of t2 to be 1 or 2"):
        swap_tensors(wengert.zeros(2), x)
    assert x.tolist() == [1, 1, 1]
    assert view.tolist() == [1, 1]


def test_different_slots() -> None:
    class Named(wengert.Tensor):
        __slots__ = ("name",)

    with pytest.raises(RuntimeError, match="different slots"):
        swap_tensors(wengert.ones(1).as_subclass(Named), wengert.ones(1))
    with pytest.raises(RuntimeError, match="different slots"):
        swap_tensors(wengert.ones(1), wengert.ones(1).to_sparse())
    a, b = (wengert.full((1,), v).as_subclass(Named) for v in (1.0, 2.0))
    a.name = "first"
    swap_tensors(a, b)
    assert b.name == "first"
    assert not hasattr(a, "name")
    assert a.item() == 2


def test_other_arguments() -> None:
    with pytest.raises(TypeError, match="t2 must be a Tensor, not int"):
        swap_tensors(wengert.ones(1), 3)
    x = nn.Parameter(wengert.ones(1))
    swap_tensors(x, x)
    x.sum().backward()
    assert x.grad.item() == 1
