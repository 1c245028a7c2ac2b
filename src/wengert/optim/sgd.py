"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._core import Tensor
from wengert.optim._stepping import (
    Stepping,
    Update,
    blocks,
    check_options,
    decayed,
    number,
    zeros_like,
)
from wengert.optim.optimizer import Group


class SGD(Stepping):
    """Gradient descent; with `momentum`, along an average of the gradients.

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        momentum: how much of the last direction is kept.
        dampening: how much of the gradient is left out of the direction.
        weight_decay: L2 penalty.
        nesterov: look ahead along the direction.
        maximize: ascend instead.
        foreach: accepted and without effect, as is `fused`.
        differentiable: not offered.
        fused: see `foreach`.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.SGD([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0., 0.], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        check_options(defaults)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening, got"
                             f" momentum={momentum} and dampening={dampening}")  # fmt: skip
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Update:
        lr, momentum = number(group["lr"]), group["momentum"]
        if momentum != 0:
            return self._with_momentum(group, lr, momentum)
        as_it_is = not group["maximize"] and number(group["weight_decay"]) == 0

        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            for p_, g_ in blocks(array, g):
                p_ -= (g_ if as_it_is else decayed(g_, p_, group)) * lr

        return update

    def _with_momentum(self, group: Group, lr: float, momentum: float) -> Update:
        nesterov, share = group["nesterov"], 1 - group["dampening"]

        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            state = self.state[p]
            first = state.get("momentum_buffer") is None
            if first:
                state["momentum_buffer"] = zeros_like(array)
            for p_, g_, direction in blocks(array, g, state["momentum_buffer"]._array):
                change = decayed(g_, p_, group)
                if first:
                    direction[...] = change
                else:
                    direction *= momentum
                    direction += change if share == 1 else change * share
                p_ -= (change + direction * momentum if nesterov else direction) * lr

        return update


__all__ = ["SGD"]
