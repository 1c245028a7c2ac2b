"""One row for each way in which a layer is made: arguments, and inputs to call it on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Inputs = Callable[[Any], tuple[Any, ...]]


class Row(NamedTuple):
    """`nn.<name>(*args, **options)`, called with what `inputs(torch)` returns."""

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    inputs: Inputs
    random: bool = False  # in training
    rtol: float = 1e-9  # of gradients


def floats(*shapes: tuple[int, ...]) -> Inputs:
    """Inputs that want gradients, normally distributed."""
    return lambda torch: tuple(
        torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes
    )


def row(name: str, *args: Any, inputs: Inputs | tuple[int, ...] = (2, 3), **options: Any) -> Row:
    return Row(name, args, options, floats(inputs) if isinstance(inputs, tuple) else inputs)


LINE, IMAGE, VOLUME = (2, 4, 9), (2, 4, 6, 7), (2, 4, 5, 4, 6)
SPACE = {1: LINE, 2: IMAGE, 3: VOLUME}

LINEAR = [
    row("Linear", 3, 5),
    row("Linear", 3, 5, bias=False, inputs=(2, 4, 3)),
    row("Bilinear", 3, 4, 5, inputs=floats((2, 3), (2, 4))),
    row("Bilinear", 3, 4, 5, bias=False, inputs=floats((2, 3), (2, 4))),
    row("Identity", 7, unused=True),
    row("Flatten", inputs=IMAGE),
    row("Flatten", 2, 3, inputs=IMAGE),
    row("Unflatten", 1, (2, 2), inputs=IMAGE),
]

CONVOLUTION = [
    row(f"Conv{n}d", 4, 6, 3, inputs=SPACE[n], **options)
    for n in (1, 2, 3)
    for options in (
        {},
        {"bias": False, "groups": 2},
        {"stride": 2, "padding": 1},
        {"padding": "same", "dilation": 2},
        {"padding": "valid"},
        {"padding": 1, "padding_mode": "replicate"},
    )
]
CONVOLUTION += [
    row("Conv2d", 4, 6, (3, 2), stride=(1, 2), padding=(0, 1), inputs=IMAGE),
    row("Conv2d", 4, 6, 3, padding="same", padding_mode="reflect", inputs=IMAGE),
    row("Conv2d", 4, 6, 3, padding=2, padding_mode="circular", inputs=IMAGE),
]
CONVOLUTION += [
    row(f"ConvTranspose{n}d", 4, 6, 3, inputs=SPACE[n], **options)
    for n in (1, 2, 3)
    for options in (
        {},
        {"bias": False, "groups": 2},
        {"stride": 2, "padding": 1, "output_padding": 1},
        {"dilation": 2},
    )
]

POOLING = [
    row(f"{kind}Pool{n}d", 2, inputs=SPACE[n], **options)
    for kind in ("Max", "Avg")
    for n in (1, 2, 3)
    for options in ({}, {"stride": 1}, {"padding": 1, "ceil_mode": True})
]
POOLING += [
    row("AvgPool2d", (2, 3), count_include_pad=False, padding=1, inputs=IMAGE),
    row("AvgPool2d", 2, divisor_override=3, inputs=IMAGE),
    row("MaxPool2d", 2, dilation=2, inputs=IMAGE),
    row("MaxPool2d", 2, return_indices=True, inputs=IMAGE),
    row("AdaptiveAvgPool2d", (1, None), inputs=IMAGE),
    row("AdaptiveMaxPool2d", 2, return_indices=True, inputs=IMAGE),
]
POOLING += [
    row(f"Adaptive{kind}Pool{n}d", 3, inputs=SPACE[n]) for kind in ("Avg", "Max") for n in (1, 2, 3)
]


def pooled(n: int) -> Inputs:
    """What a max pooling by 2 returns."""

    def make(torch: Any) -> tuple[Any, ...]:
        pool = getattr(torch.nn, f"MaxPool{n}d")(2, return_indices=True)
        values, where = pool(*floats((2, 4, 6, 8, 4)[: n + 2])(torch))
        return values.detach().requires_grad_(), where

    return make


POOLING += [row(f"MaxUnpool{n}d", 2, inputs=pooled(n)) for n in (1, 2, 3)]
POOLING += [row(f"LPPool{n}d", p, 2, inputs=SPACE[n]) for n in (1, 2, 3) for p in (1, 4)]
POOLING += [
    row("LPPool2d", 2, (2, 3), stride=1, ceil_mode=True, inputs=IMAGE),
]

NORMALISATION = [
    row(f"{kind}Norm{n}d", 4, inputs=SPACE[n], **options)
    for kind in ("Batch", "Instance")
    for n in (1, 2, 3)
    for options in (
        {},
        {"affine": False},
        {"affine": True, "bias": False},
        {"track_running_stats": True, "momentum": 0.3},
        {"track_running_stats": False, "eps": 1e-3},
    )
]
NORMALISATION += [
    row("BatchNorm1d", 3),
    row("BatchNorm2d", 4, momentum=None, inputs=IMAGE),
    row("SyncBatchNorm", 4, inputs=IMAGE),
    row("SyncBatchNorm", 4, momentum=None, affine=False, inputs=IMAGE),
    row("InstanceNorm2d", 4, inputs=IMAGE[1:]),
    row("LayerNorm", 3),
    row("LayerNorm", (6, 7), inputs=IMAGE),
    row("LayerNorm", [7], bias=False, inputs=IMAGE),
    row("LayerNorm", 3, elementwise_affine=False, eps=1e-3),
    row("RMSNorm", 3),
    row("RMSNorm", (6, 7), eps=1e-3, inputs=IMAGE),
    row("RMSNorm", 3, elementwise_affine=False),
    row("GroupNorm", 2, 4, inputs=IMAGE),
    row("GroupNorm", 2, 4, affine=False, inputs=IMAGE),
    row("GroupNorm", 2, 4, bias=False, inputs=IMAGE),
    row("LocalResponseNorm", 2, alpha=0.1, k=2.0, inputs=IMAGE),
]

ACTIVATION = [
    row(name)
    for name in (
        "ReLU", "ReLU6", "Sigmoid", "Tanh", "Softsign", "Tanhshrink", "LogSigmoid", "GELU",
        "LeakyReLU", "SiLU", "Mish", "ELU", "SELU", "CELU", "Softplus", "PReLU", "Hardtanh",
        "Hardswish", "Softshrink", "Hardshrink",
    )
]  # fmt: skip
ACTIVATION += [
    row("GELU", "tanh"),
    row("LeakyReLU", 0.2),
    row("ELU", 2.0),
    row("CELU", 2),
    row("Softplus", 2, 1),
    row("PReLU", 3),
    row("PReLU", 3, 0.5),
    row("Hardtanh", -0.5, 0.25),
    row("Softshrink", 0.1),
    row("Hardshrink", 0.1),
    row("Threshold", 0.1, 20),
    row("GLU", inputs=(2, 6)),
    row("GLU", 1, inputs=IMAGE),
    row("Softmax", 1),
    row("Softmax", dim=-1, inputs=IMAGE),
    row("LogSoftmax", 1),
    row("Softmin", 1),
    row("Softmax2d", inputs=IMAGE),
    Row("RReLU", (), {}, floats((2, 3)), random=True),
    # PyTorch's derivative takes 1/6 in single precision.
    Row("Hardsigmoid", (), {}, floats((2, 3)), rtol=1e-7),
    *(row(name, inplace=True, inputs=lambda torch: (torch.randn(2, 3, dtype=torch.float64),))
      for name in ("ReLU", "ReLU6", "LeakyReLU", "ELU", "SELU", "CELU", "SiLU", "Mish",
                   "Hardtanh", "Hardswish", "Hardsigmoid")),
]  # fmt: skip

DROPOUT = [
    Row(name, args, {}, floats(shape), random=True)
    for name, shape in (
        ("Dropout", (2, 3)), ("Dropout1d", LINE), ("Dropout2d", IMAGE), ("Dropout3d", VOLUME),
        ("AlphaDropout", (2, 3)), ("FeatureAlphaDropout", IMAGE),
    )
    for args in ((), (0.25,))
]  # fmt: skip


def indices(*shape: int, below: int = 6) -> Inputs:
    return lambda torch: (torch.randint(below, shape),)


EMBEDDING = [
    row("Embedding", 6, 3, inputs=indices(2, 4)),
    row("Embedding", 6, 3, padding_idx=-1, inputs=indices(2, 4)),
    row("Embedding", 6, 3, 2, scale_grad_by_freq=True, inputs=indices(2, 4)),
    row("Embedding", 6, 3, max_norm=1.0, norm_type=1.0, inputs=indices(2, 4)),
    *(row("EmbeddingBag", 6, 3, mode=mode, inputs=indices(2, 4))
      for mode in ("mean", "sum", "max")),
    row("EmbeddingBag", 6, 3, padding_idx=1, inputs=lambda torch: (
        torch.tensor([0, 1, 2, 4, 1]), torch.tensor([0, 3]))),
]  # fmt: skip

PADDING = [
    row(f"{kind}Pad{n}d", *args, inputs=SPACE[n])
    for kind in ("Zero", "Reflection", "Replication", "Circular")
    for n in (1, 2, 3)
    for args in ((1,), ((1, 2) + (0, 1) * (n - 1),))
]
PADDING += [row(f"ConstantPad{n}d", 1, 0.5, inputs=SPACE[n]) for n in (1, 2, 3)]
PADDING += [row("ZeroPad2d", (-1, 1, 0, 2), inputs=IMAGE)]

RESIZING = [
    row("Upsample", scale_factor=2, inputs=IMAGE),
    row("Upsample", (5, 9), mode="bilinear", inputs=IMAGE),
    row("Upsample", scale_factor=(1.5, 2.0), mode="bilinear", align_corners=True, inputs=IMAGE),
    row("Upsample", scale_factor=2, mode="linear", inputs=LINE),
    row("UpsamplingNearest2d", scale_factor=2, inputs=IMAGE),
    row("UpsamplingBilinear2d", (3, 4), inputs=IMAGE),
    row("PixelShuffle", 2, inputs=IMAGE),
    row("PixelUnshuffle", 2, inputs=(2, 3, 4, 6)),
    row("ChannelShuffle", 2, inputs=IMAGE),
    row("Unfold", 2, inputs=IMAGE),
    row("Unfold", (2, 3), dilation=1, padding=1, stride=2, inputs=IMAGE),
    row("Fold", (4, 5), (2, 2), inputs=(2, 8, 12)),
    row("CosineSimilarity", inputs=floats((2, 3), (2, 3))),
    row("CosineSimilarity", dim=0, eps=1e-3, inputs=floats((2, 3), (2, 3))),
    row("PairwiseDistance", inputs=floats((2, 3), (2, 3))),
    row("PairwiseDistance", 1, keepdim=True, inputs=floats((2, 3), (2, 3))),
]

CELLS = [
    row("RNNCell", 3, 5),
    row("RNNCell", 3, 5, nonlinearity="relu", inputs=floats((2, 3), (2, 5))),
    row("RNNCell", 3, 5, bias=False, inputs=(3,)),
    row("GRUCell", 3, 5),
    row("GRUCell", 3, 5, bias=False, inputs=floats((2, 3), (2, 5))),
    row("LSTMCell", 3, 5),
    row("LSTMCell", 3, 5, inputs=lambda torch: (
        torch.randn(2, 3, dtype=torch.float64, requires_grad=True),
        (torch.randn(2, 5, dtype=torch.float64), torch.randn(2, 5, dtype=torch.float64)))),
]  # fmt: skip

SEQUENCE = (5, 2, 8)  # length, batch, features

ATTENTION = [
    row("MultiheadAttention", 8, 2, inputs=floats(SEQUENCE, SEQUENCE, SEQUENCE)),
    row("MultiheadAttention", 8, 2, bias=False, inputs=floats((5, 8), (4, 8), (4, 8))),
    row("MultiheadAttention", 8, 4, batch_first=True, inputs=floats(
        (2, 3, 8), (2, 4, 8), (2, 4, 8))),
    row("MultiheadAttention", 8, 2, add_bias_kv=True, add_zero_attn=True, inputs=floats(
        SEQUENCE, (4, 2, 8), (4, 2, 8))),
    row("MultiheadAttention", 8, 2, kdim=3, vdim=4, inputs=floats(SEQUENCE, (4, 2, 3), (4, 2, 4))),
    *(row("TransformerEncoderLayer", 8, 2, 6, 0.0, inputs=SEQUENCE, **options)
      for options in ({}, {"norm_first": True, "activation": "gelu"}, {"bias": False},
                      {"batch_first": True, "layer_norm_eps": 1e-3})),
    *(row("TransformerDecoderLayer", 8, 2, 6, 0.0, inputs=floats(SEQUENCE, (4, 2, 8)), **options)
      for options in ({}, {"norm_first": True, "activation": "gelu"}, {"bias": False})),
    row("Transformer", 8, 2, 2, 1, 6, 0.0, inputs=floats(SEQUENCE, (4, 2, 8))),
    row("Transformer", 8, 2, 1, 2, 6, 0.0, norm_first=True, batch_first=True,
        inputs=floats((2, 5, 8), (2, 4, 8))),
]  # fmt: skip

RECURRENT = [
    row("RNN", 3, 5, inputs=(4, 2, 3)),
    row("RNN", 3, 5, 2, "relu", bias=False, inputs=(4, 3)),
    row("RNN", 3, 5, bidirectional=True, batch_first=True, inputs=floats((2, 4, 3), (2, 2, 5))),
    row("GRU", 3, 5, inputs=(4, 2, 3)),
    row("GRU", 3, 5, 2, bidirectional=True, inputs=floats((4, 3), (4, 5))),
    row("GRU", 3, 5, bias=False, batch_first=True, inputs=(2, 1, 3)),
    row("GRU", 3, 5, inputs=(4, 0, 3)),
    row("LSTM", 3, 5, inputs=(4, 2, 3)),
    row("LSTM", 3, 5, 2, bias=False, bidirectional=True, batch_first=True, inputs=(2, 4, 3)),
    row("LSTM", 3, 5, 2, proj_size=2, bidirectional=True, inputs=lambda torch: (
        *floats((4, 2, 3))(torch), floats((4, 2, 2), (4, 2, 5))(torch))),
    row("LSTM", 3, 5, bias=False, proj_size=2, inputs=(4, 3)),
    row("LSTM", 3, 5, 3, dropout=0.3, inputs=(4, 2, 3))._replace(random=True),
]  # fmt: skip

CLUSTERS = [
    row("AdaptiveLogSoftmaxWithLoss", 16, 20, [4, 10], **options,
        inputs=lambda torch: (*floats((5, 16))(torch), torch.tensor([0, 5, 19, 12, 3])))
    for options in ({}, {"div_value": 2.0, "head_bias": True})
]  # fmt: skip

PAIR = floats((4, 3), (4, 3))


def signs(*floating: tuple[int, ...], count: int = 4) -> Inputs:
    """Floating-point inputs and a target of ±1."""
    return lambda torch: (*floats(*floating)(torch), torch.randint(2, (count,)).double() * 2 - 1)


def classes(torch: Any) -> tuple[Any, ...]:
    return (*floats((4, 3))(torch), torch.tensor([0, 2, 1, 2]))


def log_probabilities(torch: Any) -> tuple[Any, ...]:
    x, target = classes(torch)
    return x.log_softmax(1).detach().requires_grad_(), target


def probabilities(torch: Any) -> tuple[Any, ...]:
    x = torch.rand(4, 3, dtype=torch.float64).clamp(0.01, 0.99).requires_grad_()
    return x, torch.rand(4, 3, dtype=torch.float64)


def logits(torch: Any) -> tuple[Any, ...]:
    return (*floats((4, 3))(torch), torch.rand(4, 3, dtype=torch.float64))


def two_distributions(torch: Any) -> tuple[Any, ...]:
    return log_probabilities(torch)[0], torch.rand(4, 3, dtype=torch.float64).softmax(1)


def counts(torch: Any) -> tuple[Any, ...]:
    return (*floats((4, 3))(torch), torch.randint(5, (4, 3)).double())


def gaussian(torch: Any) -> tuple[Any, ...]:
    variance = torch.rand(4, 3, dtype=torch.float64).add(0.1).requires_grad_()
    return (*floats((4, 3), (4, 3))(torch), variance)


def sequences(torch: Any) -> tuple[Any, ...]:
    x = torch.randn(6, 2, 4, dtype=torch.float64).log_softmax(2).requires_grad_()
    return x, torch.tensor([[1, 2, 2], [3, 1, 0]]), torch.tensor([6, 5]), torch.tensor([3, 2])


LOSSES: list[tuple[str, dict[str, Any], Inputs]] = [
    ("L1Loss", {}, PAIR),
    ("MSELoss", {}, PAIR),
    ("SmoothL1Loss", {"beta": 0.5}, PAIR),
    ("HuberLoss", {"delta": 0.5}, PAIR),
    ("NLLLoss", {"ignore_index": 1}, log_probabilities),
    ("CrossEntropyLoss", {"label_smoothing": 0.1}, classes),
    ("LinearCrossEntropyLoss", {"in_features": 3, "num_classes": 5}, classes),
    ("CrossEntropyLoss", {}, two_distributions),
    ("BCELoss", {}, probabilities),
    ("BCEWithLogitsLoss", {}, logits),
    ("KLDivLoss", {}, two_distributions),
    ("KLDivLoss", {"log_target": True}, PAIR),
    ("PoissonNLLLoss", {"full": True}, counts),
    ("GaussianNLLLoss", {"full": True}, gaussian),
    ("HingeEmbeddingLoss", {"margin": 0.5}, signs((4,))),
    ("CosineEmbeddingLoss", {"margin": 0.1}, signs((4, 3), (4, 3))),
    ("MarginRankingLoss", {"margin": 0.1}, signs((4,), (4,))),
    ("SoftMarginLoss", {}, signs((4,))),
    ("MultiMarginLoss", {"p": 2, "margin": 0.5}, classes),
    ("MultiLabelMarginLoss", {}, lambda torch: (
        *floats((2, 4))(torch), torch.tensor([[3, 0, -1, 1], [1, 2, 3, -1]]))),
    ("MultiLabelSoftMarginLoss", {}, lambda torch: (
        *floats((4, 3))(torch), torch.randint(2, (4, 3)).double())),
    ("TripletMarginLoss", {"swap": True}, floats((4, 3), (4, 3), (4, 3))),
    ("TripletMarginWithDistanceLoss", {"margin": 0.5}, floats((4, 3), (4, 3), (4, 3))),
    ("CTCLoss", {}, sequences),
]  # fmt: skip
LOSS = [
    Row(name, (), options | {"reduction": reduction}, inputs)
    for name, options, inputs in LOSSES
    for reduction in ("none", "mean", "sum")
]
LOSS += [Row("KLDivLoss", (), {"reduction": "batchmean"}, two_distributions)]

ROWS = [
    *LINEAR, *CONVOLUTION, *POOLING, *NORMALISATION, *ACTIVATION, *DROPOUT, *EMBEDDING,
    *PADDING, *RESIZING, *CELLS, *RECURRENT, *ATTENTION, *CLUSTERS, *LOSS,
]  # fmt: skip


def label(row: Row) -> str:
    parts = [*map(str, row.args), *(f"{k}={v}" for k, v in row.options.items())]
    return f"{row.name}({','.join(parts)})".replace(" ", "")
