"""RAdam."""

from __future__ import annotations

import math
from typing import Any

from wengert.kernels import optim as formulas
from wengert.optim._stepping import (
    Elementwise,
    Numbers,
    UpdateRule,
    option,
    valid_defaults,
    weight_decay_options,
)
from wengert.optim.optimizer import Group


class RAdam(Elementwise):
    """Adam that does not scale early steps, while the variance is uncertain (Liu et al., 2019).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        betas: the decay rates of the averages of gradients and of their squares.
        eps: added to the denominator.
        weight_decay: L2 penalty.
        decoupled_weight_decay: decouple weight decay from the gradient, as AdamW.
        foreach: accepted and without effect, as is `capturable`.
        maximize: ascend instead.
        capturable: see `foreach`.
        differentiable: record the step, so that gradients pass through it.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.RAdam([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = valid_defaults(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
            foreach=foreach, capturable=capturable,
            decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> UpdateRule:
        lr = option(group, "lr")
        beta1, beta2 = group["betas"]
        names = ("exp_avg", "exp_avg_sq")
        options, decay = weight_decay_options(group, lr)

        def numbers(step: float) -> Numbers:
            rectified = _rectification(beta2, step)
            return {
                "rate": lr / (1 - beta1**step) * (rectified or 1.0),
                "scaled": rectified,
                "share": 1 - beta1,
                "keep": beta2,
                "rest": 1 - beta2,
                "eps": group["eps"],
                **decay,
            }

        return UpdateRule(formulas.radam, options, names, self._by_step(names, numbers), numbers)


def _rectification(beta: float, step: float) -> float:
    """The factor of the scaled step; 0 while the variance cannot be estimated."""
    decay = beta**step
    most = 2 / (1 - beta) - 1
    length = most - 2 * step * decay / (1 - decay)
    if length <= 5:
        return 0.0
    variance = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
    return math.sqrt(variance * (1 - decay))


__all__ = ["RAdam"]
