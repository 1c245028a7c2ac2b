"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.kernels import optim as formulas
from wengert.optim._stepping import (
    Elementwise,
    Numbers,
    State,
    UpdateRule,
    advance,
    constant,
    option,
    scalar,
    valid_defaults,
    zero_state,
)
from wengert.optim.optimizer import Group


class ASGD(Elementwise):
    """Gradient descent that also averages the parameters (Polyak and Juditsky, 1992).

    The average of a parameter is in its state, as ``"ax"``.

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the initial learning rate.
        lambd: the decay of the parameters and of the learning rate.
        alpha: the exponent of the learning rate's decay.
        t0: the step from which parameters are averaged.
        weight_decay: L2 penalty.
        foreach: accepted and without effect, as is `capturable`.
        maximize: ascend instead.
        differentiable: record the step, so that gradients pass through it.
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
        defaults = valid_defaults(
            lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach,
            maximize=maximize, differentiable=differentiable, capturable=capturable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> UpdateRule:
        lr, lambd, alpha, t0 = (
            constant(group, group[name]) for name in ("lr", "lambd", "alpha", "t0")
        )
        decay = option(group, "weight_decay")

        def prepare(p: Tensor) -> tuple[State, Numbers]:
            state = self.state[p]
            if not state:
                state |= {"step": scalar(0), "eta": scalar(lr), "mu": scalar(1)}
                state["ax"] = zero_state(p._array)
            step = advance(state)
            rate, weight = (state[name]._array for name in ("eta", "mu"))
            eta, mu = float(rate), float(weight)
            # Rounded like numbers of the state, even if loading has converted those to float64.
            rate[...] = scalar(lr / (1 + lambd * lr * step) ** alpha)._array
            weight[...] = scalar(1 / max(1, step - t0))._array
            return state, {"eta": eta, "shrink": 1 - lambd * eta, "mu": mu, "decay": decay}

        return UpdateRule(formulas.asgd, {"maximize": group["maximize"]}, ("ax",), prepare)


__all__ = ["ASGD"]
