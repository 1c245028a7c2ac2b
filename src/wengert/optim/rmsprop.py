"""RMSprop."""

from __future__ import annotations

from typing import Any

from wengert.kernels import optim as formulas
from wengert.optim._stepping import Elementwise, Numbers, UpdateRule, number, option, valid_defaults
from wengert.optim.optimizer import Group


class RMSprop(Elementwise):
    """Steps scaled by a running root mean square of the gradients (Hinton, 2012).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        alpha: the decay of the average of squares.
        eps: added to the denominator.
        weight_decay: L2 penalty.
        momentum: the fraction of the previous direction to keep.
        centered: scale by the standard deviation instead.
        capturable: accepted and without effect, as is `foreach`.
        foreach: see `capturable`.
        maximize: ascend instead.
        differentiable: record the step, so that gradients pass through it.

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
        defaults = valid_defaults(
            lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
            weight_decay=weight_decay, capturable=capturable, foreach=foreach,
            maximize=maximize, differentiable=differentiable,
        )  # fmt: skip
        if not number(alpha) >= 0:
            raise ValueError(f"Invalid alpha value: {alpha}")
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> UpdateRule:
        centered, momentum, alpha = group["centered"], group["momentum"], group["alpha"]
        states = (
            "square_avg",
            "momentum_buffer" if momentum > 0 else None,
            "grad_avg" if centered else None,
        )
        same = {
            "lr": option(group, "lr"),
            "keep": alpha,
            "rest": 1 - alpha,
            "momentum": momentum,
            "eps": group["eps"],
            "decay": option(group, "weight_decay"),
        }
        options = {"maximize": group["maximize"], "averaged": momentum > 0, "centered": centered}
        names = tuple([name for name in states if name])

        def numbers(step: float) -> Numbers:
            return same

        prepare = self._by_step(names, numbers)
        return UpdateRule(formulas.rmsprop, options, states, prepare, numbers)


__all__ = ["RMSprop"]
