"""Control flow written as functions."""

from __future__ import annotations

import re
from typing import Any

import pytest

import wengert


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("as_tensor", [True, False])
def test_gradients_flow_through_the_way_that_was_taken(sign: float, as_tensor: bool) -> None:
    x = wengert.tensor([sign, sign], requires_grad=True)
    holds: Any = x.sum() > 0 if as_tensor else sign > 0
    y = wengert.cond(holds, lambda x, n: x * n["by"], lambda x, n: x * x, (x, {"by": 5.0}))
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [5.0 if sign > 0 else -2.0] * 2


def test_a_loop_carries_tensors_and_numbers() -> None:
    x = wengert.tensor(3.0, requires_grad=True)
    count, y = wengert.while_loop(
        lambda n, y: (y < 100) & (n < 10), lambda n, y: [n + 1, y * x], (0, x)
    )
    assert (count, y.item()) == (4, 243.0)
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 5 * 81


def test_compiled_and_eager_take_the_same_way() -> None:
    def step(x: Any) -> Any:
        return wengert.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    compiled = wengert.compile(step)
    for k in (1.0, -1.0, 2.0, -3.0, 1.0):
        x = wengert.full((3,), k)
        assert compiled(x).tolist() == step(x).tolist()


def either(x: Any) -> Any:
    """One of two functions of a row, by its sum; several results."""
    ways = lambda x: (x.sin(), x[:2].sum()), lambda x: (x * 2, x.prod())
    return wengert.cond(x.sum() > 0, *ways, (x,))


def test_rows_of_a_batch_go_their_own_ways() -> None:
    rows = [[1.0, 2.0, 3.0], [-1.0, -2.0, 0.5], [0.0, 0.0, 0.0]]
    found = wengert.vmap(either)(wengert.tensor(rows))
    for k, row in enumerate(rows):
        for ours, own in zip(found, either(wengert.tensor(row)), strict=True):
            assert wengert.equal(ours[k], own)
    x = wengert.tensor(rows, requires_grad=True)
    wengert.vmap(either)(x)[0].sum().backward()
    ways = [wengert.tensor(r, requires_grad=True) for r in rows]
    for way in ways:
        either(way)[0].sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [way.grad.tolist() for way in ways if way.grad is not None]


def test_an_exported_program_has_both_ways() -> None:
    class Either(wengert.nn.Module):
        def forward(self, x: Any) -> Any:
            return either(x)

    x = wengert.tensor([1.0, 2.0, 3.0])
    program: Any = wengert.export.export(Either(), (x,)).module()
    for given in (x, -x):
        for ours, theirs in zip(program(given), either(given), strict=True):
            assert wengert.equal(ours, theirs)
    assert [tuple(y.shape) for y in either(x.to("meta"))] == [(3,), ()]


def on_meta(*ways: Any) -> Any:
    x = wengert.ones(2, device="meta")
    return wengert.cond(x.sum() > 0, *ways, (x,))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wengert.cond("x", abs, abs, ()), "pred to be bool or tensor, but got 'x'"),
        (lambda: wengert.cond(wengert.ones(2) > 0, abs, abs), "one of shape (2,)"),
        (lambda: wengert.cond(True, abs, 3), "to be callable"),
        (lambda: wengert.cond(True, abs, abs, 3), "operands to be a tuple or list, but got int"),
        (lambda: on_meta(lambda x: x, lambda x: x[:1]), "of the same shape and dtype"),
        (lambda: on_meta(lambda x: x, lambda x: 3), "both functions to give tensors"),
        (lambda: on_meta(lambda x: x, lambda x: [x]), "true_fn gives"),
        (lambda: wengert.while_loop(3, abs, ()), "to be callable"),
        (lambda: wengert.while_loop(abs, abs, 3), "carried_inputs to be a tuple or list"),
        (lambda: wengert.while_loop(lambda n: n < 3, lambda n: n, (0,)), "a tuple of 1"),
        (lambda: wengert.while_loop(lambda n: n, lambda n: n, (0,)), "a bool or a tensor"),
    ],
)
def test_bad_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(message)):
        call()
