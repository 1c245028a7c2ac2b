"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert._core import Tensor
from wengert.optim._stepping import (
    Stepping,
    advance,
    average_square,
    blocks,
    check_options,
    decayed,
    lerp,
    number,
    step_count,
    zeros_like,
)
from wengert.optim.optimizer import Group


class Adam(Stepping):
    """Adam (Kingma and Ba, 2014): steps scaled by running moments of the gradients.

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        betas: how much the averages of gradients and of their squares keep.
        eps: added to the denominator.
        weight_decay: L2 penalty.
        amsgrad: divide by the largest average of squares so far.
        foreach: accepted and without effect, as are `capturable` and `fused`.
        maximize: ascend instead.
        capturable: see `foreach`.
        differentiable: not offered.
        fused: see `foreach`.
        decoupled_weight_decay: decay weights apart from the gradient, as AdamW.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.Adam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        check_options(defaults)
        super().__init__(params, defaults)

    def _update(self, p: Tensor, g: np.ndarray, group: Group) -> None:
        state = self.state[p]
        if not state:
            state["step"] = step_count()
            for name in ("exp_avg", "exp_avg_sq"):
                state[name] = zeros_like(p._array)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p._array)
        step, lr = advance(state), number(group["lr"])
        beta1, beta2 = (number(beta) for beta in group["betas"])
        rate = lr / (1 - beta1**step)
        correction = math.sqrt(1 - beta2**step)
        decoupled = 1 - lr * group["weight_decay"] if group["decoupled_weight_decay"] else None
        moments = [state[n]._array for n in ("exp_avg", "exp_avg_sq")]
        if group["amsgrad"]:
            moments.append(state["max_exp_avg_sq"]._array)
        for p_, g_, mean, square, *largest in blocks(p._array, g, *moments):
            if decoupled is None:
                g_ = decayed(g_, p_, group)
            else:
                p_ *= decoupled
                g_ = -g_ if group["maximize"] else g_
            lerp(mean, g_, 1 - beta1)
            average_square(square, g_, beta2)
            if largest:
                np.maximum(largest[0], square, out=largest[0])
            scale = np.sqrt(largest[0] if largest else square)
            scale /= correction
            scale += group["eps"]
            np.divide(mean, scale, out=scale)
            scale *= rate
            p_ -= scale


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter, 2017).

    Args are those of `Adam`.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.AdamW([w], lr=0.1, weight_decay=1.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip


__all__ = ["Adam", "AdamW"]
