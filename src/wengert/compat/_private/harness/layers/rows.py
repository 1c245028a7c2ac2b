"""Modules with what they are constructed with and called on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from wengert.compat._private.harness.operations.recipes import (
    Const,
    Drawing,
    Index,
    Of,
    Recipe,
    T,
)

_Reference = Callable[..., Any]


class Entry(NamedTuple):
    """One way to construct and call a module; `built` are pairs of arguments by place and name."""

    built: tuple[tuple[Any, ...], dict[str, Any]]
    given: tuple[tuple[Any, ...], dict[str, Any]]
    reference: _Reference | None = None

    def like(self, reference: _Reference) -> Entry:
        """The same with what the module is compared with."""
        return self._replace(reference=reference)


def new(*args: Any, **kwargs: Any) -> Callable[..., Entry]:
    """A module that is constructed so; call it on what the module is called on."""

    def called(*inputs: Any, **named: Any) -> Entry:
        return Entry((args, kwargs), (inputs, named))

    return called


def _alone(m: Any, p: Any, *args: Any, **kwargs: Any) -> Any:
    """The module of a batch of one."""
    return m(*(x.unsqueeze(0) for x in args), **kwargs).squeeze(0)


def draw(value: Any, device: Any, dtype: Any, requires_grad: bool) -> Any:
    """A value with tensors in place of recipes."""
    if isinstance(value, Recipe):
        return value.draw(Drawing(device, dtype, requires_grad))
    if type(value) in (list, tuple):
        return type(value)(draw(part, device, dtype, requires_grad) for part in value)
    return value


def pointwise(*built: Callable[..., Entry], low: Any = None) -> tuple[Entry, ...]:
    """Entries of a function of elements."""
    makers = built or (new(),)
    return (*(make(T(2, 3, 4, low=low)) for make in makers), makers[0](T(low=low)))


def _spatial(shape: tuple[int, ...], *built: Callable[..., Entry]) -> tuple[Entry, ...]:
    """Entries of a module that takes batches and single examples."""
    batches = tuple(make(T(*shape)) for make in built)
    return (*batches, built[0](T(*shape[1:])).like(_alone))


_X1, _X2, _X3 = (2, 4, 5), (1, 4, 5, 4), (1, 4, 3, 4, 3)
_U: dict[str, Any] = {"low": -1, "high": 1}

POOLING: dict[str, tuple[Entry, ...]] = {
    "AdaptiveAvgPool1d": _spatial(_X1, new(3)),
    "AdaptiveAvgPool2d": _spatial(_X2, new(3), new((2, None))),
    "AdaptiveAvgPool3d": _spatial(_X3, new(2), new((2, None, 3))),
    "AdaptiveMaxPool1d": _spatial(_X1, new(3)),
    "AdaptiveMaxPool2d": _spatial(_X2, new(3), new((2, None))),
    "AdaptiveMaxPool3d": _spatial(_X3, new(2), new((2, None, 3))),
    "AvgPool1d": _spatial(_X1, new(2), new(3, stride=2, padding=1, ceil_mode=True)),
    "AvgPool2d": _spatial(_X2, new(2), new(3, 2, 1, count_include_pad=False)),
    "AvgPool3d": _spatial(_X3, new(2), new(2, 2, 1, divisor_override=3)),
    "MaxPool1d": _spatial(_X1, new(2), new(3, stride=2, padding=1)),
    "MaxPool2d": _spatial(_X2, new(2), new((3, 2), 2, 1)),
    "MaxPool3d": _spatial(_X3, new(2), new(2, 2, 1)),
    "LPPool1d": (new(1.5, 2)(T(2, 4, 8, low=0.1)), new(2, 2)(T(4, 8))),
    "LPPool2d": (new(1.5, 2)(T(1, 2, 5, 4, low=0.1)), new(2, 2)(T(2, 5, 4))),
    "LPPool3d": (new(1.5, 2)(T(1, 2, 4, 3, 2, low=0.1)), new(2, 2)(T(2, 4, 3, 2))),
    "FractionalMaxPool2d": (new(2, output_ratio=0.5)(T(2, 4, 6, 7)),),
    "FractionalMaxPool3d": (new(2, output_ratio=0.5)(T(1, 4, 4, 5, 4)),),
}

CONVOLUTIONS: dict[str, tuple[Entry, ...]] = {
    "Conv1d": _spatial(_X1, new(4, 6, 3), new(4, 6, 3, stride=2, padding=1, groups=2)),
    "Conv2d": _spatial(_X2, new(4, 6, 3), new(4, 6, (3, 2), stride=2, padding=1, groups=2)),
    "Conv3d": _spatial(_X3, new(4, 2, 2), new(4, 4, 2, padding=1, groups=2, bias=False)),
    "ConvTranspose1d": _spatial(_X1, new(4, 6, 3), new(4, 6, 3, 2, 1, 1, groups=2)),
    "ConvTranspose2d": _spatial(_X2, new(4, 6, 3), new(4, 6, 3, 2, 1, 1, groups=2)),
    "ConvTranspose3d": _spatial(_X3, new(4, 2, 2), new(4, 2, 2, 2, bias=False)),
    "LazyConv1d": _spatial(_X1, new(6, 3)),
    "LazyConv2d": _spatial(_X2, new(6, 3)),
    "LazyConv3d": _spatial(_X3, new(2, 2)),
    "LazyConvTranspose1d": _spatial(_X1, new(6, 3)),
    "LazyConvTranspose2d": _spatial(_X2, new(6, 3)),
    "LazyConvTranspose3d": _spatial(_X3, new(2, 2)),
}

NORMALIZATIONS: dict[str, tuple[Entry, ...]] = {
    "BatchNorm1d": (new(4)(T(3, 4)), new(4, affine=False)(T(2, 4, 8)), new(4, 0.1, None)(T(3, 4))),
    "BatchNorm2d": (new(4)(T(2, 4, 3, 3)), new(4, 0.1, 0.6, False)(T(2, 4, 3, 3))),
    "BatchNorm3d": (new(4)(T(2, 4, 2, 3, 2)), new(4, 0.1, 0.6, False)(T(2, 4, 2, 3, 2))),
    "InstanceNorm1d": _spatial(_X1, new(4), new(4, affine=True, track_running_stats=True)),
    "InstanceNorm2d": _spatial(_X2, new(4), new(4, affine=True, track_running_stats=True)),
    "InstanceNorm3d": _spatial(_X3, new(4), new(4, affine=True, track_running_stats=True)),
    "GroupNorm": (new(2, 4)(T(2, 4, 5)), new(4, 4, affine=False)(T(2, 4, 3, 2))),
    "LayerNorm": (new([5])(T(2, 4, 5)), new([4, 5], elementwise_affine=False)(T(2, 4, 5))),
    "RMSNorm": (new([5])(T(2, 4, 5)), new([4, 5], elementwise_affine=False)(T(2, 4, 5))),
    "LocalResponseNorm": (new(3)(T(2, 5, 7)), new(2, alpha=0.1, k=2.0)(T(2, 5, 3, 2))),
}

POINTWISE: dict[str, tuple[Entry, ...]] = {
    "CELU": pointwise(new(alpha=2.0)),
    "ELU": pointwise(new(alpha=2.0)),
    "GELU": pointwise(new(), new("tanh")),
    "GLU": (new()(T(5, 6)), new(1)(T(5, 6, 7))),
    "Hardshrink": pointwise(new(0.3), new()),
    "Hardswish": pointwise(new()),
    "Hardtanh": pointwise(new(), new(-0.5, 0.6)),
    "ReLU": (*pointwise(new())[:1], new()(T(3)).like(lambda m, p, x: x.clamp_min(0))),
    "LeakyReLU": pointwise(new(), new(0.3)),
    "ReLU6": pointwise(new()),
    "PReLU": (new()(T(2, 3, 4)), new(3)(T(2, 3, 4))),
    "Sigmoid": pointwise(new()),
    "LogSigmoid": pointwise(new()),
    "SiLU": (*pointwise(new()), new()(T(5)).like(lambda m, p, x: x * x.sigmoid())),
    "Softmax": (new(1)(T(4, 5)).like(lambda m, p, x: x.exp() / x.exp().sum(1, keepdim=True)),),
    "Softmax2d": _spatial((2, 3, 4, 5), new()),
    "LogSoftmax": (new(1)(T(4, 5)).like(lambda m, p, x: x - x.logsumexp(1, keepdim=True)),),
    "Softmin": (new(1)(T(4, 5)), new(-1)(T(2, 3, 4))),
    "Softplus": pointwise(new(), new(2.0), new(2.0, 0.5)),
    "Softshrink": pointwise(new(), new(1.0)),
    "Softsign": (*pointwise(new()), new()(T(5)).like(lambda m, p, x: x / (1 + x.abs()))),
    "Tanh": pointwise(new()),
    "Tanhshrink": pointwise(new()),
    "Threshold": pointwise(new(2.0, 1.0), new(0.5, 10.0)),
    "Mish": pointwise(new()),
    "SELU": pointwise(new()),
}

_PADS = {1: (1, 2), 2: (1, 2, 2, 1), 3: (1, 1, 0, 1, 1, 1)}
_PADDED = {1: (2, 3, 4), 2: (1, 2, 4, 3), 3: (1, 1, 3, 3, 2)}
PADDINGS: dict[str, tuple[Entry, ...]] = {
    f"{kind}Pad{n}d": _spatial(_PADDED[n], new(1, *rest), new(_PADS[n], *rest))
    for kind, rest in (
        ("Reflection", ()), ("Replication", ()), ("Zero", ()), ("Circular", ()),
        ("Constant", (2.0,)),
    )
    for n in (1, 2, 3)
}  # fmt: skip


def _affine(m: Any, p: Any, x: Any) -> Any:
    return x @ p[0].t() + p[1]


def _twice(*shape: int) -> list[Recipe]:
    return [T(*shape, **_U), T(*shape, **_U)]


OTHERS: dict[str, tuple[Entry, ...]] = {
    "Linear": (
        new(10, 8)(T(4, 10)).like(_affine),
        new(10, 8, bias=False)(T(4, 10)).like(lambda m, p, x: x @ p[0].t()),
        new(3, 5)(T(3)).like(_affine),
    ),
    "Bilinear": (new(2, 3, 4)(T(8, 2), T(8, 3)), new(2, 3, 4, bias=False)(T(8, 2), T(8, 3))),
    "Embedding": (new(5, 4)(Index(2, 3, high=5)), new(5, 4, padding_idx=1)(Index(6, high=5))),
    "RNNCell": (
        new(5, 4)(T(3, 5), T(3, 4)), new(5, 4, nonlinearity="relu")(T(3, 5)), new(5, 4)(T(5)),
    ),
    "GRUCell": (new(5, 4)(T(3, 5), T(3, 4)), new(5, 4, bias=False)(T(3, 5)), new(5, 4)(T(5))),
    "LSTMCell": (new(5, 4)(T(3, 5), (T(3, 4), T(3, 4))), new(5, 4, bias=False)(T(3, 5))),
    "RNN": (new(3, 4)(T(5, 2, 3)), new(3, 4, 2, nonlinearity="relu", batch_first=True)(T(2, 5, 3))),
    "GRU": (new(3, 4)(T(5, 2, 3)), new(3, 4, 2, batch_first=True, bidirectional=True)(T(2, 5, 3))),
    "LSTM": (
        new(3, 4)(T(5, 2, 3)), new(3, 4, proj_size=2)(T(5, 3)),
        new(3, 4, 2, batch_first=True, bidirectional=True)(T(2, 5, 3)),
    ),
    "MultiheadAttention": (
        new(6, 2)(*_twice(3, 2, 6), T(3, 2, 6)),
        new(6, 2, batch_first=True, bias=False)(*_twice(2, 3, 6), T(2, 3, 6), need_weights=False),
    ),
    "TransformerEncoderLayer": (
        new(4, 2, 8, 0.0)(T(3, 2, 4, **_U)),
        new(4, 2, 8, 0.0, batch_first=True, norm_first=True)(T(2, 3, 4, **_U)),
    ),
    "TransformerDecoderLayer": (
        new(4, 2, 8, 0.0)(*_twice(3, 2, 4)),
        new(4, 2, 8, 0.0, batch_first=True, norm_first=True)(*_twice(2, 3, 4)),
    ),
    "Transformer": (new(4, 2, 1, 1, 8, 0.0, batch_first=True)(*_twice(2, 3, 4)),),
}  # fmt: skip

_LABELS = Const([[3, 0, -1, 1], [1, 2, 0, -1]])
_SIGNS = Const([1, -1, 1, -1])
_P: dict[str, Any] = {"low": 0.1, "high": 0.9}


def _losses(*given: Any, extra: tuple[Callable[..., Entry], ...] = ()) -> tuple[Entry, ...]:
    """A loss with each reduction, and constructed otherwise."""
    makers = (*(new(reduction=r) for r in ("none", "mean", "sum")), *extra)
    return tuple(make(*given) for make in makers)


LOSSES: dict[str, tuple[Entry, ...]] = {
    "L1Loss": (*_losses(T(2, 3), T(2, 3)), new()(T(), T()).like(lambda m, p, x, y: (x - y).abs())),
    "SmoothL1Loss": _losses(T(2, 3), T(2, 3), extra=(new(beta=0.5),)),
    "MSELoss": (
        *_losses(T(2, 3), T(2, 3)),
        new()(T(4), T(4)).like(lambda m, p, x, y: (x - y).square().mean()),
    ),
    "HuberLoss": _losses(T(2, 3), T(2, 3), extra=(new(delta=0.5),)),
    "KLDivLoss": (
        *_losses(T(4, 5, low=-3, high=0), T(4, 5, low=0, high=1, grad=False)),
        new(reduction="batchmean", log_target=True)(T(4, 5), T(4, 5, grad=False)),
    ),
    "NLLLoss": _losses(T(4, 5), Index(4, high=5), extra=(new(ignore_index=2),)),
    "CrossEntropyLoss": (
        *_losses(T(4, 5), Index(4, high=5), extra=(new(label_smoothing=0.15),)),
        new()(T(4, 5), T(4, 5, low=0, high=1)), new()(T(5), Index(high=5)),
    ),
    "BCELoss": _losses(T(4, 5, **_P), T(4, 5, low=0, high=1, grad=False)),
    "BCEWithLogitsLoss": _losses(T(4, 5), T(4, 5, low=0, high=1, grad=False)),
    "GaussianNLLLoss": _losses(T(3, 4), T(3, 4), T(3, 4, low=0.1, high=2), extra=(new(full=True),)),
    "PoissonNLLLoss": _losses(
        T(3, 4, low=-2, high=2), T(3, 4, low=0, high=4), extra=(new(full=True),)
    ),
    "HingeEmbeddingLoss": _losses(T(4), _SIGNS, extra=(new(margin=0.5),)),
    "SoftMarginLoss": _losses(T(4, **_U), _SIGNS),
    "MarginRankingLoss": _losses(T(4), T(4), _SIGNS, extra=(new(margin=0.5),)),
    "MultiLabelMarginLoss": _losses(T(2, 4), _LABELS),
    "MultiLabelSoftMarginLoss": _losses(T(4, 5), T(4, 5, low=0, high=1, grad=False)),
    "MultiMarginLoss": _losses(T(4, 5), Index(4, high=5), extra=(new(p=2), new(margin=0.5))),
    "CosineEmbeddingLoss": _losses(T(4, 5), T(4, 5), _SIGNS, extra=(new(margin=0.7),)),
    "CTCLoss": _losses(
        Of(lambda draw: draw(6, 2, 4).log_softmax(2)), Const([[1, 2, 1], [3, 1, 2]]),
        Const([6, 5]), Const([3, 2]),
    ),
}  # fmt: skip

ROWS = {**POOLING, **CONVOLUTIONS, **NORMALIZATIONS, **POINTWISE, **PADDINGS, **OTHERS, **LOSSES}

__all__ = ["LOSSES", "POINTWISE", "ROWS", "Entry", "draw"]
