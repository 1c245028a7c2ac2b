"""Adamax."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._core import Tensor
from wengert.optim._stepping import (
    Stepping,
    Update,
    advance,
    blocks,
    check_options,
    decayed,
    lerp,
    number,
)
from wengert.optim.optimizer import Group


class Adamax(Stepping):
    """Adam with the largest recent gradient in the place of the squares (Kingma and Ba, 2014).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        betas: how much the average of gradients and the running maximum keep.
        eps: added to the size of each gradient.
        weight_decay: L2 penalty.
        foreach: accepted and without effect, as is `capturable`.
        maximize: ascend instead.
        differentiable: not offered.
        capturable: see `foreach`.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.Adamax([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        check_options(defaults)
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Update:
        lr, eps = number(group["lr"]), group["eps"]
        beta1, beta2 = group["betas"]

        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            state = self._state(p, "exp_avg", "exp_inf")
            rate = lr / (1 - beta1 ** advance(state))
            averages = state["exp_avg"]._array, state["exp_inf"]._array
            for p_, g_, mean, largest in blocks(array, g, *averages):
                g_ = decayed(g_, p_, group)
                lerp(mean, g_, 1 - beta1)
                size = np.abs(g_)
                size += eps
                largest *= beta2
                np.maximum(largest, size, out=largest)
                np.divide(mean, largest, out=size)
                size *= rate
                p_ -= size

        return update


__all__ = ["Adamax"]
