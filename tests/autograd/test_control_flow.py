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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wengert.cond("x", abs, abs, ()), "pred to be bool or tensor, but got 'x'"),
        (lambda: wengert.cond(wengert.ones(2) > 0, abs, abs), "one of shape (2,)"),
        (lambda: wengert.cond(True, abs, 3), "to be callable"),
        (lambda: wengert.cond(True, abs, abs, 3), "operands to be a tuple or list, but got int"),
        (lambda: wengert.while_loop(3, abs, ()), "to be callable"),
        (lambda: wengert.while_loop(abs, abs, 3), "carried_inputs to be a tuple or list"),
        (lambda: wengert.while_loop(lambda n: n < 3, lambda n: n, (0,)), "a tuple of 1"),
        (lambda: wengert.while_loop(lambda n: n, lambda n: n, (0,)), "a bool or a tensor"),
    ],
)
def test_bad_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(message)):
        call()
