"""RAdam."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert._core import Tensor
from wengert.optim._stepping import (
    Stepping,
    Update,
    advance,
    average_square,
    blocks,
    check_options,
    decayed_apart,
    lerp,
    number,
)
from wengert.optim.optimizer import Group


class RAdam(Stepping):
    """Adam that does not scale its first steps, while the variance is uncertain (Liu et al., 2019).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        betas: how much the averages of gradients and of their squares keep.
        eps: added to the denominator.
        weight_decay: L2 penalty.
        decoupled_weight_decay: decay weights apart from the gradient, as AdamW.
        foreach: accepted and without effect, as is `capturable`.
        maximize: ascend instead.
        capturable: see `foreach`.
        differentiable: not offered.

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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        check_options(defaults)
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Update:
        lr, eps = number(group["lr"]), group["eps"]
        beta1, beta2 = group["betas"]

        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            state = self._state(p, "exp_avg", "exp_avg_sq")
            step = advance(state)
            rate = lr / (1 - beta1**step)
            rectified = _rectification(beta2, step)
            moments = state["exp_avg"]._array, state["exp_avg_sq"]._array
            for p_, g_, mean, square in blocks(array, g, *moments):
                g_ = decayed_apart(g_, p_, group, lr)
                lerp(mean, g_, 1 - beta1)
                average_square(square, g_, beta2)
                change = mean * (rate * rectified if rectified else rate)
                if rectified:
                    scale = np.sqrt(square)
                    scale += eps
                    change /= scale
                p_ -= change

        return update


def _rectification(beta: float, step: float) -> float:
    """What the scaled step is multiplied by; 0 where the variance cannot be told yet."""
    kept = beta**step
    most = 2 / (1 - beta) - 1
    length = most - 2 * step * kept / (1 - kept)
    if length <= 5:
        return 0.0
    variance = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
    return math.sqrt(variance * (1 - kept))


__all__ = ["RAdam"]
