"""Whole networks as ONNX models, for other sizes than those of the example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as w
import wengert.nn.functional as F
from tests.onnx.runtime import assert_exported, onnx
from wengert import nn


@pytest.fixture(autouse=True)
def _seeded() -> None:
    w.manual_seed(0)


def test_mlp() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 2))
    axes = {"input": {0: "batch"}}
    assert_exported(net, (w.randn(3, 4),), (w.randn(7, 4),), (w.randn(1, 4),), dynamic_axes=axes)


def test_lenet() -> None:
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3), nn.ReLU(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8 * 5 * 5, 10), nn.LogSoftmax(1),
    )  # fmt: skip
    x = w.randn(1, 1, 28, 28)
    assert_exported(net, (x,), (w.randn(4, 1, 28, 28),), dynamic_axes={"input": [0]})


class ResidualBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 8, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.other = nn.BatchNorm2d(8)
        self.short = nn.Conv2d(4, 8, 1, stride=2)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        y = F.relu(self.norm(self.first(x)), inplace=True)
        y = self.other(self.second(y))
        y += self.short(x)
        return self.head(F.adaptive_avg_pool2d(y.relu_(), 1).flatten(1))


def test_residual_block_at_other_sizes() -> None:
    net = ResidualBlock()
    net(w.randn(8, 4, 9, 9))  # running statistics of their own
    shapes = ({0: "n", 2: "h", 3: "w"},)
    inputs = [(w.randn(s),) for s in ((2, 4, 9, 8), (1, 4, 12, 7), (3, 4, 5, 5))]
    assert_exported(net, *inputs, dynamic_shapes=shapes)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(1, 4, 3, padding=1)
        self.deep = nn.Conv2d(4, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.out = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x: Any) -> Any:
        a = F.relu(self.down(x))
        b = F.relu(self.deep(F.max_pool2d(a, 2)))
        resized = F.interpolate(b, size=x.shape[2:], mode="bilinear", align_corners=False)
        return self.out(w.cat([a, self.up(b)], 1)), resized.flatten(1)


def test_unet_at_other_sizes() -> None:
    axes = {"x": {0: "n", 2: "h", 3: "w"}}
    inputs = [(w.randn(s),) for s in ((1, 1, 8, 8), (2, 1, 12, 6), (1, 1, 2, 4))]
    program = assert_exported(UNet(), *inputs, dynamic_axes=axes)
    dims = program.model_proto.graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in dims] == ["n", 1, "h", "w"]


def test_transformer_encoder() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    net = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    inputs = [(w.randn(s),) for s in ((2, 5, 8), (3, 9, 8), (1, 1, 8))]
    assert_exported(net, *inputs, dynamic_axes={"src": {0: "batch", 1: "time"}})


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Any, padding: Any) -> Any:
        return self.attention(x, x, x, key_padding_mask=padding, need_weights=False)[0]


def test_attention_with_padding() -> None:
    padding = w.zeros(2, 5, dtype=w.bool)
    padding[0, 3:] = True
    other = w.zeros(2, 5, dtype=w.bool)
    other[1, 1:] = True
    assert_exported(Masked(), (w.randn(2, 5, 8), padding), (w.randn(2, 5, 8), other))


class Block(nn.Module):
    """A GPT block, with its mask as a buffer or by its attention."""

    def __init__(self, vocabulary: int = 11, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(32, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm, self.heads = nn.LayerNorm(width), heads
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        self.register_buffer("mask", w.tril(w.ones(32, 32)).view(1, 1, 32, 32))

    def forward(self, tokens: Any) -> Any:
        b, t = tokens.size()
        x = self.tokens(tokens) + self.places(w.arange(0, t))
        parts = self.qkv(self.norm(x)).split(x.size(-1), dim=2)
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in parts)
        scores = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v + F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(b, t, -1))
        return self.head(F.gelu(x))


def test_gpt_block() -> None:
    inputs = [(w.randint(0, 11, s),) for s in ((2, 5), (3, 9), (1, 1), (1, 32))]
    axes = {"tokens": {0: "batch", 1: "time"}}
    program = assert_exported(Block(), *inputs, dynamic_axes=axes, output_names=["logits"])
    graph = program.model_proto.graph
    assert [x.name for x in graph.output] == ["logits"]
    dims = graph.output[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in dims] == ["batch", "time", 11]


class LanguageModel(nn.Module):
    """As in PyTorch's example word_language_model."""

    def __init__(self, kind: str = "LSTM", words: int = 13, width: int = 6) -> None:
        super().__init__()
        self.drop, self.encoder = nn.Dropout(0.5), nn.Embedding(words, width)
        self.rnn = getattr(nn, kind)(width, width, 2, dropout=0.5)
        self.decoder, self.words = nn.Linear(width, words), words

    def forward(self, input: Any, hidden: Any) -> Any:
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.words)
        return F.log_softmax(decoded, dim=1), hidden


def test_language_model_to_a_file(tmp_path: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    model, path = LanguageModel(), tmp_path / "model.onnx"
    model.eval()
    hidden = (w.randn(2, 1, 6), w.randn(2, 1, 6))
    dummy_input = w.LongTensor(4).zero_().view(-1, 1)
    w.onnx.export(model, (dummy_input, hidden), str(path))
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [x.name for x in session.get_inputs()]
    assert names == ["input", "hidden_0", "hidden_1"]
    tokens = w.randint(0, 13, (4, 1))
    arrays = [x.numpy() for x in (tokens, *hidden)]
    results = session.run(None, dict(zip(names, arrays, strict=True)))
    with w.no_grad():
        out, (h, c) = model(tokens, hidden)
    for own, expected in zip(results, (out, h, c), strict=True):
        np.testing.assert_allclose(own, expected.numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("names", [True, False])
def test_language_model_at_other_sizes(names: bool) -> None:
    first = (w.randint(0, 13, (5, 3)), (w.randn(2, 3, 6), w.randn(2, 3, 6)))
    other = (w.randint(0, 13, (8, 4)), (w.randn(2, 4, 6), w.randn(2, 4, 6)))
    axes: Any = {"x": [0, 1], "h": [1], "c": [1]}
    if names:
        axes = {"x": {0: "time", 1: "batch"}, "h": {1: "batch"}, "c": {1: "batch"}}
    assert_exported(LanguageModel(), first, other, input_names=["x", "h", "c"], dynamic_axes=axes)


@pytest.mark.parametrize("kind", ["GRU", "RNN"])
def test_other_recurrent_language_models(kind: str) -> None:
    args = (w.randint(0, 13, (5, 3)), w.randn(2, 3, 6))
    assert_exported(LanguageModel(kind), args, (w.randint(0, 13, (5, 3)), w.randn(2, 3, 6)))


@pytest.mark.parametrize(
    "layer",
    [
        nn.LSTM(3, 5, 2, bidirectional=True),
        nn.LSTM(3, 5, batch_first=True, bias=False),
        nn.GRU(3, 5, 2, bidirectional=True, batch_first=True),
        nn.RNN(3, 5, nonlinearity="relu", bidirectional=True),
    ],
    ids=lambda layer: f"{layer}",
)
def test_recurrent_layers(layer: Any) -> None:
    axes = {"input": {0: "a", 1: "b"}}
    assert_exported(layer, (w.randn(4, 2, 3),), (w.randn(6, 5, 3),), dynamic_axes=axes)


def test_mode_and_state_of_the_module_stay() -> None:
    net = ResidualBlock()
    mean = net.norm.running_mean.clone()
    w.onnx.export(net, (w.randn(2, 4, 8, 8),))
    assert net.training
    assert net.norm.training
    assert w.equal(net.norm.running_mean, mean)


@pytest.mark.torch
def test_names_are_pytorchs(torch: Any) -> None:
    """Those of the inputs, the outputs and the parameters, and their shapes."""
    pytest.importorskip("onnxscript", reason="PyTorch's exporter needs onnxscript")

    def shown(values: Any) -> list[Any]:
        kinds = [x.type.tensor_type for x in values]
        dims = [[d.dim_param or d.dim_value for d in k.shape.dim] for k in kinds]
        return [(x.name, k.elem_type, d) for x, k, d in zip(values, kinds, dims, strict=True)]

    options = {
        "input_names": ["x"], "output_names": ["y"], "dynamic_shapes": {"input": {0: "batch"}},
    }  # fmt: skip
    own = w.onnx.export(nn.Linear(3, 2), (w.ones(4, 3),), **options).model_proto
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = torch.onnx.export(
            torch.nn.Linear(3, 2), (torch.ones(4, 3),), verbose=False, **options
        ).model_proto
    assert shown(own.graph.input) == shown(other.graph.input)
    assert shown(own.graph.output) == shown(other.graph.output)
    parameters = [sorted(x.name for x in m.graph.initializer) for m in (own, other)]
    assert parameters[0] == parameters[1] == ["bias", "weight"]
    assert onnx.checker.check_model(own) is None
