"""Whether operations are recorded in the code that autograd, modules and optimizers call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.both import agree, error
from wengert.graph import why

Scenario = Callable[[Any, list[Any], bool], None]


def tensor_hooks(lib: Any, seen: list[Any], create_graph: bool) -> None:
    x = lib.ones(3, requires_grad=True)
    y = x * x
    ask = lib.is_grad_enabled
    x.register_hook(lambda g: seen.append(("leaf", ask(), g.requires_grad)))
    y.register_hook(lambda g: seen.append(("inner", ask(), g.requires_grad)))
    x.register_post_accumulate_grad_hook(
        lambda p: seen.append(("accumulated", ask(), p.grad.requires_grad))
    )
    y.grad_fn.register_prehook(lambda out: seen.append(("pre", ask())))
    y.grad_fn.register_hook(lambda inputs, out: seen.append(("post", ask())))
    leaf = y.grad_fn.next_functions[0][0]
    leaf.register_prehook(lambda out: seen.append(("leaf pre", ask())))
    leaf.register_hook(lambda inputs, out: seen.append(("leaf post", ask())))
    y.sum().backward(create_graph=create_graph)
    again = (x * 2).sum()
    with lib.no_grad():
        again.backward(create_graph=create_graph)


def hooks_on_several(lib: Any, seen: list[Any], create_graph: bool) -> None:
    x, y = (lib.ones(2, requires_grad=True) for _ in range(2))
    register = lib.autograd.graph.register_multi_grad_hook
    register([x, y], lambda gs: seen.append(("all", lib.is_grad_enabled())))
    register([x, y], lambda g: seen.append(("any", lib.is_grad_enabled())), mode="any")
    (x * y).sum().backward(create_graph=create_graph)


def module_hooks(lib: Any, seen: list[Any], create_graph: bool) -> None:
    layer = lib.nn.Linear(3, 3)
    ask = lib.is_grad_enabled
    layer.register_forward_pre_hook(lambda m, args: seen.append(("forward pre", ask())))
    layer.register_forward_hook(lambda m, args, out: seen.append(("forward", ask())))
    layer.register_full_backward_hook(lambda m, i, o: seen.append(("backward", ask())))
    layer.register_full_backward_pre_hook(lambda m, o: seen.append(("backward pre", ask())))
    x = lib.ones(2, 3, requires_grad=True)
    layer(x).pow(2).sum().backward(create_graph=create_graph)
    layer._apply(lambda t: (seen.append(("apply", ask(), t.requires_grad)), t)[1])
    layer._register_state_dict_hook(lambda *args: seen.append(("state", ask())))
    layer.register_load_state_dict_post_hook(lambda *args: seen.append(("load", ask())))
    layer.load_state_dict(layer.state_dict())


def functions(lib: Any, seen: list[Any], create_graph: bool) -> None:
    ask = lib.is_grad_enabled

    class Double(lib.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            seen.append(("forward", ask(), x.requires_grad, x.numpy().sum()))
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            seen.append(("context", ask(), inputs[0].requires_grad, output.requires_grad))
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(("derivative", ask(), ctx.saved_tensors[0].requires_grad))
            return g * 2

    x = lib.ones(3, requires_grad=True)
    (Double.apply(x) * x).sum().backward(create_graph=create_graph)


def saved_tensors(lib: Any, seen: list[Any], create_graph: bool) -> None:
    def noted(what: str) -> Callable[[Any], Any]:
        return lambda t: (seen.append((what, lib.is_grad_enabled(), t.requires_grad)), t)[1]

    x = lib.ones(3, requires_grad=True)
    with lib.autograd.graph.saved_tensors_hooks(noted("pack"), noted("unpack")):
        y = (x * x).sin()
    y.sum().backward(create_graph=create_graph)


def checkpoints(lib: Any, seen: list[Any], create_graph: bool) -> None:
    def function(x: Any) -> Any:
        seen.append(("function", lib.is_grad_enabled()))
        return (x * x).exp()

    x = lib.ones(3, requires_grad=True)
    checkpoint = lib.utils.checkpoint.checkpoint
    for reentrant in (False,) if create_graph else (False, True):
        y = checkpoint(function, x, use_reentrant=reentrant)
        y.sum().backward(create_graph=create_graph)


def optimizers(lib: Any, seen: list[Any], create_graph: bool) -> None:
    optimizer = lib.optim.SGD(lib.nn.Linear(2, 2).parameters(), lr=0.1)
    optimizer.register_step_pre_hook(lambda *args: seen.append(("pre", lib.is_grad_enabled())))
    optimizer.register_step_post_hook(lambda *args: seen.append(("post", lib.is_grad_enabled())))
    with lib.no_grad():
        optimizer.step(lambda: seen.append(("closure", lib.is_grad_enabled())))


@pytest.mark.torch
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "scenario",
    [
        tensor_hooks, hooks_on_several, module_hooks, functions, saved_tensors, checkpoints,
        optimizers,
    ],
)  # fmt: skip
def test_grad_mode_is_that_of_pytorch(torch: Any, scenario: Scenario, create_graph: bool) -> None:
    def answers(lib: Any) -> list[Any]:
        seen: list[Any] = []
        scenario(lib, seen, create_graph)
        assert seen
        return seen

    agree(torch, answers)


@pytest.mark.torch
def test_an_optimizer_steps_in_the_hook_of_an_accumulated_gradient(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        a, b = (lib.ones(3, requires_grad=True) for _ in range(2))
        optimizer = lib.optim.SGD([a], lr=0.1, momentum=0.9)

        def step(_: Any) -> None:
            optimizer.step()
            optimizer.zero_grad()

        def descend(p: Any) -> None:
            p.add_(p.grad, alpha=-0.1)
            p.grad = None

        a.register_post_accumulate_grad_hook(step)
        b.register_post_accumulate_grad_hook(descend)
        for _ in range(2):
            (a * 2 + b * 3).sum().backward()
        refused = error(lambda: (b * 3).sum().backward(create_graph=True))
        return [a, b, a.grad, refused, lib.is_grad_enabled()]

    agree(torch, answers)


@pytest.mark.torch
def test_numpy_asks_whether_operations_are_recorded(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        x = lib.ones(3, requires_grad=True)
        reads: list[Callable[[], Any]] = [
            lambda: x.numpy(),
            lambda: np.asarray(x),
            lambda: np.array(x * 2),
            lambda: x.numpy(force=True),
            lambda: np.from_dlpack(x),
        ]
        found = [error(read) for read in reads]
        for mode in (lib.no_grad(), lib.inference_mode(), lib.set_grad_enabled(False)):
            with mode:
                found += [error(read) for read in reads]
        x.register_hook(lambda g: found.append(x.numpy()))
        (x * 2).sum().backward()
        return found

    agree(torch, answers)


@pytest.mark.torch
def test_sums_of_recorded_gradients_are_recorded_under_no_grad(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        x = lib.ones(3, requires_grad=True)
        for _ in range(2):
            y = (x * x * x).sum()
            with lib.no_grad():
                y.backward(create_graph=True)
        return [x.grad.requires_grad, *lib.autograd.grad(x.grad.sum(), x)]

    agree(torch, answers)


def test_what_hooks_and_forwards_compute_is_not_put_down_to_an_earlier_block() -> None:
    w, x = (wengert.ones(3, requires_grad=True) for _ in range(2))
    kept: list[Any] = []

    class Same(wengert.autograd.Function):
        @staticmethod
        def forward(ctx: Any, t: Any) -> Any:
            kept.append(t * w)
            return t.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            kept.append(g * w)
            return g

    with wengert.no_grad():
        w * 2
    y = Same.apply(x)
    y.register_hook(lambda g: kept.append(g * w))
    y.sum().backward()
    texts = [str(why(t).requires_grad) for t in kept]
    assert len(texts) == 3
    assert not any("no_grad" in text for text in texts)
    assert "Same.forward()" in texts[0]
    assert "kept.append(t * w)" in texts[0]
    assert all("backward() without create_graph" in text for text in texts[1:])
    assert all("y.sum().backward()" in text for text in texts[1:])


@pytest.mark.torch
def test_a_function_defined_anew_in_a_checkpoint_is_the_same_operation(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        def function(x: Any) -> Any:
            class Cube(lib.autograd.Function):
                @staticmethod
                def forward(ctx: Any, t: Any) -> Any:
                    ctx.save_for_backward(t)
                    return t**3

                @staticmethod
                def backward(ctx: Any, g: Any) -> Any:
                    return 3 * g * ctx.saved_tensors[0] ** 2

            return Cube.apply(x * x).exp()

        x = lib.tensor([0.5, 1.0], requires_grad=True)
        lib.utils.checkpoint.checkpoint(function, x, use_reentrant=False).sum().backward()
        return [x.grad]

    agree(torch, answers)


@pytest.mark.torch
def test_what_a_hook_of_an_accumulated_gradient_may_return(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        found = []
        for answer in (None, (None,), lib.ones(2)):
            x = lib.ones(2, requires_grad=True)
            x.register_post_accumulate_grad_hook(lambda p, a=answer: a)
            found.append(error(x.sum().backward))
        return found

    agree(torch, answers)
