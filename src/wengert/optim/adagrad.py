"""Adagrad."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._core import Tensor, wrap
from wengert.optim._stepping import (
    State,
    Stepping,
    Update,
    advance,
    blocks,
    check_options,
    decayed,
    number,
    reals,
    scalar,
)
from wengert.optim.optimizer import Group


class Adagrad(Stepping):
    """Steps scaled by the root of the sum of all squared gradients (Duchi et al., 2011).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        lr_decay: how fast the learning rate falls with the steps.
        weight_decay: L2 penalty.
        initial_accumulator_value: where the sum of squares begins.
        eps: added to the denominator.
        foreach: accepted and without effect, as is `fused`.
        maximize: ascend instead.
        differentiable: not offered.
        fused: see `foreach`.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        check_options(defaults)
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(p)

    def _begin(self, p: Tensor) -> State:
        """The state of a parameter, made where there is none."""
        state = self.state[p]
        if not state:
            total = np.empty_like(p._array)
            reals(total)[...] = self.defaults["initial_accumulator_value"]
            state |= {"step": scalar(0), "sum": wrap(total)}
        return state

    def _rule(self, group: Group) -> Update:
        lr, eps = number(group["lr"]), group["eps"]

        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            state = self._begin(p)
            step = advance(state)
            rate = lr / (1 + (step - 1) * group["lr_decay"])
            for p_, g_, total in blocks(array, g, state["sum"]._array):
                g_ = decayed(g_, p_, group)
                total += g_ * g_
                scale = np.sqrt(total)
                scale += eps
                np.divide(g_, scale, out=scale)
                scale *= rate
                p_ -= scale

        return update


__all__ = ["Adagrad"]
