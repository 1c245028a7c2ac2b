"""Averaged stochastic gradient descent."""

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
    number,
    scalar,
    zeros_like,
)
from wengert.optim.optimizer import Group


class ASGD(Stepping):
    """Gradient descent that also averages the parameters (Polyak and Juditsky, 1992).

    The average of a parameter is in its state, as ``"ax"``.

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate at the beginning.
        lambd: how much the parameters decay, and how fast the learning rate falls.
        alpha: the power by which the learning rate falls.
        t0: the step from which parameters are averaged.
        weight_decay: L2 penalty.
        foreach: accepted and without effect, as is `capturable`.
        maximize: ascend instead.
        differentiable: not offered.
        capturable: see `foreach`.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.ASGD([w], lr=0.25, lambd=0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        check_options({**defaults, "alpha": 0})  # a power may have any sign
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Update:
        lr, lambd, alpha, t0 = (number(group[name]) for name in ("lr", "lambd", "alpha", "t0"))

        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            state = self.state[p]
            if not state:
                state |= {"step": scalar(0), "eta": scalar(lr), "mu": scalar(1)}
                state["ax"] = zeros_like(array)
            step = advance(state)
            rate, weight = (state[name]._array for name in ("eta", "mu"))
            eta, mu = float(rate), float(weight)
            for p_, g_, average in blocks(array, g, state["ax"]._array):
                g_ = decayed(g_, p_, group)
                p_ *= 1 - lambd * eta
                p_ -= g_ * eta
                if mu == 1:
                    average[...] = p_
                else:
                    average += (p_ - average) * mu
            # Rounded as numbers of state are, also where loading has taken these to float64.
            rate[...] = scalar(lr / (1 + lambd * lr * step) ** alpha)._array
            weight[...] = scalar(1 / max(1, step - t0))._array

        return update


__all__ = ["ASGD"]
