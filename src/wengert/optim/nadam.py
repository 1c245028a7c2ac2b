"""NAdam."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.kernels import optim as formulas
from wengert.optim._stepping import (
    Elementwise,
    Numbers,
    State,
    UpdateRule,
    advance,
    option,
    scalar,
    valid_defaults,
    weight_decay_options,
    zero_state,
)
from wengert.optim.optimizer import Group


class NAdam(Elementwise):
    """Adam with Nesterov momentum whose weight grows with the steps (Dozat, 2016).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        betas: the decay rates of the averages of gradients and of their squares.
        eps: added to the denominator.
        weight_decay: L2 penalty.
        momentum_decay: how fast the weight of the momentum approaches ``betas[0]``.
        decoupled_weight_decay: decouple weight decay from the gradient, as AdamW.
        foreach: accepted and without effect, as is `capturable`.
        maximize: ascend instead.
        capturable: see `foreach`.
        differentiable: record the step, so that gradients pass through it.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8944, 0.8944], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = valid_defaults(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
            momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> UpdateRule:
        lr, decay = option(group, "lr"), group["momentum_decay"]
        beta1, beta2 = group["betas"]
        options, decay_numbers = weight_decay_options(group, lr)
        same = {"share": 1 - beta1, "keep": beta2, "rest": 1 - beta2, "eps": group["eps"]}

        def prepare(p: Tensor) -> tuple[State, Numbers]:
            state = self.state[p]
            if not state:
                state |= {"step": scalar(0), "mu_product": scalar(1)}
                state |= {name: zero_state(p._array) for name in ("exp_avg", "exp_avg_sq")}
            step = advance(state)
            now, then = (beta1 * (1 - 0.5 * 0.96 ** (n * decay)) for n in (step, step + 1))
            product = state["mu_product"]._array
            np.multiply(product, now, out=product)
            return state, {
                "of_gradient": lr * (1 - now) / (1 - float(product)),
                "of_mean": lr * then / (1 - float(product) * then),
                "correction": 1 - beta2**step,
                **same,
                **decay_numbers,
            }

        return UpdateRule(formulas.nadam, options, ("exp_avg", "exp_avg_sq"), prepare)


__all__ = ["NAdam"]
