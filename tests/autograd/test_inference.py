"""Tensors of inference mode: which are, what they are refused, and that others pay nothing."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.both import agree, error
from wengert.core.tensor import inferences
from wengert.graph import why

Scenario = Callable[[Any], list[Any]]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Inference mode is forgotten with the last tensor that was made in it."""
    assert inferences == set()
    yield
    assert inferences == set()


def made(lib: Any, **options: Any) -> Any:
    """A tensor of inference mode."""
    with lib.inference_mode():
        return lib.ones(2, 3, **options)


def told(*values: Any) -> list[Any]:
    return [(v.is_inference(), v.requires_grad) for v in values]


def inside(lib: Any) -> list[Any]:
    """What is made inside is of inference mode, but for views of what was there before."""
    x, leaf = lib.ones(2, 3), lib.ones(2, 3, requires_grad=True)
    index = lib.tensor([0, 1])
    with lib.inference_mode():
        new = [
            lib.zeros(1), lib.tensor([1.0]), lib.rand(2), lib.arange(3), lib.Tensor(2),
            lib.from_numpy(np.ones(2)), lib.ones_like(x), x.new_zeros(2), lib.FloatTensor([1.0]),
            lib.zeros(1, requires_grad=True), lib.nn.Linear(2, 2).weight,
        ]  # fmt: skip
        computed = [
            x * 2, leaf * 2, x + leaf, x.exp(), x.sum(), x @ x.t(), x.clone(), lib.cat([x, leaf]),
            x[index], x.double(), x > 0, x.argmax(), x.topk(1)[0], x.t().reshape(6),
            lib.nn.functional.softmax(x, 0), lib.where(x > 0, x, x),
        ]  # fmt: skip
        shown = [
            x.view(6), x[0], x.t(), x.detach(), x.unbind()[0], x.split(1)[0], x.flatten(), x.data,
            x.expand(2, 2, 3), x.contiguous(), x.float(), lib.nn.Parameter(x), x.add_(1), x,
        ]  # fmt: skip
        copied = [copy.deepcopy(x), pickle.loads(pickle.dumps(x))]
        return told(*new, *computed, *shown, *copied)


def outside(lib: Any) -> list[Any]:
    """Views stay in it, results are ordinary."""
    x, y = made(lib), lib.ones(2, 3)
    views = [x.view(6), x[0], x.t(), x.detach(), x.data, x.unbind()[0], x.flatten(), x.float(),
             x.contiguous(), lib.nn.Parameter(x, requires_grad=False)]  # fmt: skip
    results = [x * 2, x + y, x.exp(), x.clone(), lib.cat([x, y]), x.double(), x.t().contiguous(),
               copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.sum()]  # fmt: skip
    return told(*views, *results)


def modes(lib: Any) -> list[Any]:
    leaf, x = lib.ones(2, requires_grad=True), made(lib)
    ask, infers = lib.is_grad_enabled, lib.is_inference_mode_enabled
    found: list[Any] = []
    with lib.inference_mode():
        with lib.enable_grad():
            found += [ask(), infers(), *told(leaf * 2, lib.ones(1))]
        found += [ask(), infers()]
        with lib.inference_mode(False):
            found += [ask(), infers(), *told(leaf * 2, lib.ones(1), x.view(6), x + 1)]
            with lib.inference_mode():
                found += told(lib.ones(1), leaf + 1)
        with lib.no_grad():
            found += [infers(), *told(lib.ones(1))]
        found += [lib.is_inference(x), ask()]
    with lib.no_grad(), lib.inference_mode(mode=False):
        found += [ask(), *told(leaf * 2)]
    return [*found, ask(), infers()]


def decorators(lib: Any) -> list[Any]:
    @lib.inference_mode()
    def called() -> Any:
        return lib.ones(1)

    @lib.inference_mode
    def plain() -> Any:
        return lib.ones(1)

    @lib.inference_mode(mode=False)
    def off() -> Any:
        return lib.ones(1)

    @lib.inference_mode()
    def numbers() -> Iterator[Any]:
        yield lib.ones(1)
        yield lib.ones(1)

    found = told(called(), plain(), off())
    for value in numbers():
        found += told(value, lib.ones(1))
    return found


def alone(lib: Any) -> list[Any]:
    """A model of inference mode is not recorded outside, either, if its input is of it."""
    with lib.inference_mode():
        net = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.ReLU(), lib.nn.Linear(4, 1))
        x = lib.ones(2, 3)
    leaf = made(lib, requires_grad=True)
    return told(net(x), leaf.exp(), lib.cat([leaf, leaf]), leaf.unbind()[0], leaf.view(6))


def trained(lib: Any) -> list[Any]:
    """Training goes on after an evaluation, with what it gave where that is not saved."""
    lib.manual_seed(0)
    net = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 1))
    optimizer = lib.optim.Adam(net.parameters(), lr=0.1)
    data = lib.arange(6.0).reshape(2, 3)
    found = []
    for _ in range(3):
        with lib.inference_mode():
            offset = net(data).mean()
        loss = (net(data) - offset - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss)
    return found


def gradients(lib: Any) -> list[Any]:
    x = lib.ones(3, requires_grad=True)
    loss = (x * x).sum()
    with lib.inference_mode():
        loss.backward()
        first = (x * x).sum()
    return [x.grad.is_inference(), x.grad, error(first.backward) == "no error"]


@pytest.mark.torch
@pytest.mark.parametrize(
    "scenario", [inside, outside, modes, decorators, alone, trained, gradients]
)
def test_as_in_pytorch(torch: Any, scenario: Scenario) -> None:
    agree(torch, scenario)


# What is refused outside, as functions of a tensor of inference mode and of a leaf.
REFUSED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mul": lambda lib, x, w: x * w,
    "linear": lambda lib, x, w: lib.nn.functional.linear(x, w),
    "mse_loss": lambda lib, x, w: lib.nn.functional.mse_loss(w, x),
    "pow": lambda lib, x, w: w.pow(x),
    "view mul": lambda lib, x, w: w * x.view(2, 3),
    "add_": lambda lib, x, w: x.add_(1),
    "view add_": lambda lib, x, w: x[0].add_(1),
    "setitem": lambda lib, x, w: x.__setitem__(0, 1.0),
    "zero_": lambda lib, x, w: x.zero_(),
    "copy_": lambda lib, x, w: x.copy_(w.detach()),
    "normal_": lambda lib, x, w: x.normal_(),
    "t_": lambda lib, x, w: x.t_(),
    "resize_": lambda lib, x, w: x.resize_(6),
    "set_": lambda lib, x, w: x.set_(lib.ones(2)),
    "index_put_": lambda lib, x, w: x.index_put_((lib.tensor([0]),), lib.zeros(3)),
    "relu_": lambda lib, x, w: lib.nn.functional.relu(x, inplace=True),
    "addcmul_": lambda lib, x, w: x.addcmul_(lib.ones(2, 3), lib.ones(2, 3)),
    "init": lambda lib, x, w: lib.nn.init.xavier_uniform_(x),
    "requires_grad_": lambda lib, x, w: x.requires_grad_(),
    "requires_grad": lambda lib, x, w: setattr(x, "requires_grad", True),
    "Parameter": lambda lib, x, w: lib.nn.Parameter(x),
    "_version": lambda lib, x, w: x._version,
    "version of a view": lambda lib, x, w: x[0]._version,
}


@pytest.mark.torch
@pytest.mark.parametrize("name", REFUSED)
def test_refusals(torch: Any, name: str) -> None:
    """RuntimeError outside, in PyTorch's first words; all but saving works inside."""

    def raised(lib: Any) -> list[str]:
        found = []
        for x in (made(lib), lib.ones(2, 3)):
            w = lib.ones(2, 3, requires_grad=True)
            try:
                REFUSED[name](lib, x, w)
                found.append("")
            except RuntimeError as refused:
                found.append(str(refused)[:40])
        with lib.inference_mode():
            x = lib.ones(2, 3)
            found.append(error(lambda: REFUSED[name](lib, x, lib.ones(2, 3))))
        return found

    ours, theirs = raised(wengert), raised(torch)
    assert ours == theirs
    assert ours[0]


@pytest.mark.torch
def test_what_a_function_saves(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        class Scale(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, a: Any, b: Any) -> Any:
                ctx.save_for_backward(b)
                return a * b

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * ctx.saved_tensors[0], None

        x, leaf = made(lib), lib.ones(2, 3, requires_grad=True)
        with lib.inference_mode():
            found = told(Scale.apply(leaf, x))
        return [*found, error(lambda: Scale.apply(leaf, x)), *told(Scale.apply(x, x))]

    agree(torch, answers)


@pytest.mark.torch
def test_modules_of_inference_mode(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        with lib.inference_mode():
            frozen = lib.nn.Linear(3, 3)
        state = lib.nn.Linear(3, 3).state_dict()
        frozen(lib.ones(1, 3)).sum().backward()
        step = lib.optim.SGD(frozen.parameters(), lr=0.1).step
        copied = copy.deepcopy(frozen)
        copied.load_state_dict(state)
        return [error(lambda: frozen.load_state_dict(state)), error(step),
                *told(copied.weight, frozen.double().weight)]  # fmt: skip

    agree(torch, answers)


def test_the_error_names_both_lines() -> None:
    w = wengert.ones(2, 3, requires_grad=True)
    x = made(wengert)
    with pytest.raises(RuntimeError) as refused:
        x * w
    text = str(refused.value)
    del refused
    assert "mul()  at" in text
    assert "  x * w\n" in text
    assert "with lib.inference_mode():" in text


def test_why_a_result_has_no_graph() -> None:
    w = made(wengert, requires_grad=True)
    text = str(why(w.exp()).requires_grad)
    assert "inference_mode()" in text
    assert "with lib.inference_mode():" in text


def test_threads_are_apart() -> None:
    seen: list[bool] = []
    with wengert.inference_mode():
        thread = threading.Thread(target=lambda: seen.append(wengert.ones(1).is_inference()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_transforms_and_checkpoints_record_inside() -> None:
    x = wengert.tensor([1.0, 2.0])
    leaf = x.clone().requires_grad_()
    y = wengert.utils.checkpoint.checkpoint(lambda t: (t * t).exp(), leaf, use_reentrant=False)
    z = wengert.utils.checkpoint.checkpoint(lambda t: (t * t).exp(), leaf, use_reentrant=True)
    loss = (y + z).sum()
    with wengert.inference_mode():
        assert wengert.func.grad(lambda t: (t * t).sum())(x).tolist() == [2.0, 4.0]
        assert wengert.func.hessian(lambda t: (t**3).sum())(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
        loss.backward()
    expected = 4 * x * (x * x).exp()
    np.testing.assert_allclose(leaf.grad.numpy(), expected.numpy(), rtol=1e-6)
    leaf.grad = None
