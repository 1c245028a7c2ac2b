"""A node called: what its derivative makes of gradients, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.both import agree, error
from wengert.autograd import GraphReleasedError

Make = Callable[[Any, Any, Any], Any]

# Functions of two tensors of two elements; the first output's node is called.
RESULTS: dict[str, Make] = {
    "mul": lambda lib, a, b: a * b,
    "mul by a number": lambda lib, a, b: a * 3,
    "mul by itself": lambda lib, a, b: a * a,
    "add": lambda lib, a, b: a + b,
    "sub": lambda lib, a, b: a - b.detach(),
    "div": lambda lib, a, b: a / b,
    "exp": lambda lib, a, b: a.exp(),
    "pow": lambda lib, a, b: a**2,
    "where": lambda lib, a, b: lib.where(a > 1, a, b),
    "view": lambda lib, a, b: a.view(2, 1),
    "sum": lambda lib, a, b: a.sum(),
    "mean": lambda lib, a, b: a.mean(),
    "cat": lambda lib, a, b: lib.cat([a, b]),
    "stack": lambda lib, a, b: lib.stack([a, b]),
    "unbind": lambda lib, a, b: a.unbind(),
    "chunk": lambda lib, a, b: a.chunk(2),
    "index": lambda lib, a, b: a[1:],
    "matmul": lambda lib, a, b: a[:, None] @ b[None],
    "softmax": lambda lib, a, b: a.softmax(0),
}


def pair(lib: Any) -> tuple[Any, Any]:
    return (lib.tensor([0.5, 1.5], requires_grad=True), lib.tensor([2.0, 3.0], requires_grad=True))


def told(result: Any) -> list[Any]:
    """Of each gradient its values, and whether it was recorded."""
    values = result if isinstance(result, tuple) else [result]
    found: list[Any] = [isinstance(result, tuple)]
    for value in values:
        found += [None] if value is None else [value, value.requires_grad]
    return found


@pytest.mark.torch
@pytest.mark.parametrize("name", RESULTS)
def test_the_derivative_alone(torch: Any, name: str) -> None:
    def answers(lib: Any) -> list[Any]:
        outputs = RESULTS[name](lib, *pair(lib))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        node = outputs[0].grad_fn
        gradients = [
            (lib.arange(float(o.numel())) + 1).reshape(o.shape).requires_grad_() for o in outputs
        ]
        found = told(node(*[g.detach() for g in gradients])) + told(node(*gradients))
        with lib.no_grad():
            found += told(node(*[g.detach() for g in gradients]))
        found += told(node(*[None for _ in gradients]))
        return [*found, error(lambda: node()), error(lambda: node(*[1.0 for _ in gradients]))]

    agree(torch, answers)


@pytest.mark.torch
def test_a_graph_walked_by_hand(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        a, b = pair(lib)
        x, y = (a * b).exp().unbind()
        loss = (x * y + a.sum()) / b[0]
        waiting = [(loss.grad_fn, 0, lib.ones(()))]
        while waiting:
            node, index, g = waiting.pop()
            outputs = 2 if node.name() == "UnbindBackward0" else 1
            grads = node(*[g if k == index else None for k in range(outputs)])
            grads = grads if isinstance(grads, tuple) else (grads,)
            waiting += [
                (below, k, ge)
                for (below, k), ge in zip(node.next_functions, grads, strict=True)
                if below is not None and ge is not None
            ]
        expected = lib.autograd.grad((x * y + a.sum()) / b[0], [a, b])
        return [a.grad, b.grad, *expected]

    agree(torch, answers)


@pytest.mark.torch
def test_shapes_and_dtypes_are_those_of_the_output(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        a, b = pair(lib)
        node = (a * b).grad_fn
        return [*node(lib.tensor(2.0)), error(lambda: node(lib.ones(3)))]

    agree(torch, answers)


def test_a_gradient_of_another_dtype_is_converted() -> None:
    a, b = pair(wengert)
    (g, _) = (a * b).grad_fn(wengert.ones(2, dtype=wengert.float64))
    assert g.dtype is wengert.float32
    with pytest.raises(RuntimeError, match="complex"):
        (a * b).grad_fn(wengert.ones(2, dtype=wengert.complex64))


def test_no_hook_runs_and_nothing_is_released() -> None:
    a, b = pair(wengert)
    y = a * b
    y.register_hook(lambda g: pytest.fail("a tensor's hook ran"))
    y.grad_fn.register_prehook(lambda g: pytest.fail("a prehook ran"))
    y.grad_fn.register_hook(lambda i, o: pytest.fail("a posthook ran"))
    for _ in range(2):
        assert y.grad_fn(wengert.ones(2))[0].tolist() == [2.0, 3.0]


def test_released_and_overwritten_values_are_refused() -> None:
    a, b = pair(wengert)
    y, z = a * b, a * b
    y.sum().backward()
    with pytest.raises(GraphReleasedError, match="second time"):
        y.grad_fn(wengert.ones(2))
    with wengert.no_grad():
        a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.grad_fn(wengert.ones(2))


@pytest.mark.torch
def test_a_function_has_what_its_backward_returns(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        class Scale(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, factor: float) -> Any:
                ctx.factor = factor
                ctx.save_for_backward(x)
                return x * factor

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * ctx.factor + 0 * ctx.saved_tensors[0], None

        y = Scale.apply(pair(lib)[0], 3.0)
        found = [*told(y.grad_fn.apply(lib.ones(2)))]
        y.sum().backward()
        return [*found, isinstance(_raised(lambda: y.grad_fn.apply(lib.ones(2))), RuntimeError)]

    agree(torch, answers)


def _raised(function: Callable[[], Any]) -> Exception | None:
    try:
        function()
    except Exception as raised:
        return raised
    return None


def test_with_hooks_on_saved_tensors() -> None:
    a, b = pair(wengert)
    half, twice = (lambda v: wengert.from_numpy(v / 2)), (lambda t: t.numpy(force=True) * 2)
    with wengert.autograd.graph.saved_tensors_hooks(twice, half):
        y = a * b
    np.testing.assert_array_equal(y.grad_fn(wengert.ones(2))[1].detach(), [0.5, 1.5])
