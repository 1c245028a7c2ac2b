"""Each family of operations as nodes of ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import wengert as w
import wengert.nn.functional as F
from tests.onnx.runtime import Of, assert_exported
from wengert import nn


def name_of(value: Any) -> str:
    return str(value)[:60]


POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "acosh", "reciprocal")
UNARY = [
    *POSITIVE, "abs", "asin", "asinh", "atan", "ceil", "cos", "cosh", "deg2rad", "erf", "erfc",
    "exp", "exp2", "expm1", "floor", "frac", "isfinite", "isinf", "isnan", "nan_to_num", "neg",
    "rad2deg", "round", "sigmoid", "sign", "sin", "sinh", "square", "tan", "tanh", "trunc",
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_each_element(name: str) -> None:
    x = w.linspace(1.1, 3, 12) if name in POSITIVE else w.linspace(-0.95, 0.95, 12)
    assert_exported(Of(getattr(w, name)), (x,), (x * 0.999,))


ACTIVATIONS = [
    nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.ELU(0.5), nn.LeakyReLU(0.2), nn.Softplus(2),
    nn.Hardswish(), nn.Mish(), nn.Hardsigmoid(), nn.ReLU6(), nn.SELU(), nn.CELU(0.7),
    nn.LogSigmoid(), nn.Softsign(), nn.Softshrink(), nn.Hardshrink(), nn.Tanhshrink(), nn.PReLU(4),
    nn.Threshold(0.1, 2.0), nn.Hardtanh(), nn.GLU(), nn.LogSoftmax(1), nn.Softmax(0), nn.Softmin(1),
    nn.Dropout(),
]  # fmt: skip


@pytest.mark.parametrize("module", ACTIVATIONS, ids=name_of)
def test_activations(module: Any) -> None:
    assert_exported(module, (w.randn(3, 4),), (w.randn(3, 4) * 30,))


LAYERS: list[tuple[Any, tuple[int, ...]]] = [
    (nn.Conv1d(4, 8, 3, padding=1, groups=2), (2, 4, 9)),
    (nn.Conv2d(4, 4, 3, groups=4, stride=2, dilation=2, padding="valid"), (2, 4, 9, 9)),
    (nn.Conv2d(4, 2, 4, padding="same"), (2, 4, 9, 9)),
    (nn.Conv2d(4, 2, 3), (4, 9, 9)),
    (nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"), (1, 2, 5, 5)),
    (nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 4)),
    (nn.ConvTranspose1d(2, 3, 3, stride=2, output_padding=1), (1, 2, 5)),
    (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, groups=2, output_padding=1), (1, 4, 5, 5)),
    (nn.ConvTranspose3d(2, 2, 2), (1, 2, 3, 3, 3)),
    (nn.MaxPool1d(2), (1, 2, 7)),
    (nn.MaxPool2d(3, 2, 1, ceil_mode=True), (1, 2, 8, 8)),
    (nn.MaxPool2d(2, return_indices=True), (2, 2, 8, 8)),
    (nn.MaxPool3d(2, dilation=2), (1, 1, 6, 6, 6)),
    (nn.AvgPool1d(3, 1, 1), (1, 2, 8)),
    (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (1, 2, 8, 8)),
    (nn.AvgPool2d(2, divisor_override=3), (2, 8, 8)),
    (nn.AdaptiveAvgPool2d(1), (1, 2, 8, 8)),
    (nn.AdaptiveAvgPool2d((3, 5)), (1, 2, 8, 8)),
    (nn.AdaptiveMaxPool2d(2), (1, 2, 8, 8)),
    (nn.LPPool2d(2, 2), (1, 2, 8, 8)),
    (nn.LayerNorm(6), (2, 3, 6)),
    (nn.LayerNorm((3, 6), elementwise_affine=False), (2, 3, 6)),
    (nn.GroupNorm(2, 4), (2, 4, 5, 5)),
    (nn.InstanceNorm2d(3, affine=True), (2, 3, 5, 5)),
    (nn.InstanceNorm1d(3), (2, 3, 5)),
    (nn.RMSNorm(6), (2, 3, 6)),
    (nn.BatchNorm1d(4), (5, 4)),
    (nn.BatchNorm2d(3, track_running_stats=False), (2, 3, 4, 4)),
    (nn.LocalResponseNorm(2), (1, 4, 3, 3)),
    (nn.Upsample(scale_factor=2), (1, 2, 4, 4)),
    (nn.Upsample(scale_factor=1.5), (1, 2, 5, 5)),
    (nn.Upsample(size=(7, 3), mode="nearest-exact"), (1, 2, 4, 4)),
    (nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 4, 4)),
    (nn.Upsample(size=(7, 9), mode="bilinear", align_corners=True), (1, 2, 4, 4)),
    (nn.Upsample(scale_factor=2, mode="linear"), (1, 2, 4)),
    (nn.Upsample(scale_factor=2, mode="bicubic"), (1, 2, 6, 6)),
    (nn.PixelShuffle(2), (1, 8, 3, 3)),
    (nn.ZeroPad2d((1, 2, 0, 1)), (1, 2, 3, 3)),
    (nn.ReflectionPad2d(1), (1, 2, 4, 4)),
    (nn.ReplicationPad1d(2), (1, 2, 4)),
    (nn.CircularPad2d(1), (1, 1, 4, 4)),
    (nn.MultiheadAttention(8, 2), (5, 2, 8)),
    (nn.LSTMCell(3, 5), (4, 3)),
    (nn.GRUCell(3, 5), (4, 3)),
]


@pytest.mark.parametrize(("module", "shape"), LAYERS, ids=name_of)
def test_layers(module: Any, shape: tuple[int, ...]) -> None:
    count = 3 if isinstance(module, nn.MultiheadAttention) else 1
    options = {"opset_version": 19} if isinstance(module, nn.CircularPad2d) else {}
    inputs = [tuple(w.randn(shape) for _ in range(count)) for _ in range(2)]
    assert_exported(module, *inputs, tolerance=2e-5, **options)


def writes(x: Any) -> Any:
    h = w.zeros(2, 3)
    h[:, 0] = x[:2, 0]
    view = h[1]
    view += 1
    h[:, 1:] += x[:2, :2]
    y = h * 2
    h.mul_(3)
    return h, y, view


def writes_to_parts(x: Any) -> Any:
    x = x.clone()
    a, b = x.split([1, 2], 1)
    a += 1
    b.zero_()
    x.masked_fill_(x < 0, 0.5)
    return x, a, b


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x: (2 - x, 2 / x, x**3, 2**x, x.pow(2), x.fmod(0.7), x % 0.7, x // 0.5),
    "integers": lambda x: (x.long() // 2, (x * 9).long() % 4, x.long() + 1.5, x.long() / 2),
    "comparisons": lambda x: (x > 0, x <= 0.1, x == x, x != x, (x > 0) & (x < 1), ~(x > 0), x > 0),
    "choices": lambda x: (w.where(x > 0, x, 0.0), x.clamp(-0.5, 1), x.clamp(min=0), x.maximum(-x)),
    "other elements": lambda x: (w.lerp(x, -x, 0.3), w.hypot(x, x), w.logaddexp(x, x * 2)),
    "fused": lambda x: (w.addcmul(x, x, x, value=2), w.addcdiv(x, x, x.exp())),
    "dtypes": lambda x: (x.to(w.int64), x.double(), (x > 0).float(), x.half().float(), x.bool()),
    "sums": lambda x: (x.sum(), x.sum(0), x.mean((0, 1)), (x > 0).sum(), x.prod(1), x.cumsum(1)),
    "statistics": lambda x: (x.var(), x.std(1), x.var(0, unbiased=False), x.logsumexp(1)),
    "norms": lambda x: (x.norm(), x.norm(p=1, dim=1), x.norm(p=3.0), F.normalize(x)),
    "extrema": lambda x: (x.amax(), x.amin(1), x.max(), *x.max(1), *x.min(0, keepdim=True)),
    "places": lambda x: (x.argmax(), x.argmin(1, keepdim=True), *x.topk(2), *x.sort(0)),
    "truths": lambda x: ((x > 0).any(), (x > 0).all(1), x.count_nonzero()),
    "views": lambda x: (x.t(), x.mT, x.flatten(), x.view(-1), x.unsqueeze(1).squeeze(), x[None]),
    "orders": lambda x: (x.permute(1, 0), x.movedim(0, 1), x.flip(0), x.roll(1, 0), x.roll(2)),
    "copies": lambda x: (x.expand(2, 3, 3), x.repeat(2, 3), w.cat([x, x + 1]), w.stack([x, x], 1)),
    "parts": lambda x: (*x.split(2, 1), *x.chunk(2), *x.unbind(1), x[0], x[..., 1:], x[::2, -1]),
    "padding": lambda x: (F.pad(x, (1, 0, 2, 1), value=3.0), F.pad(x > 0, (1, 1))),
    "triangles": lambda x: (x.tril(), x.triu(1), (x > 0).tril(), w.tril(w.ones(3, 3)) * x),
    "made": lambda x: (w.full_like(x, 3), w.ones_like(x), x.new_zeros(2), w.arange(3) + x),
    "indices": lambda x: (x[w.tensor([2, -1])], x[:, w.tensor([0])], x[[0, 1], [1, 2]]),
    "indices of the input": lambda x: (x[x.argmax(1)], x.gather(1, x.argsort(1))),
    "rows": lambda x: x.index_select(0, x.argmax(1)),
    "scattering": lambda x: (x.scatter(1, x.argsort(1), 1.0), x.scatter_add(0, x.argsort(0), x)),
    "labels": lambda x: (F.one_hot(x.argmax(1), 4), F.embedding(x.argmax(1), w.ones(3, 2))),
    "products": lambda x: (x @ x, x @ x[0], x[0] @ x[1], w.outer(x[0], x[1]), x[None].bmm(x[None])),
    "sums of products": lambda x: (w.addmm(x, x, x, beta=0.5, alpha=2), w.baddbmm(*[x[None]] * 3)),
    "einsum": lambda x: (w.einsum("ij,jk->ik", x, x), w.einsum("ij->ji", x), w.einsum("ii->i", x)),
    "other products": lambda x: (w.kron(x, x[:2]), x.trace(), w.inner(x[0], x[1]), x.diagonal()),
    "slices scaled down": lambda x: (x.renorm(2, 0, 1.0), x.renorm(1, 1, 0.5), x.renorm(3, 0, 9)),
    "losses": lambda x: (F.mse_loss(x, -x), F.l1_loss(x, -x)),
    "attention": lambda x: F.scaled_dot_product_attention(
        x[None], x[None], x[None], attn_mask=w.ones(3, 3).triu().bool()
    ),
    "writes": writes,
    "writes to parts": writes_to_parts,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    w.manual_seed(0)
    assert_exported(Of(FUNCTIONS[name]), (w.randn(3, 3),), (w.randn(3, 3),))


def test_float64() -> None:
    assert_exported(nn.Linear(3, 2).double(), (w.randn(2, 3).double(),), tolerance=1e-12)


@pytest.mark.parametrize(
    "module",
    [
        nn.LayerNorm(6), nn.RMSNorm(6), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True),
        nn.BatchNorm2d(4), nn.BatchNorm2d(4, track_running_stats=False),
    ],
    ids=name_of,
)  # fmt: skip
def test_normalisation_of_halves_beside_float32(module: Any) -> None:
    assert_exported(module, (w.randn(2, 4, 5, 6).half(),), tolerance=1e-3)
