"""Dropout: which elements fall is chance; how many, how large the others are, is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.nn import functional


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_elements_are_zero_or_scaled(p: float) -> None:
    wengert.manual_seed(0)
    out = functional.dropout(wengert.ones(100, 100), p).numpy()
    np.testing.assert_allclose(np.unique(out), [0, 1 / (1 - p)], rtol=1e-6)
    assert abs((out == 0).mean() - p) < 0.02


def test_the_gradient_passes_where_elements_stay() -> None:
    x = wengert.ones(50, 50, requires_grad=True)
    out = functional.dropout(x, 0.3)
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), out.detach().numpy())


def test_dropout_is_its_own_second_derivative_s_adjoint() -> None:
    x = wengert.ones(20, requires_grad=True, dtype=wengert.float64)
    g = wengert.ones(20, requires_grad=True, dtype=wengert.float64)
    out = functional.dropout(x, 0.5)
    (first,) = wengert.autograd.grad(out, x, g, create_graph=True)
    (second,) = wengert.autograd.grad(first.sum(), g)
    np.testing.assert_array_equal(second.numpy(), out.detach().numpy())


def test_the_same_seed_drops_the_same() -> None:
    masks = []
    for _ in range(2):
        wengert.manual_seed(7)
        masks.append(functional.dropout(wengert.ones(30)).numpy())
    np.testing.assert_array_equal(*masks)


def test_nothing_is_drawn_when_nothing_can_fall() -> None:
    wengert.manual_seed(7)
    before = wengert.get_rng_state()
    x = wengert.ones(3)
    assert functional.dropout(x, 0.0) is x
    assert functional.dropout(x, 0.5, training=False) is x
    assert (wengert.get_rng_state() == before).all()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "shape", "told"),
    [
        ("dropout2d", (2, 3, 4), "Received a 3D input to dropout2d and assuming that channel-wise"),
        ("dropout2d", (2, 3), "Received a 2-D input to dropout2d, which is deprecated"),
        ("dropout2d", (1, 2, 2, 2, 2), "Received a 5-D input to dropout2d, which is deprecated"),
        ("dropout3d", (2, 3), "Received a 2-D input to dropout3d, which is deprecated"),
    ],
)
def test_channels_that_are_elsewhere_than_one_thinks(torch, name, shape, told) -> None:
    for library in (wengert, torch):
        with pytest.warns(UserWarning, match=told):
            getattr(library.nn.functional, name)(library.ones(shape), 0.5)


CHANNELS = [("dropout1d", (40, 30, 6)), ("dropout2d", (40, 30, 3, 2)), ("dropout2d", (40, 30, 6)),
            ("dropout3d", (40, 30, 3, 1, 2)), ("dropout1d", (900, 6)),
            ("dropout3d", (900, 3, 1, 2))]  # fmt: skip


@pytest.mark.filterwarnings("ignore:dropout2d. Received a 3D input")
@pytest.mark.parametrize(("name", "shape"), CHANNELS)
def test_whole_channels_fall(name: str, shape: tuple[int, ...]) -> None:
    wengert.manual_seed(0)
    out = getattr(functional, name)(wengert.ones(*shape), 0.5).numpy().reshape(-1, 6)
    assert set(out.sum(1)) == {0, 12}
    assert abs((out == 0).mean() - 0.5) < 0.05


@pytest.mark.parametrize("inplace", [False, True])
def test_alpha_dropout_keeps_mean_and_variance(inplace: bool) -> None:
    wengert.manual_seed(0)
    x = wengert.randn(200, 200, dtype=wengert.float64)
    out = functional.alpha_dropout(x, 0.4, training=True, inplace=inplace)
    assert (out is x) == inplace
    assert abs(out.mean().item()) < 0.02
    assert abs(out.var().item() - 1) < 0.03


def test_feature_alpha_dropout_takes_whole_channels() -> None:
    wengert.manual_seed(0)
    out = functional.feature_alpha_dropout(wengert.ones(20, 20, 5), 0.5, training=True)
    values = out.numpy().reshape(-1, 5)
    assert (values == values[:, :1]).all()
    assert len(np.unique(values.round(5))) == 2


def test_in_place() -> None:
    x = wengert.ones(50, requires_grad=True)
    y = x * 1
    out = functional.dropout(y, 0.5, inplace=True)
    assert out is y
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        functional.dropout(x, 0.5, inplace=True)


@pytest.mark.torch
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_attention_drops_weights(p: float, torch: Any) -> None:
    wengert.manual_seed(0)
    q = wengert.zeros(1, 64, 4)
    out = functional.scaled_dot_product_attention(q, q, wengert.ones(1, 64, 1), dropout_p=p)
    expected = torch.nn.functional.scaled_dot_product_attention(
        torch.zeros(1, 64, 4), torch.zeros(1, 64, 4), torch.ones(1, 64, 1), dropout_p=0.0
    ).mean().item() * (p < 1)  # fmt: skip
    assert abs(out.mean().item() - expected) < 0.1
