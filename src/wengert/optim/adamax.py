"""Adamax."""

from __future__ import annotations

from typing import Any

from wengert.kernels import optim as formulas
from wengert.optim._stepping import Elementwise, Numbers, UpdateRule, option, valid_defaults
from wengert.optim.optimizer import Group


class Adamax(Elementwise):
    """Adam with a running maximum instead of the squares (Kingma and Ba, 2014).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        betas: the decay rates of the average of gradients and of the running maximum.
        eps: added to the magnitude of each gradient.
        weight_decay: L2 penalty.
        foreach: accepted and without effect, as is `capturable`.
        maximize: ascend instead.
        differentiable: record the step, so that gradients pass through it.
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
        defaults = valid_defaults(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach,
            maximize=maximize, differentiable=differentiable, capturable=capturable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> UpdateRule:
        lr, (beta1, beta2) = option(group, "lr"), group["betas"]
        names = ("exp_avg", "exp_inf")

        def numbers(step: float) -> Numbers:
            return {
                "rate": lr / (1 - beta1**step),
                "share": 1 - beta1,
                "keep": beta2,
                "eps": group["eps"],
                "decay": option(group, "weight_decay"),
            }

        options = {"maximize": group["maximize"]}
        return UpdateRule(formulas.adamax, options, names, self._by_step(names, numbers), numbers)


__all__ = ["Adamax"]
