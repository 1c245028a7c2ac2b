"""Callbacks that hooks queue for the end of the backward they run in."""

from __future__ import annotations

from typing import Any

import pytest

import wengert

LIBRARIES = [wengert, pytest.param("torch", marks=pytest.mark.torch)]


@pytest.fixture(params=LIBRARIES, ids=["wengert", "torch"])
def library(request: pytest.FixtureRequest) -> Any:
    is_torch = request.param == "torch"
    return request.getfixturevalue("torch") if is_torch else request.param


def test_they_run_in_order_once_gradients_are_in_place(library: Any) -> None:
    seen: list[Any] = []
    x = library.ones(2, requires_grad=True)

    def hook(g: Any) -> None:
        queue = library.autograd.Variable._execution_engine.queue_callback
        queue(lambda: seen.append(x.grad.tolist()))
        queue(lambda: seen.append("second"))

    y = x * 2
    y.register_hook(hook)
    y.sum().backward(retain_graph=True)
    assert seen == [[2.0, 2.0], "second"]
    library.autograd.grad(y.sum(), x)
    assert len(seen) == 4


def test_a_function_queues_one(library: Any) -> None:
    seen: list[int] = []

    class Noting(library.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            engine = library.autograd.Variable._execution_engine
            engine.queue_callback(lambda: seen.append(1))
            return g

    Noting.apply(library.ones(2, requires_grad=True)).sum().backward()
    assert seen == [1]


def test_outside_of_a_backward_they_are_refused(library: Any) -> None:
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward"):
        library.autograd.Variable._execution_engine.queue_callback(lambda: None)


def test_an_error_of_one_comes_out_with_gradients_in_place(library: Any) -> None:
    x = library.ones(2, requires_grad=True)
    y = x * 2

    def hook(g: Any) -> None:
        library.autograd.Variable._execution_engine.queue_callback(lambda: 1 // 0)

    y.register_hook(hook)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
