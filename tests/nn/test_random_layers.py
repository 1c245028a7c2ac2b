"""Layers that draw random numbers in training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn

CHANNELWISE = [("Dropout1d", (40, 50, 3)), ("Dropout2d", (40, 50, 3, 2)),
               ("Dropout3d", (40, 50, 3, 2, 2))]  # fmt: skip


@pytest.mark.parametrize(("name", "shape"), [("Dropout", (100, 60)), *CHANNELWISE])
def test_dropout_scales_what_it_keeps(name: str, shape: tuple[int, ...]) -> None:
    wengert.manual_seed(0)
    x = wengert.ones(*shape, requires_grad=True)
    y = getattr(nn, name)(0.25)(x)
    values = y.detach().numpy()
    assert set(np.unique(values)) == {0, np.float32(1 / 0.75)}
    assert (values == 0).mean() == pytest.approx(0.25, abs=0.03)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), values)


@pytest.mark.parametrize(("name", "shape"), CHANNELWISE)
def test_whole_channels_are_dropped(name: str, shape: tuple[int, ...]) -> None:
    values = getattr(nn, name)()(wengert.ones(*shape)).numpy()
    flat = values.reshape(*shape[:2], -1)
    assert (flat == flat[..., :1]).all()


@pytest.mark.parametrize("name", ["AlphaDropout", "FeatureAlphaDropout"])
def test_alpha_dropout_keeps_mean_and_variance(name: str) -> None:
    wengert.manual_seed(0)
    x = wengert.randn(400, 100, 2)
    y = getattr(nn, name)(0.2)(x).numpy()
    assert y.mean() == pytest.approx(0, abs=0.03)
    assert y.std() == pytest.approx(1, abs=0.03)


def test_rrelu_draws_slopes_in_training() -> None:
    x = -wengert.ones(1000)
    y = -nn.RReLU(0.1, 0.3)(x).numpy()
    assert y.min() >= np.float32(0.1)
    assert y.max() <= 0.3
    assert y.mean() == pytest.approx(0.2, abs=0.01)


def test_dropout_in_place_writes_its_input() -> None:
    x = wengert.ones(100)
    assert nn.Dropout(0.5, inplace=True)(x) is x
    assert 0 in x.tolist()


@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_probabilities_are_checked(p: Any) -> None:
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1"):
        nn.Dropout(p)


def test_dropping_all_and_nothing() -> None:
    assert nn.Dropout(1.0)(wengert.ones(3)).tolist() == [0, 0, 0]
    assert nn.Dropout(0.0)(wengert.ones(3)).tolist() == [1, 1, 1]
