"""Functions of `torch` that duplicate those of `nn.functional` with different arguments.

Weights come before statistics, reductions are numbers (by default there is none), and
`cudnn_enabled` chooses among kernels that do not exist here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.autograd import no_grad
from wengert.core.fronts import publish_module
from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.ops.dropout import channels_dropped

# The meaning of numeric reductions.
_REDUCTIONS = ("none", "mean", "sum")


def _reduction(name: str, reduction: int) -> str:
    if reduction not in (0, 1, 2):
        raise ValueError(
            f"{name}(): argument 'reduction' must be 0 (none), 1 (mean) or 2 (sum), not {reduction}"
        )
    return _REDUCTIONS[reduction]


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout`, with its arguments required.

    >>> import wengert
    >>> wengert.alpha_dropout(wengert.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return F.alpha_dropout(input, p, train)


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.dropout`, with its arguments required.

    >>> import wengert
    >>> wengert.dropout(wengert.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return F.dropout(input, p, train)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout`, with its arguments required.

    >>> import wengert
    >>> wengert.feature_alpha_dropout(wengert.ones(2, 3), 0.5, False)[0]
    tensor([1., 1., 1.])
    """
    return F.feature_alpha_dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place form of `dropout`."""
    return F.dropout(input, p, train, inplace=True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place form of `alpha_dropout`."""
    return F.alpha_dropout(input, p, train, inplace=True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place form of `feature_alpha_dropout`."""
    return F.feature_alpha_dropout(input, p, train, inplace=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.dropout2d`, for any number of dimensions after the first two.

    >>> import wengert
    >>> wengert.feature_dropout(wengert.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    return channels_dropped("feature_dropout", input, p, train, False)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place form of `feature_dropout`."""
    return channels_dropped("feature_dropout_", input, p, train, True)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`nn.functional.conv1d` of (time, batch, channels), weights (width, in, out).

    >>> import wengert
    >>> wengert.conv_tbc(wengert.ones(3, 1, 2), wengert.ones(2, 2, 1), wengert.zeros(1)).flatten()
    tensor([4., 4.])
    """
    if input.ndim != 3 or weight.ndim != 3:
        raise RuntimeError(
            "Input must have 3 dims: time, batch, in_channel, and weight 3: width, in, out; got"
            f" shapes {list(input.shape)} and {list(weight.shape)}"
        )
    out: Tensor = F.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return out.permute(2, 0, 1)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one; over all of them with a `dim` of -1.

    >>> import wengert
    >>> wengert.norm_except_dim(wengert.tensor([[3.0, 4.0], [0.0, 2.0]]))
    tensor([[5.],
            [2.]])
    """
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.ndim) if d != dim]
    return v.norm(pow, others, keepdim=True)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Rescale the indexed rows of a table in place to a norm of at most `max_norm`.

    >>> import wengert
    >>> table = wengert.tensor([[3.0, 4.0], [6.0, 8.0]])
    >>> wengert.embedding_renorm_(table, wengert.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000],
            [6.0000, 8.0000]])
    """
    with no_grad():
        F.embedding(indices, input, max_norm=max_norm, norm_type=norm_type)
    return input


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample`, with its modes as numbers.

    Args:
        interpolation_mode: 0 is bilinear, 1 nearest, 2 bicubic.
        padding_mode: 0 is zeros, 1 border, 2 reflection.

    >>> import wengert
    >>> image, grid = wengert.ones(1, 1, 2, 2), wengert.zeros(1, 1, 1, 2)
    >>> wengert.grid_sampler(image, grid, 0, 0, True)
    tensor([[[[1.]]]])
    """
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    padding = ("zeros", "border", "reflection")[padding_mode]
    return F.grid_sample(input, grid, mode, padding, align_corners)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """`nn.functional.adaptive_max_pool1d` with its indices.

    >>> import wengert
    >>> wengert.adaptive_max_pool1d(wengert.tensor([[1.0, 3.0, 2.0]]), 1)
    (tensor([[3.]]), tensor([[1]]))
    """
    pooled: tuple[Tensor, Tensor] = F.adaptive_max_pool1d(input, output_size, return_indices=True)
    return pooled


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.embedding` with the table first; a `padding_idx` of -1 is none.

    >>> import wengert
    >>> wengert.embedding(wengert.tensor([[1.0], [2.0]]), wengert.tensor([1, 0]))
    tensor([[2.],
            [1.]])
    """
    padding = None if padding_idx == -1 else padding_idx
    return F.embedding(
        indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm`, with another argument order.

    >>> import wengert
    >>> x = wengert.tensor([[1.0], [3.0]])
    >>> wengert.batch_norm(x, None, None, None, None, True, 0.1, 1e-9, False)
    tensor([[-1.],
            [ 1.]])
    """
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
    cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm`, with another argument order.

    >>> import wengert
    >>> x = wengert.tensor([[[1.0, 3.0]]])
    >>> wengert.instance_norm(x, None, None, None, None, True, 0.1, 1e-9, False)
    tensor([[[-1.,  1.]]])
    """
    return F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-5, cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.layer_norm`.

    >>> import wengert
    >>> wengert.layer_norm(wengert.tensor([1.0, 3.0]), (2,), eps=0.0)
    tensor([-1.,  1.])
    """
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.group_norm`.

    >>> import wengert
    >>> wengert.group_norm(wengert.tensor([[1.0, 3.0]]), 1, eps=0.0)
    tensor([[-1.,  1.]])
    """
    return F.group_norm(input, num_groups, weight, bias, eps)


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: complex = 0) -> Tensor:
    """`nn.functional.pad` with a constant.

    >>> import wengert
    >>> wengert.constant_pad_nd(wengert.ones(2), (1, 0), 5)
    tensor([5., 1., 1.])
    """
    constant: Any = value
    return F.pad(input, tuple(pad), value=constant)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:  # fmt: skip
    """`nn.functional.binary_cross_entropy_with_logits`; the reduction is 0, 1 or 2.

    >>> import wengert
    >>> x = wengert.zeros(2)
    >>> wengert.binary_cross_entropy_with_logits(x, wengert.ones(2), reduction=0)
    tensor([0.6931, 0.6931])
    """
    reduced = _reduction("binary_cross_entropy_with_logits", reduction)
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=reduced, pos_weight=pos_weight
    )


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """`nn.functional.kl_div`; the reduction is 0 (none), 1 (mean) or 2 (sum).

    >>> import wengert
    >>> wengert.kl_div(wengert.zeros(2), wengert.ones(2))
    tensor([0., 0.])
    """
    reduced = _reduction("kl_div", reduction)
    # For "mean" it would warn.
    losses = F.kl_div(input, target, reduction="none", log_target=log_target)
    return losses if reduced == "none" else losses.mean() if reduced == "mean" else losses.sum()


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.cosine_embedding_loss`; the reduction is 0, 1 or 2.

    >>> import wengert
    >>> x = wengert.ones(1, 2)
    >>> wengert.cosine_embedding_loss(x, -x, wengert.ones(1))
    tensor([2.])
    """
    reduced = _reduction("cosine_embedding_loss", reduction)
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=reduced)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.hinge_embedding_loss`; the reduction is 0, 1 or 2.

    >>> import wengert
    >>> wengert.hinge_embedding_loss(wengert.tensor([1.0, 2.0]), wengert.ones(2))
    tensor([1., 2.])
    """
    return F.hinge_embedding_loss(
        input, target, margin, reduction=_reduction("hinge_embedding_loss", reduction)
    )


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.margin_ranking_loss`; the reduction is 0, 1 or 2.

    >>> import wengert
    >>> wengert.margin_ranking_loss(wengert.zeros(2), wengert.ones(2), wengert.ones(2))
    tensor([1., 1.])
    """
    reduced = _reduction("margin_ranking_loss", reduction)
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=reduced)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: int = 0,
) -> Tensor:  # fmt: skip
    """`nn.functional.triplet_margin_loss`; the reduction is 0, 1 or 2.

    >>> import wengert
    >>> x = wengert.ones(1, 2)
    >>> wengert.triplet_margin_loss(x, x, x)
    tensor([1.])
    """
    return F.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap,
        reduction=_reduction("triplet_margin_loss", reduction),
    )  # fmt: skip


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """`nn.functional.poisson_nll_loss`; the reduction is 0, 1 or 2.

    >>> import wengert
    >>> wengert.poisson_nll_loss(wengert.zeros(2), wengert.ones(2), True, False, 1e-8, 1)
    tensor(1.)
    """
    reduced = _reduction("poisson_nll_loss", reduction)
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=reduced)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: int = 0, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.ctc_loss`; the reduction is 0, 1 or 2.

    >>> import wengert
    >>> log_probs = wengert.zeros(2, 1, 3)
    >>> wengert.ctc_loss(log_probs, wengert.tensor([[1]]), (2,), (1,))
    tensor([-1.0986])
    """
    reduced = _reduction("ctc_loss", reduction)
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, reduced, zero_infinity
    )


publish_module("torch", [n for n in globals() if n[0] not in "_F" and n != "no_grad"], globals())
