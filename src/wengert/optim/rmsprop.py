"""RMSprop."""

from __future__ import annotations

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
    decayed,
    lerp,
    number,
)
from wengert.optim.optimizer import Group


class RMSprop(Stepping):
    """Steps scaled by a running root mean square of the gradients (Hinton, 2012).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        alpha: how much the average of squares keeps.
        eps: added to the denominator.
        weight_decay: L2 penalty.
        momentum: how much of the last direction is kept.
        centered: scale by the standard deviation instead.
        capturable: accepted and without effect, as is `foreach`.
        foreach: see `capturable`.
        maximize: ascend instead.
        differentiable: not offered.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.RMSprop([w], lr=0.1, alpha=0.75)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        check_options(defaults)
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Update:
        centered, momentum = group["centered"], group["momentum"]
        names = ["square_avg"]
        names += ["momentum_buffer"] if momentum > 0 else []
        names += ["grad_avg"] if centered else []
        lr, alpha, eps = number(group["lr"]), group["alpha"], group["eps"]

        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            state = self._state(p, *names)
            advance(state)
            for p_, g_, square, *more in blocks(array, g, *(state[n]._array for n in names)):
                g_ = decayed(g_, p_, group)
                average_square(square, g_, alpha)
                if centered:
                    mean = more[-1]
                    lerp(mean, g_, 1 - alpha)
                    scale = np.sqrt(square - mean * mean)
                else:
                    scale = np.sqrt(square)
                scale += eps
                np.divide(g_, scale, out=scale)
                if momentum > 0:
                    more[0][...] = more[0] * momentum + scale
                    scale = more[0]
                p_ -= scale * lr

        return update


__all__ = ["RMSprop"]
