"""`quantize_dynamic` against PyTorch's integers, and what it refuses."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.kernels import quantization
from wengert.kernels.products import quads
from wengert.nn.dynamic_quantization import per_channel_dynamic_qconfig, quantize_dynamic

RNG = np.random.default_rng(0)
INPUTS: dict[str, np.ndarray] = {
    "normal": RNG.standard_normal((6, 300)),
    "positive": RNG.random((2, 3, 300)) + 1,
    "negative": -RNG.random((6, 300)) * 100,
    "tiny": RNG.standard_normal((6, 300)) * 1e-6,
    "zeros": np.zeros((2, 300)),
    "empty": np.zeros((0, 300)),
    "on the grid": np.arange(300.0)[None] / 4,
}


@pytest.fixture(params=["dotted", "in floats"])
def way(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the processor's instruction for bytes, and without it."""
    if request.param == "dotted" and not quads.has_quad_dots():
        pytest.skip("the processor has no instruction for bytes")
    monkeypatch.setattr(quads, "has_quad_dots", lambda: request.param == "dotted")
    return str(request.param)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated:DeprecationWarning")
@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("name", INPUTS)
def test_quantized_linear_layers_are_as_pytorchs(
    torch: Any, way: str, name: str, by_row: bool
) -> None:
    theirs = torch.nn.Sequential(torch.nn.Linear(300, 20), torch.nn.Linear(20, 4, bias=False))
    ours = nn.Sequential(nn.Linear(300, 20), nn.Linear(20, 4, bias=False))
    weight = (RNG.standard_normal((20, 300)) * np.arange(20)[:, None]).astype(np.float32)
    with torch.no_grad():
        theirs[0].weight.copy_(torch.from_numpy(weight))
    state = {k: wengert.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()}
    ours.load_state_dict(state)
    quantization = torch.ao.quantization
    config = quantization.per_channel_dynamic_qconfig if by_row else None
    spec = {torch.nn.Linear: config} if by_row else {torch.nn.Linear}
    theirs = quantization.quantize_dynamic(theirs, spec)
    ours = quantize_dynamic(ours, {nn.Linear: per_channel_dynamic_qconfig} if by_row else None)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine.weight.numpy(), other.weight().int_repr().numpy())
    x = INPUTS[name].astype(np.float32)
    out, expected = ours[0](wengert.from_numpy(x)), theirs[0](torch.from_numpy(x))
    assert out.shape == tuple(expected.shape)
    assert str(ours) == str(theirs)
    # Float32 sums, whatever their order: no integer differs.
    bound = 2e-6 * np.abs(expected.numpy()).max(initial=1e-4)
    np.testing.assert_allclose(out.numpy(), expected.numpy(), rtol=0, atol=bound)


def test_integer_products_are_exact() -> None:
    rows = RNG.choice([-127, 127], (3, 5000)).astype(np.float32)
    weight = RNG.choice([-128, 127], (4, 5000)).astype(np.int8)
    exact = rows.astype(np.int64) @ weight.astype(np.int64).T
    np.testing.assert_array_equal(quantization._in_floats(rows, weight), exact)
    extreme = quantization._in_floats(
        np.full((1, 5000), 127.0, np.float32), np.full((1, 5000), -128, "i1")
    )
    assert extreme.item() == -127 * 128 * 5000


def test_a_copy_is_quantized_and_saved(way: str) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2)))
    quantized = quantize_dynamic(model, {"2"})
    assert type(model[2][0]) is type(quantized[0]) is nn.Linear
    assert quantized[2][0].weight.dtype is wengert.int8
    other = quantize_dynamic(copy.deepcopy(model), {"2"})
    other[2][0].weight.zero_()
    other.load_state_dict(quantized.state_dict())
    x = wengert.randn(3, 4, requires_grad=True)
    assert wengert.equal(other(x), quantized(x))
    assert not quantized(x).requires_grad
    assert quantize_dynamic(model, inplace=True) is model
    assert wengert.isnan(model(wengert.full((1, 4), float("nan")))).all()


def test_what_cannot_be_quantized_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="'0' is a LSTM"):
        quantize_dynamic(nn.Sequential(nn.LSTM(2, 3)))
    with pytest.raises(NotImplementedError, match=r"must be torch\.qint8, got torch\.float16"):
        quantize_dynamic(nn.Sequential(), dtype=wengert.float16)
    layer = quantize_dynamic(nn.Sequential(nn.Linear(4, 2)))[0]
    for bad in (wengert.ones(4), wengert.ones(1, 4).double(), wengert.ones(1, 3)):
        with pytest.raises(RuntimeError):
            layer(bad)
    with pytest.raises(RuntimeError, match=r"a weight of torch\.float32"):
        quantize_dynamic(nn.Sequential(nn.Linear(4, 2, dtype=wengert.float64)))
