"""Adaptive softmax for many classes of which few are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from wengert.core.tensor import Tensor, memory_of
from wengert.nn import functional as F
from wengert.nn.module import Module
from wengert.nn.modules.container import ModuleList, Sequential
from wengert.nn.modules.linear import Linear
from wengert.ops.joining import cat


class _ASMoutput(NamedTuple):
    """The result of `AdaptiveLogSoftmaxWithLoss`."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of targets among many classes, sorted by frequency, and their loss.

    The first ``cutoffs[0]`` classes are in the head; each cluster between cutoffs has one entry
    there and its own projection, ``div_value`` times narrower than the previous one, which is
    computed only for samples with a target in that cluster.

    Args:
        in_features: features of the input.
        n_classes: number of classes.
        cutoffs: increasing class indices at which a cluster of rarer classes begins.
        div_value: factor by which the features of each cluster shrink.
        head_bias: whether to learn a bias for the most frequent classes.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> layer = wengert.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10])
    >>> layer(wengert.zeros(3, 8), wengert.tensor([0, 7, 19])).output.shape
    torch.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        bounds = list(cutoffs)
        if not bounds:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            bounds != sorted(set(bounds))
            or not 0 < bounds[0] <= bounds[-1] < n_classes
            or any(int(c) != c for c in bounds)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing"
                f" order, where each value is between 1 and n_classes-1; got {bounds}"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*bounds, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = bounds[0], len(bounds)
        self.head_size = self.shortlist_size + self.n_clusters
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for k, (low, high) in enumerate(self._clusters()):
            width = int(in_features // div_value ** (k + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **factory),
                    Linear(width, high - low, bias=False, **factory),
                )
            )

    def _clusters(self) -> list[tuple[int, int]]:
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def reset_parameters(self) -> None:
        """Reinitialise all weights."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check(input_, target_)
        single = target_.ndim == 0
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        head = F.log_softmax(self.head(input), 1)
        head_index, by_cluster = target, []
        for k, (low, high) in enumerate(self._clusters()):
            inside = (target >= low) & (target < high)
            head_index = head_index.masked_fill(inside, self.shortlist_size + k)
            rows = inside.nonzero().squeeze(1)
            if len(rows):
                log_probs = F.log_softmax(self.tail[k](input.index_select(0, rows)), 1)
                by_cluster.append(
                    (rows, log_probs.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1))
                )
        output = head.gather(1, head_index.unsqueeze(1)).squeeze(1)
        for rows, log_probs in by_cluster:
            output = output.index_add(0, rows, log_probs)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _check(self, input: Tensor, target: Tensor) -> None:
        if target.ndim > 1:
            raise RuntimeError(
                f"0D or 1D target tensor expected, multi-target not supported; got {target.ndim}D"
            )
        if target.ndim == 1 and input.shape[0] != target.shape[0]:
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension, got"
                f" {input.shape[0]} and {target.shape[0]}."
            )
        if input.ndim != target.ndim + 1:
            raise RuntimeError(
                f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found"
                f" inputs with size {input.shape}"
            )
        values = memory_of(target)
        if values.size and not 0 <= values.min() <= values.max() < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range"
                f" [{values.min()}, {values.max()}] were found."
            )

    def _of_all_classes(self, input: Tensor, head: Tensor) -> Tensor:
        """Log-probabilities of all classes, from the output of the head."""
        head, size = F.log_softmax(head, 1), self.shortlist_size
        log_probs = [head[:, :size]]
        for k, cluster in enumerate(self.tail):
            log_probs.append(F.log_softmax(cluster(input), 1) + head[:, size + k].unsqueeze(1))
        return cat(log_probs, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities (N, n_classes) of all classes."""
        return self._of_all_classes(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample; tails are computed only where needed."""
        head = self.head(input)
        output = head.argmax(1)
        rows = (output >= self.shortlist_size).nonzero().squeeze(1)
        if len(rows):
            log_probs = self._of_all_classes(
                input.index_select(0, rows), head.index_select(0, rows)
            )
            output = output.index_copy(0, rows, log_probs.argmax(1))
        return output


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
