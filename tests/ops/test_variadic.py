"""Operations on lists, and operations with several outputs: their nodes and what they cost."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import GraphReleasedError


def test_the_gradient_of_many_outputs_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = wengert.ones(50, 4, requires_grad=True)
    total = wengert.zeros(4)
    for k, row in enumerate(x.unbind(0)):
        total = total + row * k
    made: list[int] = []
    original = np.concatenate
    monkeypatch.setattr(np, "concatenate", lambda *a, **o: made.append(1) or original(*a, **o))
    total.sum().backward()
    assert made == [1]
    assert x.grad.tolist() == [[float(k)] * 4 for k in range(50)]


def test_outputs_that_nobody_used_have_zero_gradient() -> None:
    x = wengert.ones(6, requires_grad=True)
    _, b, _ = x.split([1, 2, 3])
    (b * b).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 2.0, 0.0, 0.0, 0.0]


def test_an_output_used_twice() -> None:
    x = wengert.ones(4, requires_grad=True)
    a, _ = x.chunk(2)
    (a * 2 + a * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0, 0.0, 0.0]


def test_gradient_with_respect_to_an_output() -> None:
    x = wengert.ones(4, requires_grad=True)
    a, b = (x * 2).chunk(2)
    (g,) = wengert.autograd.grad((a * b).sum(), a)
    assert g.tolist() == [2.0, 2.0]


def test_second_derivative() -> None:
    x = wengert.tensor([1.0, 2.0, 3.0], requires_grad=True)
    a, b, _ = x.unbind()
    (g,) = wengert.autograd.grad(a * b * b, x, create_graph=True)
    assert g.tolist() == [4.0, 4.0, 0.0]
    (h,) = wengert.autograd.grad(g[1], x)
    assert h.tolist() == [4.0, 2.0, 0.0]


def test_backward_twice_needs_retain_graph() -> None:
    x = wengert.ones(4, requires_grad=True)
    a, b = x.chunk(2)
    loss = (a * b).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [2.0] * 4
    with pytest.raises(GraphReleasedError):
        (a * 2).sum().backward()


def test_a_list_node_computes_only_what_is_wanted() -> None:
    x, w = wengert.ones(2, requires_grad=True), wengert.ones(3)
    y = wengert.cat([w, x, w])
    assert [e is not None for e in y._edge.edges] == [False, True, False]
    gradients = y._edge.pullback(np.arange(8.0))
    assert gradients[0] is gradients[2] is None
    assert gradients[1].tolist() == [3.0, 4.0]


def test_the_same_tensor_twice_in_a_list() -> None:
    x = wengert.tensor([1.0, 2.0], requires_grad=True)
    (wengert.stack([x, x * x, x])).sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_nothing_is_recorded_without_need() -> None:
    w, x = wengert.ones(2), wengert.ones(2, requires_grad=True)
    assert wengert.cat([w, w])._edge is None
    assert all(part._edge is None for part in w.split(1))
    with wengert.no_grad():
        assert wengert.stack([x, x])._edge is None
        assert all(part._edge is None for part in x.split(1))


def test_arrays_give_arrays() -> None:
    a = np.ones(4)
    assert type(wengert.cat([a, a])) is np.ndarray
    assert all(type(part) is np.ndarray for part in wengert.split(a, 2))


def test_dtypes_promote_and_gradients_come_back_in_each_inputs_own() -> None:
    x = wengert.ones(2, requires_grad=True)
    y = wengert.ones(2, dtype=wengert.float64).requires_grad_()
    z = wengert.cat([x, y])
    assert z.dtype is wengert.float64
    z.sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (wengert.float32, wengert.float64)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: x.split(1)[0], "SplitBackward0"),
        (lambda x: x.chunk(2)[1], "SplitBackward0"),
        (lambda x: x.unbind()[0], "UnbindBackward0"),
        (lambda x: wengert.cat([x, x]), "CatBackward0"),
        (lambda x: wengert.stack([x, x]), "StackBackward0"),
    ],
)
def test_nodes_have_torchs_names_and_the_callers_line(make: Any, name: str) -> None:
    node = make(wengert.ones(2, 2, requires_grad=True)).grad_fn
    assert type(node).__name__ == name
    assert node.code.co_filename == __file__


def test_reference_counting_frees_the_graph() -> None:
    gc.collect()
    gc.disable()
    try:
        x = wengert.ones(4, requires_grad=True)
        a, b = (x * 2).chunk(2)
        y = wengert.cat([b, a])
        nodes = [weakref.ref(t._edge) for t in (a, b, y)]
        del a, b, y
        assert [n() for n in nodes] == [None] * 3
        assert sys.getrefcount(x._edge) <= 3
    finally:
        gc.enable()
