"""Adagrad."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.sparse import CooTensor
from wengert.core.tensor import Tensor
from wengert.kernels import optim as formulas
from wengert.optim._sparse_rows import summed_rows
from wengert.optim._stepping import (
    Elementwise,
    Numbers,
    State,
    UpdateRule,
    advance,
    filled_state,
    option,
    scalar,
    valid_defaults,
)
from wengert.optim.optimizer import Group


class Adagrad(Elementwise):
    """Steps scaled by the root of the sum of all squared gradients (Duchi et al., 2011).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        lr_decay: the decay of the learning rate per step.
        weight_decay: L2 penalty.
        initial_accumulator_value: the initial sum of squares.
        eps: added to the denominator.
        foreach: accepted and without effect, as is `fused`.
        maximize: ascend instead.
        differentiable: record the step, so that gradients pass through it.
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
        defaults = valid_defaults(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, foreach=foreach,
            maximize=maximize, differentiable=differentiable, fused=fused,
        )  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(p)

    def _begin(self, p: Tensor) -> State:
        """The state of a parameter, created if missing."""
        state = self.state[p]
        if not state:
            total = filled_state(p._array, self.defaults["initial_accumulator_value"])
            state |= {"step": scalar(0), "sum": total}
        return state

    def _update_sparse(self, group: Group, p: Tensor, g: CooTensor) -> None:
        if option(group, "weight_decay") != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state = self._begin(p)
        step = advance(state)
        key, values = summed_rows(-g if group["maximize"] else g)
        total = state["sum"]._array
        total[key] += values * values
        rate = option(group, "lr") / (1 + (step - 1) * group["lr_decay"])
        p._array[key] += -rate * (values / (np.sqrt(total[key]) + group["eps"]))

    def _rule(self, group: Group) -> UpdateRule:
        lr = option(group, "lr")

        def numbers(step: float) -> Numbers:
            return {
                "rate": lr / (1 + (step - 1) * group["lr_decay"]),
                "eps": group["eps"],
                "decay": option(group, "weight_decay"),
            }

        options = {"maximize": group["maximize"]}
        prepare = self._by_step((), numbers, self._begin)
        return UpdateRule(formulas.adagrad, options, ("sum",), prepare, numbers)


__all__ = ["Adagrad"]
