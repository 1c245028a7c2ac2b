"""Layers of nn, with the gradients of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sweeps._sample import CHANCES, IMAGES, LINES, ROWS, SEQUENCES, VOLUMES, Input, Sample, X, of
from sweeps.networks import CLASSES, SIGNS, SPACE, ctc, signs

TARGET = of(ROWS, wants=False)
TIMES = of(SEQUENCES)
BITS = of(ROWS, kind="uniform", wants=False)


def layer(
    name: str, *inputs: Input, build: Callable[..., Any] | None = None,
    call: Callable[..., Any] | None = None, **options: Any,
) -> Sample:  # fmt: skip
    """A sample of a layer, built by `build(class, exponent)`."""

    def prepare(m: Any, exponent: int) -> Any:
        m.manual_seed(0)
        kind = getattr(m.nn, name.partition(" ")[0].rstrip(","))
        return kind() if build is None else build(kind, exponent)

    return Sample(f"nn.{name}", call or (lambda m, made, *args: made(*args)), inputs,
                  prepare=prepare, **options)  # fmt: skip


NAMES = (
    "ReLU Sigmoid Tanh GELU LeakyReLU SiLU ELU Softplus PReLU ReLU6 Hardtanh SELU Hardswish"
    " Hardsigmoid Mish LogSigmoid Softsign CELU GLU Tanhshrink Softshrink Hardshrink Identity"
    " Flatten Dropout AlphaDropout"
)
ELEMENTWISE = [
    *(layer(name, X) for name in NAMES.split()),
    layer("Threshold", X, build=lambda kind, k: kind(0.1, 20.0)),
    *(
        layer(name, X, build=lambda kind, k: kind(1))
        for name in ("Softmax", "LogSoftmax", "Softmin")
    ),
    layer("Softmax2d", SPACE[2]),
    layer("Unflatten", X, build=lambda kind, k: kind(1, (10, -1))),
    *(layer(f"Dropout{d}d", SPACE[d]) for d in (1, 2, 3)),
]

LOSSES = [
    *(layer(name, X, TARGET) for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss",
                                          "HingeEmbeddingLoss")),
    layer("PoissonNLLLoss", X, of(ROWS, kind="uniform", high=9, wants=False)),
    layer("GaussianNLLLoss", X, TARGET, of(ROWS, kind="uniform", low=0.1)),
    layer("BCELoss", CHANCES, BITS),
    layer("BCEWithLogitsLoss", X, BITS),
    layer("KLDivLoss", X, of(ROWS, kind="uniform", low=0.1, wants=False),
          build=lambda kind, k: kind(reduction="batchmean")),
    *(layer(name, X, CLASSES) for name in ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss")),
    layer("MarginRankingLoss", X, X, TARGET),
    layer("TripletMarginLoss", X, X, X),
    layer("CosineEmbeddingLoss", X, X, SIGNS,
          call=lambda m, made, x, y, t: made(x, y, signs(t))),
    layer("CTCLoss", of({3: (20, 2, 25), 5: (100, 20, 50), 6: (200, 50, 100)}), most=6,
          call=lambda m, made, x: ctc(m, x)),
    *(layer(name, X, X) for name in ("CosineSimilarity", "PairwiseDistance")),
]  # fmt: skip

SPACES = {1: LINES, 2: IMAGES, 3: VOLUMES}


def width(dims: int) -> Callable[[int], int]:
    """The number of channels, by the exponent."""
    return lambda k: SPACES[dims][k][1]


def by_channels(dims: int, *more: Any, **options: Any) -> Callable[..., Any]:
    """Builds a layer from as many channels."""
    return lambda kind, k: kind(width(dims)(k), *more, **options)


def square(dims: int, *more: Any, **options: Any) -> Callable[..., Any]:
    """Builds a layer that keeps the number of channels."""
    return lambda kind, k: kind(width(dims)(k), width(dims)(k), *more, **options)


IN_SPACE = [
    *(layer(f"Conv{d}d", SPACE[d], build=square(d, 3), most=7 if d < 3 else 6) for d in (1, 2, 3)),
    *(layer(f"ConvTranspose{d}d", SPACE[d], build=square(d, 3, stride=2), most=7 if d < 2 else 6)
      for d in (1, 2)),
    *(layer(f"BatchNorm{d}d", SPACE[d], build=by_channels(d)) for d in (1, 2, 3)),
    *(layer(f"InstanceNorm{d}d", SPACE[d], build=by_channels(d, affine=True)) for d in (1, 2)),
    layer("GroupNorm", SPACE[2], build=lambda kind, k: kind(4, width(2)(k))),
    *(layer(f"{kind}Pool{d}d", SPACE[d], build=lambda kind, k: kind(2))
      for kind, d in (("Max", 1), ("Max", 2), ("Max", 3), ("Avg", 1), ("Avg", 2))),
    *(layer(name, SPACE[d], build=lambda kind, k: kind(4))
      for name, d in (("AdaptiveAvgPool1d", 1), ("AdaptiveAvgPool2d", 2),
                      ("AdaptiveMaxPool2d", 2))),
    *(layer(f"{kind}Pad2d", SPACE[2], build=lambda kind, k: kind(2))
      for kind in ("Zero", "Reflection", "Replication")),
    layer("ConstantPad2d", SPACE[2], build=lambda kind, k: kind(2, 1.5)),
    layer("Upsample", SPACE[2], build=lambda kind, k: kind(scale_factor=2)),
    layer("PixelShuffle", of({k: (s[0], 8, *s[2:]) for k, s in IMAGES.items()}),
          build=lambda kind, k: kind(2)),
    layer("Unfold", SPACE[2], build=lambda kind, k: kind(3), most=6),
    layer("LocalResponseNorm", SPACE[2], build=lambda kind, k: kind(3)),
]  # fmt: skip


def features(kind: Any, exponent: int) -> Any:
    """A layer of as many features in as out."""
    return kind(SEQUENCES[exponent][2], SEQUENCES[exponent][2])


def recurrent(kind: Any, exponent: int) -> Any:
    """A layer over (batch, time, features)."""
    return kind(SEQUENCES[exponent][2], 64, batch_first=True)


def heads(kind: Any, exponent: int) -> Any:
    """A layer of attention."""
    return kind(SEQUENCES[exponent][2], 4, batch_first=True)


def transformer(kind: Any, exponent: int) -> Any:
    """A block of a transformer."""
    return kind(SEQUENCES[exponent][2], 4, 256, 0.0, batch_first=True)


SEQUENTIAL = [
    layer("Linear", TIMES, build=features, most=6),
    layer("Bilinear", of({3: (32, 32), 4: (200, 50), 5: (1000, 100)}),
          of({3: (32, 32), 4: (200, 50), 5: (1000, 100)}), most=5,
          build=lambda kind, k: kind(*{3: (32, 32, 8), 4: (50, 50, 8), 5: (100, 100, 8)}[k])),
    layer("LayerNorm", X, build=lambda kind, k: kind(ROWS[k][1])),
    layer("RMSNorm", X, build=lambda kind, k: kind(ROWS[k][1])),
    layer("Embedding", Input(lambda k: (max(1, 10**k // 64),), "integers", 0, 1000),
          build=lambda kind, k: kind(1000, 64)),
    layer("EmbeddingBag", Input(lambda k: (max(1, 10**k // 640), 10), "integers", 0, 1000),
          build=lambda kind, k: kind(1000, 64)),
    *(layer(name, TIMES, build=recurrent, most=6) for name in ("RNN", "LSTM", "GRU")),
    *(layer(f"{name}Cell", X, build=lambda kind, k: kind(ROWS[k][1], 64), most=6)
      for name in ("RNN", "LSTM", "GRU")),
    layer("MultiheadAttention", TIMES, build=heads, most=6,
          call=lambda m, made, x: made(x, x, x, need_weights=False)[0]),
    layer("TransformerEncoderLayer", TIMES, build=transformer, most=6),
    layer("TransformerDecoderLayer", TIMES, TIMES, build=transformer, most=6),
]  # fmt: skip

FAMILY: list[Sample] = [*ELEMENTWISE, *LOSSES, *IN_SPACE, *SEQUENTIAL]
