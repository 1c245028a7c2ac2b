"""`linear_cross_entropy` and its module against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn as nn  # loads what is compared

RNG = np.random.default_rng(0)
X, TARGET = RNG.standard_normal((4, 5)), RNG.integers(0, 7, (4, 2, 3))


@pytest.mark.torch
@pytest.mark.parametrize("kwargs", [
    {}, {"reduction": "sum"}, {"reduction": "none"}, {"label_smoothing": 0.1}, {"ignore_index": 3},
])  # fmt: skip
@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_values_and_gradients(torch: Any, kwargs: dict[str, Any], shape: tuple[int, ...]) -> None:
    weights = RNG.standard_normal((7, *shape, 5))
    bias = RNG.standard_normal((7, *shape))
    found = []
    for library in (wengert, torch):
        x = library.from_numpy(X.copy()).requires_grad_(True)
        w = library.from_numpy(weights.copy()).requires_grad_(True)
        b = library.from_numpy(bias.copy()).requires_grad_(True)
        t = library.from_numpy((TARGET if shape else TARGET[:, 0, 0]).copy())
        loss = library.nn.functional.linear_cross_entropy(x, w, t, linear_bias=b, **kwargs)
        loss.sum().backward()
        found.append([a.detach().numpy() for a in (loss, x.grad, w.grad, b.grad)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, 1e-10, 1e-12)


@pytest.mark.torch
def test_one_sample_and_probabilities(torch: Any) -> None:
    weights, shares = RNG.standard_normal((7, 5)), RNG.uniform(size=(4, 7))
    found = []
    for library in (wengert, torch):
        x, w = library.from_numpy(X.copy()), library.from_numpy(weights.copy())
        functional = library.nn.functional
        one = functional.linear_cross_entropy(x[0], w, library.tensor(3))
        found.append(
            [one.item(), functional.linear_cross_entropy(x, w, library.from_numpy(shares)).item()]
        )
    assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.torch
def test_module(torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        library.manual_seed(0)
        loss = library.nn.LinearCrossEntropyLoss(5, 7, out_features=(2, 3), bias=True)
        value = loss(library.from_numpy(X.copy()).float(), library.from_numpy(TARGET.copy()))
        shapes = {k: tuple(v.shape) for k, v in loss.state_dict().items()}
        found.append((repr(loss), shapes, round(value.item(), 4)))
    assert found[0] == found[1]
