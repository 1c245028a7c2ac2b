"""nn.init: distributions, exact patterns, seeds, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.parity import array
from wengert.nn import init

# What both libraries draw from the same seed: a call and the shape it fills.
DRAWN: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("uniform_", {"a": -2.0, "b": 3.0}, (4, 5)),
    ("normal_", {"mean": 1.0, "std": 2.0}, (4, 5)),
    ("normal_", {}, (3,)),
    ("trunc_normal_", {}, (40, 5)),
    ("trunc_normal_", {"std": 0.02}, (40, 5)),
    ("trunc_normal_", {"mean": 1.0, "a": 2.5, "b": 3.0}, (40, 5)),
    ("xavier_uniform_", {"gain": 2.0}, (4, 5)),
    ("xavier_normal_", {}, (4, 5, 3)),
    ("kaiming_uniform_", {"a": math.sqrt(5)}, (4, 5)),
    ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}, (4, 5, 3, 3)),
    ("kaiming_normal_", {"nonlinearity": "tanh"}, (4, 5)),
    ("orthogonal_", {"gain": 2.0}, (4, 4)),
    ("orthogonal_", {}, (3, 7)),
    ("orthogonal_", {}, (7, 3)),
    ("orthogonal_", {}, (6, 3, 4)),
    ("sparse_", {"sparsity": 0.3}, (9, 4)),
]


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options", "shape"), DRAWN)
def test_same_seed_same_values(
    name: str, options: dict[str, Any], shape: tuple[int, ...], dtype: str, torch: Any
) -> None:
    results = []
    for library in (wengert, torch):
        library.manual_seed(7)
        t = library.zeros(shape, dtype=getattr(library, dtype))
        assert getattr(library.nn.init, name)(t, **options) is t
        results.append(array(t))
    np.testing.assert_allclose(*results, rtol=2e-5, atol=2e-6)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda init, t: init.constant_(t, 0.3), (2, 3)),
        (lambda init, t: init.ones_(t), (2, 3)),
        (lambda init, t: init.zeros_(t + 1), (2, 3)),
        (lambda init, t: init.eye_(t), (2, 3)),
        (lambda init, t: init.dirac_(t), (3, 2, 3)),
        (lambda init, t: init.dirac_(t, 2), (4, 2, 3, 2)),
        (lambda init, t: init.dirac_(t, groups=3), (6, 2, 3, 3, 3)),
    ],
)
def test_patterns(call: Callable[[Any, Any], Any], shape: tuple[int, ...], torch: Any) -> None:
    ours, theirs = (call(lib.nn.init, lib.zeros(shape)) for lib in (wengert, torch))
    np.testing.assert_array_equal(array(ours), array(theirs))


@pytest.mark.parametrize(
    ("fill", "low", "high", "std"),
    [
        (lambda t: init.uniform_(t, -2, 3), -2, 3, 5 / math.sqrt(12)),
        (lambda t: init.normal_(t, 0, 2), -math.inf, math.inf, 2),
        (lambda t: init.trunc_normal_(t), -2, 2, 0.8796),
        (lambda t: init.xavier_uniform_(t), -0.2, 0.2, 0.2 / math.sqrt(3)),
        (lambda t: init.xavier_normal_(t), -math.inf, math.inf, math.sqrt(2 / 150)),
        (lambda t: init.kaiming_uniform_(t, a=math.sqrt(5)), -0.1, 0.1, 0.1 / math.sqrt(3)),
        (lambda t: init.kaiming_normal_(t, mode="fan_out"), -math.inf, math.inf, 0.2),
    ],
)
def test_distributions(fill: Callable[[Any], Any], low: float, high: float, std: float) -> None:
    wengert.manual_seed(0)
    values = fill(wengert.empty(50, 100)).numpy()
    assert values.min() >= low
    assert values.max() <= high
    assert abs(values.mean() - (low + high) / 2 if math.isfinite(low) else values.mean()) < 0.1
    assert values.std() == pytest.approx(std, rel=0.03)


def test_orthogonal_is() -> None:
    w = init.orthogonal_(wengert.empty(5, 8, dtype=wengert.float64)).numpy()
    np.testing.assert_allclose(w @ w.T, np.eye(5), atol=1e-12)


def test_generators_are_used() -> None:
    def draw() -> list[float]:
        g = wengert.Generator().manual_seed(1)
        return init.uniform_(wengert.empty(3), generator=g).tolist()

    assert draw() == draw()


def test_parameters_are_filled_unrecorded_and_stamped() -> None:
    w = wengert.ones(2, 2, requires_grad=True)
    loss = (w * w).sum()
    init.zeros_(w)
    assert w.is_leaf
    with pytest.raises(RuntimeError, match="zeros_"):
        loss.backward()


@pytest.mark.torch
def test_gains(torch: Any) -> None:
    for name in ("linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "selu"):
        assert init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    for slope in (None, 0.3, 2):
        theirs = torch.nn.init.calculate_gain("leaky_relu", slope)
        assert init.calculate_gain("leaky_relu", slope) == theirs


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: init.calculate_gain("x"), "Unsupported nonlinearity x"),
        (lambda: init.calculate_gain("leaky_relu", True), "not a valid number"),
        (lambda: init.xavier_uniform_(wengert.zeros(3)), "fewer than 2 dimensions"),
        (lambda: init.kaiming_normal_(wengert.zeros(3, 3), mode="x"), "Mode x not supported"),
        (lambda: init.eye_(wengert.zeros(3)), "Only tensors with 2 dimensions"),
        (lambda: init.sparse_(wengert.zeros(3), 0.1), "Only tensors with 2 dimensions"),
        (lambda: init.dirac_(wengert.zeros(3, 3)), "Only tensors with 3, 4, or 5 dimensions"),
        (lambda: init.dirac_(wengert.zeros(3, 3, 3), 2), "dim 0 must be divisible by groups"),
        (lambda: init.orthogonal_(wengert.zeros(3)), "Only tensors with 2 or more dimensions"),
    ],
)
def test_errors(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_warnings() -> None:
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_uniform_(wengert.empty(0, 3))
    with pytest.warns(UserWarning, match="mean is more than 2 std"):
        init.trunc_normal_(wengert.empty(10), mean=5.0, b=2.0)
    with pytest.warns(FutureWarning, match=r"`nn.init.normal` is now deprecated"):
        init.normal(wengert.empty(3))
