"""The cross entropy of the classes that a linear layer scores."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.modules._loss_bases import _WeightedLoss
from wengert.nn.modules.linear import Linear


@dataclass
class LinearCrossEntropyOptions:
    """How PyTorch splits the loss to save memory; taken, and without effect here.

    Attributes:
        allow_retain_graph: whether a second backward may follow; here it always may.
        batch_chunk_size: samples to a piece.
        chunking_method: how pieces are cut.
        acc_policy: how sums over pieces are kept.
        acc_dtype: the dtype of these sums.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer and the cross entropy of its output, with `out_features` losses a sample.

    Args:
        in_features: features of the input.
        num_classes: number of classes.
        out_features: deprecated name of `num_classes`.
        bias: whether to learn a bias.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.
        weight: factor of each class, of shape (C,).
        ignore_index: targets of this value count for nothing.
        label_smoothing: share of the target that is spread evenly over all classes, between 0
            and 1.
        options: how the scores are computed in chunks: a `LinearCrossEntropyOptions`.

    >>> import wengert
    >>> loss = wengert.nn.LinearCrossEntropyLoss(3, 5)
    >>> loss(wengert.zeros(2, 3), wengert.tensor([1, 4]))
    tensor(1.6094, grad_fn=<NllLossBackward0>)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        super().__init__(weight, None, None, reduction)
        self.in_features, self.num_classes = in_features, num_classes
        self.out_features = tuple(out_features)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options
        outputs = num_classes * prod(self.out_features)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes},"
            f" out_features={self.out_features}, bias={self.linear.bias is not None},"
            f" reduction={self.reduction}, ignore_index={self.ignore_index},"
            f" label_smoothing={self.label_smoothing}, options={self.options}"
        )


__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]
