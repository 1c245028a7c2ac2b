"""Layers under transforms: batches as samples, ensembles as models, tangents as PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.layers import ROWS, Row, label
from tests.nn.parity import array, flat, load, ours
from wengert.autograd.transforms import batched
from wengert.func import functional_call, jvp, stack_module_state, vmap

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:reduction. 'mean' divides"),  # by KLDivLoss, in both
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated"),  # by PyTorch's jvp
]
SIZE = 3

# A lookup with `max_norm` writes to the weight, which samples share and tangents do not follow.
SHARED = [r for r in ROWS if not r.options.get("max_norm")]
# In training these write running statistics.
STATISTICS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d",
              "InstanceNorm3d", "SyncBatchNorm")  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_warned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ops warn once that they run sample by sample; here each test is to hear of it."""
    monkeypatch.setattr(batched, "_warned", set())


def made(row: Row, library: Any, seed: int = 0) -> Any:
    library.manual_seed(seed)
    layer = getattr(library.nn, row.name)(*row.args, **row.options).double()
    return layer.train(not row.random and row.name not in STATISTICS)


def arguments(row: Row, torch: Any, seed: int) -> tuple[Any, ...]:
    torch.manual_seed(seed)
    return detached(row.inputs(torch))


def detached(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(detached(v) for v in value)
    return value.detach()


def stacked(samples: list[Any]) -> Any:
    if isinstance(samples[0], tuple):
        return tuple(stacked(list(column)) for column in zip(*samples, strict=True))
    return wengert.stack(samples)


# How many targets a cluster has depends on values: no batch of them has one shape.
BATCHED = [r for r in SHARED if r.name != "AdaptiveLogSoftmaxWithLoss"]


@pytest.mark.parametrize("row", BATCHED, ids=label)
def test_a_batch_equals_a_loop(row: Row, torch: Any) -> None:
    layer = made(row, wengert)
    samples = [ours(arguments(row, torch, seed)) for seed in range(SIZE)]
    batch = stacked(samples)
    alone = [flat(layer(*sample)) for sample in samples]
    together = flat(vmap(layer)(*batch))
    for k, found in enumerate(together):
        assert found.shape == (SIZE, *alone[0][k].shape)
        for i in range(SIZE):
            np.testing.assert_allclose(array(found[i]), array(alone[i][k]), rtol=1e-9, atol=1e-11)


PARAMETRIC = [
    r for r in SHARED if list(getattr(wengert.nn, r.name)(*r.args, **r.options).parameters())
]


@pytest.mark.parametrize("row", PARAMETRIC, ids=label)
def test_an_ensemble_equals_its_models(row: Row, torch: Any) -> None:
    models = [made(row, wengert, seed) for seed in range(SIZE)]
    params, buffers = stack_module_state(models)
    inputs = ours(arguments(row, torch, 0))
    together = flat(vmap(lambda p, b: functional_call(models[0], (p, b), inputs))(params, buffers))
    alone = [flat(model(*inputs)) for model in models]
    for k, found in enumerate(together):
        for i in range(SIZE):
            np.testing.assert_allclose(array(found[i]), array(alone[i][k]), rtol=1e-9, atol=1e-11)


def leaves(value: Any) -> Iterator[Any]:
    """The tensors of floating point in a structure of tuples and dicts."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        for v in value:
            yield from leaves(v)
    elif value.is_floating_point():
        yield value


def filled(value: Any, given: Iterator[Any]) -> Any:
    """The structure with other tensors of floating point."""
    if isinstance(value, dict):
        return {k: filled(v, given) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(filled(v, given) for v in value)
    return next(given) if value.is_floating_point() else value


def pushed(library: Any, layer: Any, inputs: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The outputs and their tangents, along all parameters and inputs."""
    state = {n: p.detach() for n, p in layer.named_parameters()}
    point = tuple(x.clone() for x in leaves((state, inputs)))
    rng = np.random.default_rng(7)
    tangents = tuple(library.from_numpy(rng.standard_normal(tuple(x.shape))) for x in point)

    def function(*xs: Any) -> Any:
        params, args = filled((state, inputs), iter(xs))
        results = flat(library.func.functional_call(layer, params, args))
        return tuple(y for y in results if y.is_floating_point())

    return tuple([array(y) for y in part] for part in library.func.jvp(function, point, tangents))


# PyTorch has no forward mode for these.
REVERSE_ONLY = ("CTCLoss", "EmbeddingBag", "MultiLabelMarginLoss", "MultiMarginLoss",
                "SoftMarginLoss", "Transformer", "TransformerDecoderLayer",
                "TransformerEncoderLayer")  # fmt: skip


@pytest.mark.parametrize("row", [r for r in SHARED if r.name not in REVERSE_ONLY], ids=label)
def test_tangents_equal_torchs(row: Row, torch: Any) -> None:
    reference, layer = made(row, torch), made(row, wengert)
    load(layer, reference)
    inputs = arguments(row, torch, 0)
    rtol = 1e-7 if row.name == "Hardsigmoid" else 1e-9  # as in tests/nn/layers.py
    for found, expected in zip(
        pushed(wengert, layer, ours(inputs)), pushed(torch, reference, inputs), strict=True
    ):
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-11)


@pytest.mark.parametrize("row", [r for r in ROWS if r.name in REVERSE_ONLY], ids=label)
def test_tangents_are_the_transpose_of_gradients(row: Row, torch: Any) -> None:
    layer, inputs = made(row, wengert), ours(arguments(row, torch, 0))
    state = {n: p.detach() for n, p in layer.named_parameters()}
    point = tuple(leaves((state, inputs)))
    rng = np.random.default_rng(8)

    def function(*xs: Any) -> Any:
        params, args = filled((state, inputs), iter(xs))
        return functional_call(layer, params, args)

    def direction(x: Any) -> Any:
        return wengert.from_numpy(rng.standard_normal(tuple(x.shape)))

    tangents = tuple(direction(x) for x in point)
    output, along = jvp(function, point, tangents)
    cotangent = direction(output)
    gradients = wengert.func.vjp(function, *point)[1](cotangent)
    inner = sum((g * t).sum().item() for g, t in zip(gradients, tangents, strict=True))
    assert (along * cotangent).sum().item() == pytest.approx(inner, rel=1e-9, abs=1e-11)
    assert along.shape == output.shape


def network(library: Any) -> Any:
    """A classifier of small images."""
    layers = library.nn
    return layers.Sequential(
        layers.Conv2d(2, 4, 3, padding=1), layers.GroupNorm(2, 4), layers.ReLU(),
        layers.MaxPool2d(2), layers.Conv2d(4, 4, 3, groups=2), layers.GELU(),
        layers.AdaptiveAvgPool2d(1), layers.Flatten(), layers.Linear(4, 3),
    ).double()  # fmt: skip


def test_gradients_of_a_network_for_each_sample(torch: Any) -> None:
    reference, net = network(torch), network(wengert)
    load(net, reference)
    torch.manual_seed(1)
    images, classes = torch.randn(5, 2, 8, 8).double(), torch.tensor([0, 2, 1, 1, 0])

    def gradients(library: Any, model: Any, x: Any, y: Any) -> dict[str, Any]:
        params = {n: p.detach() for n, p in model.named_parameters()}

        def loss(params: Any, image: Any, label: Any) -> Any:
            scores = library.func.functional_call(model, params, (image.unsqueeze(0),))
            return library.nn.functional.cross_entropy(scores, label.unsqueeze(0))

        return library.vmap(library.func.grad(loss), in_dims=(None, 0, 0))(params, x, y)

    found = gradients(wengert, net, ours(images), ours(classes))
    expected = gradients(torch, reference, images, classes)
    assert found.keys() == expected.keys()
    for name, g in found.items():
        np.testing.assert_allclose(array(g), array(expected[name]), rtol=1e-8, atol=1e-11)


class Attributes:
    """What a name in `functional_call` may be: a module's place that is empty, or an attribute."""

    NAMES = ("layer.bias", "missing", "plain", "empty", "number", "layer", "a.b", "", "forward")

    @staticmethod
    def module(library: Any) -> Any:
        class Model(library.nn.Module):  # type: ignore[name-defined, misc]
            def __init__(self) -> None:
                super().__init__()
                self.layer = library.nn.Linear(2, 2, bias=False)
                self.layer.weight.data.fill_(0.5)
                self.plain, self.number = library.ones(2), 3
                self.register_buffer("empty", None)

            def forward(self, x: Any) -> Any:
                return self.layer(x), getattr(self, "missing", None), self.plain, self.empty

        return Model()

    @classmethod
    def outcome(cls, library: Any, name: str, strict: bool) -> Any:
        module, value = cls.module(library), library.full((2,), 7.0)
        try:
            parts = library.func.functional_call(
                module, {name: value}, library.ones(2), strict=strict
            )
        except Exception as error:
            found = type(error)
        else:
            found = [None if p is None else p.detach().tolist() for p in parts]
        left = (hasattr(module, "missing"), module.plain.tolist(), module.layer.bias, module.empty)
        return found, left


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", Attributes.NAMES)
def test_names_that_no_parameter_has(torch: Any, name: str, strict: bool) -> None:
    assert Attributes.outcome(wengert, name, strict) == Attributes.outcome(torch, name, strict)
