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


RECURRENT: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "LSTM": ("LSTM", (5, 8, 2), {}),
    "LSTM both ways": ("LSTM", (5, 8, 2), {"bidirectional": True, "batch_first": True}),
    "GRU": ("GRU", (5, 8, 2), {}),
    "GRU both ways": ("GRU", (5, 8), {"bidirectional": True}),
}
CELLS: dict[str, tuple[str, dict[str, Any]]] = {
    "LSTMCell": ("LSTMCell", {}),
    "GRUCell": ("GRUCell", {}),
    "RNNCell": ("RNNCell", {}),
    "RNNCell of relu": ("RNNCell", {"nonlinearity": "relu"}),
}


def both(torch: Any, name: str, *args: Any, **options: Any) -> tuple[Any, Any]:
    """A layer of ours and PyTorch's with the same weights, both quantized."""
    theirs = torch.nn.Sequential(getattr(torch.nn, name)(*args, **options))
    ours = nn.Sequential(getattr(nn, name)(*args, **options))
    ours.load_state_dict({k: wengert.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    quantized = torch.ao.quantization.quantize_dynamic(theirs)
    assert str(quantize_dynamic(ours)) == str(quantized)
    return quantize_dynamic(ours)[0], quantized[0]


def flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, tuple):
        return [array for part in result for array in flat(part)]
    return [] if result is None else [np.asarray(result.detach())]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["plain", "with states", "packed", "alone"])
@pytest.mark.parametrize("name", RECURRENT)
def test_quantized_recurrent_layers_are_as_pytorchs(torch: Any, name: str, form: str) -> None:
    kind, args, options = RECURRENT[name]
    ours, theirs = both(torch, kind, *args, **options)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 5) if form == "alone" else (6, 6, 5)).astype(np.float32)
    layers = theirs.num_layers * (1 + theirs.bidirectional)
    states = [rng.standard_normal((layers, 6, 8)).astype(np.float32) for _ in range(2)]

    def run(library: Any, module: Any) -> Any:
        given = library.from_numpy(x)
        h, c = map(library.from_numpy, states)
        if form == "packed":
            utils, lengths = library.nn.utils.rnn, [6, 3, 3, 2, 1, 1]
            given = utils.pack_padded_sequence(given, lengths, module.batch_first)
        if form in ("plain", "alone"):
            return module(given)
        return module(given, (h, c) if kind == "LSTM" else h)

    if form == "alone":
        expected = run(torch, lambda x: theirs(x.unsqueeze(0 if theirs.batch_first else 1)))
        found = run(wengert, ours)
        for mine, other in zip(flat(found), flat(expected), strict=True):
            np.testing.assert_allclose(mine, other.reshape(mine.shape), rtol=0, atol=2e-5)
        return
    for mine, other in zip(flat(run(wengert, ours)), flat(run(torch, theirs)), strict=True):
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=0, atol=2e-5)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CELLS)
def test_quantized_cells_are_as_pytorchs(torch: Any, name: str) -> None:
    kind, options = CELLS[name]
    ours, theirs = both(torch, kind, 5, 8, **options)
    rng = np.random.default_rng(0)
    x, h, c = (rng.standard_normal((4, n)).astype(np.float32) for n in (5, 8, 8))

    def run(library: Any, module: Any) -> list[np.ndarray]:
        a, b, d = map(library.from_numpy, (x, h, c))
        state = (b, d) if kind == "LSTMCell" else b
        return [*flat(module(a)), *flat(module(a, state))]

    for mine, other in zip(run(wengert, ours), run(torch, theirs), strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=2e-5)
    for bad in (wengert.ones(4, 6), wengert.ones(4, 5).double(), wengert.ones(1, 1, 5)):
        with pytest.raises((RuntimeError, ValueError)):
            ours(bad)


def test_layers_without_biases_have_biases_of_zero() -> None:
    plain = nn.Sequential(nn.LSTM(5, 8, bias=False), nn.Linear(3, 4, bias=False))
    like = nn.Sequential(nn.LSTM(5, 8), nn.Linear(3, 4))
    like.load_state_dict(plain.state_dict(), strict=False)
    for name, p in like.named_parameters():
        if "bias" in name:
            nn.init.zeros_(p)
    x = wengert.randn(3, 2, 5)
    ours, theirs = (quantize_dynamic(m)[0](x)[0] for m in (plain, like))
    assert wengert.equal(ours, theirs)


def test_what_cannot_be_quantized_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="proj_size"):
        quantize_dynamic(nn.Sequential(nn.LSTM(2, 3, proj_size=2)))
    assert type(quantize_dynamic(nn.Sequential(nn.RNN(2, 3)))[0]) is nn.RNN  # as in PyTorch
    with pytest.raises(NotImplementedError, match=r"must be torch\.qint8, got torch\.float16"):
        quantize_dynamic(nn.Sequential(), dtype=wengert.float16)
    layer = quantize_dynamic(nn.Sequential(nn.Linear(4, 2)))[0]
    for bad in (wengert.ones(4), wengert.ones(1, 4).double(), wengert.ones(1, 3)):
        with pytest.raises(RuntimeError):
            layer(bad)
    with pytest.raises(RuntimeError, match=r"weights of torch\.float32"):
        quantize_dynamic(nn.Sequential(nn.Linear(4, 2, dtype=wengert.float64)))
