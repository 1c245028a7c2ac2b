"""Losses and modules in plain words, to compare with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import wengert
from wengert import Tensor


def _reduced(values: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return values.mean()
    return values.sum() if reduction == "sum" else values


def kldivloss_reference(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """Of distributions, the first by its logarithm."""
    if log_target:
        result = target.exp() * (target - input)
    else:
        result = wengert.where(target > 0, target * (target.clamp_min(1e-300).log() - input), 0.0)
    if reduction == "batchmean":
        return result.sum() / result.size(0)
    return _reduced(result, reduction)


def nllloss_reference(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability of each target; classes are the second dimension."""
    kept = target != ignore_index
    classes = target.clamp(0, input.size(1) - 1)
    weights = input.new_ones(input.size(1)) if weight is None else weight
    factors = weights[classes] * kept
    losses = -input.gather(1, classes.unsqueeze(1)).squeeze(1) * factors
    if reduction == "mean":
        return losses.sum() / factors.sum()
    return _reduced(losses, reduction)


nlllossNd_reference = nllloss_reference


def cross_entropy_loss_reference(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Of logits, and of classes or probabilities."""
    logs = input - input.logsumexp(1, keepdim=True)
    count = input.size(1)
    shape = (1, count, *[1] * (input.dim() - 2))
    weights = (input.new_ones(count) if weight is None else weight).view(shape)
    if target.shape == input.shape:
        smooth = target * (1 - label_smoothing) + label_smoothing / count
        losses = -(logs * smooth * weights).sum(1)
        return (
            losses.sum() / (input.numel() / count)
            if reduction == "mean"
            else _reduced(losses, reduction)
        )
    hard = nllloss_reference(logs, target, weights.view(-1), ignore_index, reduction)
    if not label_smoothing:
        return hard
    kept = (target != ignore_index).to(input.dtype)
    even = -(logs * weights).sum(1) * kept
    if reduction == "mean":
        factors = weights.view(-1)[target.clamp(0, count - 1)] * kept
        even = even.sum() / factors.sum()
    else:
        even = _reduced(even, reduction)
    return (1 - label_smoothing) * hard + label_smoothing / count * even


def smoothl1loss_reference(
    input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Squares near zero, absolute values elsewhere."""
    d = (input - target).abs()
    if beta == 0:
        return _reduced(d, reduction)
    return _reduced(wengert.where(d < beta, d * d / (2 * beta), d - beta / 2), reduction)


def huberloss_reference(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """`smoothl1loss_reference` times `delta`."""
    return delta * smoothl1loss_reference(input, target, reduction, delta)


def hingeembeddingloss_reference(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """The input itself for 1, how much less than the margin it is for -1."""
    return _reduced(wengert.where(target == 1, input, (margin - input).clamp_min(0)), reduction)


def softmarginloss_reference(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input))."""
    return _reduced((1 + (-target * input).exp()).log(), reduction)


def marginrankingloss_reference(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: str = "mean"
) -> Tensor:
    """How far the first is from being larger by the margin, or smaller where the target is -1."""
    return _reduced((margin - target * (input1 - input2)).clamp_min(0), reduction)


def cosineembeddingloss_reference(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: str = "mean"
) -> Tensor:
    """1 - cos for 1, how much the cosine exceeds the margin for -1."""
    lengths = [(x * x).sum(-1) + 1e-12 for x in (input1, input2)]
    cos = (input1 * input2).sum(-1) / (lengths[0] * lengths[1]).sqrt()
    return _reduced(wengert.where(target == 1, 1 - cos, (cos - margin).clamp_min(0)), reduction)


def tripletmarginloss_reference(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
    eps: float = 1e-6, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How much nearer than the margin the negative is, compared with the positive."""

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return ((a - b + eps).abs() ** p).sum(-1) ** (1 / p)

    far = distance(anchor, negative)
    far = wengert.minimum(far, distance(positive, negative)) if swap else far
    return _reduced((margin + distance(anchor, positive) - far).clamp_min(0), reduction)


def multimarginloss_reference(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1, weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How far the target's score is from exceeding each other one by the margin."""
    rows, classes = (input, target) if input.dim() == 2 else (input[None], target.view(1))
    own = rows.gather(1, classes.view(-1, 1))
    short = (margin - own + rows).clamp_min(0) ** p
    short = short if weight is None else short * weight[classes].view(-1, 1)
    losses = short.scatter(1, classes.view(-1, 1), 0.0).sum(1) / rows.size(1)
    return _reduced(losses if input.dim() == 2 else losses[0], reduction)


def multilabelmarginloss_reference(
    input: Tensor, target: Tensor, reduction: str = "mean"
) -> Tensor:
    """`multimarginloss_reference` of every target before the first -1, over the other classes."""
    rows, labels = (input, target) if input.dim() == 2 else (input[None], target[None])
    losses = []
    for scores, row in zip(rows, labels.tolist(), strict=True):
        own = row[: row.index(-1)] if -1 in row else row
        others = [i for i in range(len(row)) if i not in own]
        pairs = [(1 - scores[i] + scores[j]).clamp_min(0) for i in own for j in others]
        losses.append(sum(pairs, scores.new_zeros(())) / len(row))
    stacked = wengert.stack(losses)
    return _reduced(stacked if input.dim() == 2 else stacked[0], reduction)


def ctcloss_reference(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability of all paths that spell the targets, step by step."""
    sizes = [int(n) for n in target_lengths]
    losses = []
    start = 0
    for i, (steps, size) in enumerate(zip(input_lengths, sizes, strict=True)):
        labels = targets[start : start + size] if targets.dim() == 1 else targets[i, :size]
        start += size
        word = [blank]
        for label in labels.tolist():
            word += [label, blank]
        losses.append(_ctc_of_one(log_probs[: int(steps), i].double(), word))
    result = wengert.stack(losses)
    if reduction == "mean":
        per_label = result / wengert.tensor(sizes, dtype=result.dtype).clamp_min(1)
        return per_label.mean().to(log_probs.dtype)
    return _reduced(result, reduction).to(log_probs.dtype)


def _ctc_of_one(logs: Tensor, word: list[int]) -> Tensor:
    """For one sequence; `word` has a blank before, between and after its labels."""
    never = logs.new_full((), -math.inf)
    paths = [logs[0, word[s]] if s < 2 else never for s in range(len(word))]
    for step in logs[1:]:
        paths = [
            step[word[s]] + wengert.logsumexp(wengert.stack(_before(paths, word, s, never)), 0)
            for s in range(len(word))
        ]
    return -wengert.logsumexp(wengert.stack(paths[-2:]), 0)


def _before(paths: list[Tensor], word: list[int], s: int, never: Tensor) -> list[Tensor]:
    """The paths that a place of the word is reached by: its own, the last one's, a skip."""
    skips = s > 1 and word[s] not in (word[s - 2], word[0])
    return [paths[s], paths[s - 1] if s else never, paths[s - 2] if skips else never]


def single_batch_reference_fn(input: Any, parameters: Any, module: Any) -> Any:
    """The module of a batch of one, without that dimension."""
    with_batch = (
        [x.unsqueeze(0) for x in input] if isinstance(input, tuple | list) else [input.unsqueeze(0)]
    )
    return module(*with_batch).squeeze(0)


loss_reference_fns: dict[str, Callable[..., Any]] = {
    "KLDivLoss": kldivloss_reference,
    "NLLLoss": nllloss_reference,
    "NLLLossNd": nlllossNd_reference,
    "SmoothL1Loss": smoothl1loss_reference,
    "HuberLoss": huberloss_reference,
    "MultiLabelMarginLoss": multilabelmarginloss_reference,
    "HingeEmbeddingLoss": hingeembeddingloss_reference,
    "SoftMarginLoss": softmarginloss_reference,
    "MultiMarginLoss": multimarginloss_reference,
    "CosineEmbeddingLoss": cosineembeddingloss_reference,
    "TripletMarginLoss": tripletmarginloss_reference,
    "MarginRankingLoss": marginrankingloss_reference,
    "CTCLoss": ctcloss_reference,
    "CrossEntropyLoss": cross_entropy_loss_reference,
}

__all__ = [
    *(name for name in list(globals()) if name.endswith("_reference")), "loss_reference_fns",
    "single_batch_reference_fn",
]  # fmt: skip
