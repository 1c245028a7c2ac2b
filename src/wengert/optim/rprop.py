"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._core import Tensor, wrap
from wengert.optim._stepping import (
    Stepping,
    Update,
    advance,
    blocks,
    check_options,
    number,
    reals,
    scalar,
    zeros_like,
)
from wengert.optim.optimizer import Group


class Rprop(Stepping):
    """Steps by the signs of the gradients, of a size kept for each element (Riedmiller, 1993).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the size of the first steps.
        etas: what a size is multiplied by where the sign has changed, and where it has not.
        step_sizes: the least and the largest size.
        capturable: accepted and without effect, as is `foreach`.
        foreach: see `capturable`.
        maximize: ascend instead.
        differentiable: not offered.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.Rprop([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.7500, 0.7500], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        check_options(defaults)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Update:
        lr, maximize = number(group["lr"]), group["maximize"]
        (less, more), bounds = group["etas"], group["step_sizes"]

        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            state = self.state[p]
            if not state:
                size = np.empty_like(array)
                reals(size)[...] = lr
                state |= {"step": scalar(0), "prev": zeros_like(array), "step_size": wrap(size)}
            advance(state)
            before = state["prev"]._array, state["step_size"]._array
            for p_, g_, previous, size in blocks(array, g, *before):
                if maximize:
                    g_ = -g_
                agreement = previous * g_
                turned = agreement < 0
                np.multiply(size, more, out=size, where=agreement > 0)
                np.multiply(size, less, out=size, where=turned)
                np.clip(size, *bounds, out=size)
                previous[...] = g_
                previous[turned] = 0
                change = np.sign(previous)
                change *= size
                p_ -= change

        return update


__all__ = ["Rprop"]
