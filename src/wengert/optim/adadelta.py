"""Adadelta."""

from __future__ import annotations

from typing import Any

from wengert.kernels import optim as formulas
from wengert.optim._stepping import Elementwise, Numbers, UpdateRule, option, valid_defaults
from wengert.optim.optimizer import Group


class Adadelta(Elementwise):
    """Steps in the units of the parameters: scaled by those before them (Zeiler, 2012).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the factor of the steps.
        rho: the decay of the averages of squares.
        eps: added under both roots.
        weight_decay: L2 penalty.
        foreach: accepted and without effect, as is `capturable`.
        capturable: see `foreach`.
        maximize: ascend instead.
        differentiable: record the step, so that gradients pass through it.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.Adadelta([w], lr=100.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.6838, 0.6838], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if rho > 1:
            raise ValueError(f"Invalid rho value: {rho}")
        defaults = valid_defaults(
            lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
            capturable=capturable, foreach=foreach, differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> UpdateRule:
        rho, names = group["rho"], ("square_avg", "acc_delta")
        same = {
            "lr": option(group, "lr"),
            "keep": rho,
            "rest": 1 - rho,
            "eps": group["eps"],
            "decay": option(group, "weight_decay"),
        }
        options = {"maximize": group["maximize"]}

        def numbers(step: float) -> Numbers:
            return same

        prepare = self._by_step(names, numbers)
        return UpdateRule(formulas.adadelta, options, names, prepare, numbers)


__all__ = ["Adadelta"]
