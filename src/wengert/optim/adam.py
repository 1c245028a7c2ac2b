"""Adam."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.tensor import Tensor
from wengert.kernels import optim as formulas
from wengert.optim._stepping import (
    Elementwise,
    Numbers,
    UpdateRule,
    constant,
    option,
    valid_defaults,
    weight_decay_options,
)
from wengert.optim.optimizer import Group


class Adam(Elementwise):
    """Adam (Kingma and Ba, 2014): steps scaled by running moments of the gradients.

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        betas: the decay rates of the averages of gradients and of their squares.
        eps: added to the denominator.
        weight_decay: L2 penalty.
        amsgrad: divide by the largest average of squares so far.
        foreach: accepted and without effect, as are `capturable` and `fused`.
        maximize: ascend instead.
        capturable: see `foreach`.
        differentiable: record the step, so that gradients pass through it.
        fused: see `foreach`.
        decoupled_weight_decay: decouple weight decay from the gradient, as AdamW.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.Adam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    _instead_of_sparse = ", please consider SparseAdam instead"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _check_tensors(lr, betas, capturable=capturable, foreach=foreach)
        defaults = valid_defaults(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
            maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable, fused=fused,
            decoupled_weight_decay=decoupled_weight_decay,
        )  # fmt: skip
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("decoupled_weight_decay", False)

    def _rule(self, group: Group) -> UpdateRule:
        lr, amsgrad = option(group, "lr"), group["amsgrad"]
        beta1, beta2 = (constant(group, beta) for beta in group["betas"])
        names = ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if amsgrad else ()))
        options, decay = weight_decay_options(group, lr)

        def numbers(step: float) -> Numbers:
            return {
                "rate": lr / (1 - beta1**step),
                "share": 1 - beta1,
                "keep": beta2,
                "rest": 1 - beta2,
                "inverse": 1 / math.sqrt(1 - beta2**step),
                "eps": group["eps"],
                **decay,
            }

        options["amsgrad"] = amsgrad
        states = (*names, None)[:3]
        return UpdateRule(formulas.adam, options, states, self._by_step(names, numbers), numbers)


def _check_tensors(
    lr: Any, betas: tuple[Any, Any], *, capturable: bool, foreach: bool | None
) -> None:
    """Raise ValueError for tensor options where they are not allowed."""
    several = foreach and not capturable
    if several and isinstance(lr, Tensor):
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
    if len({isinstance(beta, Tensor) for beta in betas}) > 1:
        raise ValueError(f"betas must be either both floats or both Tensors, got {betas}")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor) and beta._array.size != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
        if several and isinstance(beta, Tensor):
            raise ValueError(
                f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True"
            )


__all__ = ["Adam"]
