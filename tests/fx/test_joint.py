"""wengert.fx.joint: a function and its backward as two graphs, compiled apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import wengert
from wengert import nn
from wengert.fx.joint import compiled_with_backward, default_partition
from wengert.nn import functional as F

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "products": lambda x, w, b: [(x @ w + b).tanh().sum()],
    "results_that_are_saved": lambda x, w, b: [x.exp(), (x @ w).softmax(1)],
    "several": lambda x, w, b: [x * 2, x.detach() + 1, (x > 0), (w * b).sum()],
    "unused": lambda x, w, b: [x.sin()],
    "views": lambda x, w, b: [x[1:], x.t(), (x @ w).view(-1)],
    "in_place": lambda x, w, b: [(x * 1).mul_(b[0]).add_(w.sum())],
    "norms": lambda x, w, b: [F.layer_norm(x @ w, (2,), None, b)],
    "without_gradients": lambda x, w, b: [x.detach() @ w.detach()],
    "constants": lambda x, w, b: [x * wengert.arange(3.0) + w.sum()],
}


def arguments() -> list[Any]:
    made = [wengert.linspace(-1, 1, 12).view(4, 3), wengert.linspace(0, 2, 6).view(3, 2)]
    return [x.double().requires_grad_() for x in (*made, wengert.ones(2))]


def rounded(x: Any) -> Any:
    return None if x is None else (x.detach().double() * 1e9).round().tolist()


def shown(graphs: list[Any]) -> Any:
    def compiler(graph: Any, inputs: list[Any]) -> Any:
        graphs.append(graph)
        count = sum(n.op == "placeholder" for n in graph.graph.nodes)
        assert len(inputs) == count
        return graph.forward

    return compiler


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_gradients_are_the_functions(name: str) -> None:
    found = []
    forward: list[Any] = []
    backward: list[Any] = []
    args = arguments()
    both = compiled_with_backward(FUNCTIONS[name], args, shown(forward), shown(backward))
    for function in (FUNCTIONS[name], both):
        for _ in range(2):
            args = arguments()
            outs = [*function(*args)]
            for out in outs:
                if out.requires_grad:
                    (out * 3).sum().backward(retain_graph=True)
            found.append([[rounded(x) for x in outs], [x.requires_grad for x in outs]])
            found[-1].append([rounded(x.grad) for x in args])
    assert found[2:] == found[:2]
    assert (len(forward), len(backward)) == (1, int(name != "without_gradients"))


def test_a_loss_of_a_module_that_draws_and_counts() -> None:
    def step(run: Any) -> Any:
        wengert.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)).double()
        state = dict(model.named_parameters()) | dict(model.named_buffers())
        names, values = [*state], [*state.values()]

        def loss(x: Any, *values: Any) -> list[Any]:
            swapped = dict(zip(names, values, strict=True))
            return [wengert.func.functional_call(model, swapped, (x,)).square().sum()]

        x = wengert.linspace(-1, 1, 12).view(4, 3).double()
        function = run(loss, [x, *values])
        results = []
        for _ in range(3):
            (out,) = function(x, *values)
            out.backward()
            results.append(rounded(out))
        return results, [rounded(p.grad) for p in model.parameters()], wengert.rand(1).item()

    eager = step(lambda function, inputs: function)
    assert step(lambda f, inputs: compiled_with_backward(f, inputs, shown([]))) == eager


def test_a_partition_of_the_users() -> None:
    counts: list[int] = []

    def partition(joint: Any, inputs: Any, *, num_fwd_outputs: int, **options: Any) -> Any:
        counts.append(num_fwd_outputs)
        assert len(inputs) == 4
        return default_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs)

    args = arguments()
    function = compiled_with_backward(FUNCTIONS["products"], args, shown([]), None, partition)
    function(*args)[0].backward()
    assert counts == [1]
    assert all(x.grad is not None for x in args)


def test_what_the_forward_has_saved_is_not_overwritten_unseen() -> None:
    args = arguments()
    function = compiled_with_backward(FUNCTIONS["products"], args, shown([]))
    (loss,) = function(*args)
    with wengert.no_grad():
        args[1].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_there_is_no_second_derivative() -> None:
    x = wengert.ones(2, requires_grad=True)
    (out,) = compiled_with_backward(lambda x: [(x**3).sum()], [x], shown([]))(x)
    grad: Any
    (grad,) = wengert.autograd.grad(out, x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()
