"""The cross entropy of scores that a linear layer makes."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.ops.classification import cross_entropy
from wengert.ops.linear import linear
from wengert.ops.shape import reshape
from wengert.ops.variadic import require_tensor

Shape = tuple[int, ...]


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """`cross_entropy` of scores that are linear in `input`, (in) or (batch, in).

    `linear_weight` is (class, ..., in), `linear_bias` (class, ...): what stands between makes so
    many losses of each sample. `options` says how PyTorch saves memory, and has no effect here.

    >>> import wengert
    >>> x, w = wengert.ones(2, 3), wengert.zeros(5, 3)
    >>> wengert.nn.functional.linear_cross_entropy(x, w, wengert.tensor([1, 4]))
    tensor(1.6094)
    """
    for what, x in (("input", input), ("linear_weight", linear_weight)):
        require_tensor("linear_cross_entropy", what, x)
    _check_layer(tuple(input.shape), tuple(linear_weight.shape), linear_bias)
    if input.ndim > 1 and target.shape[:1] != input.shape[:1]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size"
            f" ({target.shape[0] if target.ndim else 0}) in linear_cross_entropy()"
        )
    shape = tuple(linear_weight.shape)
    flat_bias = None if linear_bias is None else reshape(linear_bias, (-1,))
    scores = linear(input, reshape(linear_weight, (-1, shape[-1])), flat_bias)
    return cross_entropy(
        reshape(scores, (*scores.shape[:-1], *shape[:-1])),
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _check_layer(input: Shape, weight: Shape, bias: Tensor | None) -> None:
    """Raise unless a layer of this weight and bias takes such an input."""
    if len(input) not in (1, 2):
        raise RuntimeError(
            f"linear_cross_entropy(): expected input with dimensionality 1 or 2, got {len(input)}"
        )
    if len(weight) < 2:
        raise RuntimeError(
            "linear_cross_entropy(): expected linear_weight with dimensionality at least 2, got"
            f" {len(weight)}"
        )
    if input[-1] != weight[-1]:
        raise RuntimeError(
            "linear_cross_entropy(): expected equal input and linear_weight last dimensions"
            f" (in_features), got {input[-1]} and {weight[-1]}, respectively"
        )
    if len(weight) > 2 and len(input) == 1:
        raise RuntimeError(
            f"linear_cross_entropy(): linear_weight of shape {weight} gives several losses of each"
            f" sample, which requires batched input, (N, {input[0]}), got one of shape {input}"
        )
    if bias is not None and tuple(bias.shape) != weight[:-1]:
        raise RuntimeError(
            f"linear_cross_entropy(): expected linear_bias shape {weight[:-1]}, got"
            f" {tuple(bias.shape)}"
        )


__all__: list[str] = []
FUNCTIONAL = ("linear_cross_entropy",)
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
