"""Gradients sample by sample, and ensembles of models: `vmap` of `functional_call`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.func import functional_call, grad, stack_module_state, vmap

SAMPLES = 4
Loss = Callable[[Any, Any], Any]


@pytest.fixture(autouse=True)
def slow_is_an_error() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "There is a performance drop")
        yield


def mlp(lib: Any) -> Any:
    return lib.nn.Sequential(lib.nn.Linear(3, 5), lib.nn.Tanh(), lib.nn.Linear(5, 2))


def cnn(lib: Any) -> Any:
    return lib.nn.Sequential(
        lib.nn.Conv2d(2, 3, 3, padding=1), lib.nn.BatchNorm2d(3), lib.nn.ReLU(),
        lib.nn.MaxPool2d(2), lib.nn.Flatten(), lib.nn.Linear(12, 2),
    )  # fmt: skip


def layer_normed(lib: Any) -> Any:
    return lib.nn.Sequential(lib.nn.Linear(3, 6), lib.nn.LayerNorm(6), lib.nn.Linear(6, 2))


def words(lib: Any) -> Any:
    return lib.nn.Sequential(
        lib.nn.Embedding(7, 4, padding_idx=0), lib.nn.Flatten(), lib.nn.Linear(12, 5)
    )


def squares(output: Any, target: Any) -> Any:
    return ((output - target) ** 2).sum()


def classes(output: Any, target: Any) -> Any:
    return nn.functional.cross_entropy(output, target)


def data(*shape: int) -> Any:
    return wengert.from_numpy(np.random.default_rng(0).standard_normal((SAMPLES, *shape)))


def numbers(most: int, *shape: int) -> Any:
    return wengert.from_numpy(np.random.default_rng(0).integers(0, most, (SAMPLES, *shape)))


CASES: dict[str, tuple[Any, Any, Any, Loss, bool]] = {
    "mlp": (mlp, data(3), data(2), squares, True),
    "cnn": (cnn, data(2, 4, 4), data(2), squares, True),
    "cnn-eval": (cnn, data(2, 4, 4), data(2), squares, False),
    "layer_norm": (layer_normed, data(3), data(2), squares, True),
    "words": (words, numbers(7, 3), numbers(5), classes, True),
}


def made(make: Any, training: bool = True) -> Any:
    wengert.manual_seed(0)
    model = make(wengert).double()
    return model.train(training)


def state_of(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    params = {k: v.detach() for k, v in model.named_parameters()}
    return params, dict(model.named_buffers())


def loss_of(model: Any, loss: Loss) -> Callable[..., Any]:
    """The loss of one sample, which is a batch of one for the model."""

    def call(params: Any, buffers: Any, x: Any, y: Any) -> Any:
        output = functional_call(model, (params, buffers), (x.unsqueeze(0),))
        return loss(output, y.unsqueeze(0))

    return call


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(
        found.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("name", CASES)
def test_gradients_by_sample_equal_those_of_a_loop(name: str) -> None:
    make, xs, ys, loss, training = CASES[name]
    model = made(make, training)
    params, buffers = state_of(model)
    found = vmap(grad(loss_of(model, loss)), in_dims=(None, None, 0, 0))(params, buffers, xs, ys)
    for k in range(SAMPLES):
        alone = made(make, training)
        loss(alone(xs[k : k + 1]), ys[k : k + 1]).backward()
        for key, p in alone.named_parameters():
            close(found[key][k], p.grad)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["mlp", "layer_norm", "cnn-eval"])
def test_gradients_by_sample_equal_pytorchs(name: str, torch: Any) -> None:
    make, xs, ys, loss, training = CASES[name]
    model = made(make, training)
    params, buffers = state_of(model)
    call = grad(loss_of(model, loss))
    found = vmap(call, in_dims=(None, None, 0, 0))(params, buffers, xs, ys)
    other = make(torch).double().train(training)
    theirs = [{k: torch.from_numpy(v.numpy()) for k, v in d.items()} for d in (params, buffers)]

    def their_loss(p: Any, b: Any, x: Any, y: Any) -> Any:
        output = torch.func.functional_call(other, (p, b), (x.unsqueeze(0),))
        return loss(output, y.unsqueeze(0))

    expected = torch.func.vmap(torch.func.grad(their_loss), in_dims=(None, None, 0, 0))(
        *theirs, torch.from_numpy(xs.numpy()), torch.from_numpy(ys.numpy())
    )
    for key, value in expected.items():
        close(found[key], value)


def test_running_statistics_that_samples_share_move_to_the_mean_of_theirs() -> None:
    _, xs, ys, loss, _ = CASES["cnn"]
    model = made(cnn)
    params, buffers = state_of(model)
    vmap(grad(loss_of(model, loss)), in_dims=(None, None, 0, 0))(params, buffers, xs, ys)
    alone = [made(cnn) for _ in range(SAMPLES)]
    for k, one in enumerate(alone):
        one(xs[k : k + 1])
    assert int(model[1].num_batches_tracked) == 1
    for key in ("running_mean", "running_var"):
        expected = wengert.stack([getattr(one[1], key) for one in alone]).mean(0)
        close(getattr(model[1], key), expected)


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("shared", [True, False], ids=["one input", "an input each"])
def test_models_in_a_batch_equal_a_loop(shared: bool, momentum: float | None) -> None:
    def make(seed: int) -> Any:
        wengert.manual_seed(seed)
        model = cnn(wengert).double()
        model[1].momentum = momentum
        return model

    models, xs = [make(k) for k in range(3)], data(2, 4, 4)
    batches = xs if shared else wengert.stack([xs, xs + 1, xs * 2])
    params, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0])

    def call(p: Any, b: Any, x: Any) -> Any:
        return functional_call(base, (p, b), (x,))

    together = vmap(call, in_dims=(0, 0, None if shared else 0))
    for _ in range(2):  # statistics move each time
        found = together(params, buffers, batches)
        for k, model in enumerate(models):
            close(found[k], model(xs if shared else batches[k]))
    for key, value in buffers.items():
        for k, model in enumerate(models):
            close(value[k], dict(model.named_buffers())[key])


@pytest.mark.torch
def test_an_ensemble_learns_as_in_pytorch(torch: Any) -> None:
    wengert.manual_seed(0)
    models = [mlp(wengert).double() for _ in range(3)]
    params, buffers = stack_module_state(models)
    theirs = {k: torch.from_numpy(v.detach().numpy()) for k, v in params.items()}
    xs, ys = data(3), data(2)

    def gradients(lib: Any, base: Any, stacked: Any, x: Any, y: Any) -> Any:
        def loss(p: Any) -> Any:
            return squares(lib.func.functional_call(base, p, (x,)), y)

        return lib.vmap(lib.func.grad(loss))(stacked)

    found = gradients(wengert, models[0], {k: v.detach() for k, v in params.items()}, xs, ys)
    expected = gradients(
        torch, mlp(torch).double(), theirs, torch.from_numpy(xs.numpy()),
        torch.from_numpy(ys.numpy()),
    )  # fmt: skip
    assert buffers == {}
    for key, value in expected.items():
        close(found[key], value)


def test_a_recorded_ensemble_gives_gradients_by_model() -> None:
    models = [made(mlp) for _ in range(2)]
    params, _ = stack_module_state(models)
    xs, ys = data(3), data(2)

    def loss(p: Any) -> Any:
        return squares(functional_call(models[0], p, (xs,)), ys)

    vmap(loss)(params).sum().backward()
    for k, model in enumerate(models):
        squares(model(xs), ys).backward()
        for key, p in model.named_parameters():
            close(params[key].grad[k], p.grad)
