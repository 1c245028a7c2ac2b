"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from wengert.core.sparse import CooTensor
from wengert.core.tensor import Tensor
from wengert.kernels import optim as formulas
from wengert.optim._sparse_rows import add_rows
from wengert.optim._stepping import (
    Elementwise,
    Numbers,
    State,
    UpdateRule,
    option,
    valid_defaults,
    zero_state,
)
from wengert.optim.optimizer import Group


class SGD(Elementwise):
    """Gradient descent; with `momentum`, along an average of the gradients.

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        momentum: the fraction of the previous direction to keep.
        dampening: the fraction of the gradient to leave out of the direction.
        weight_decay: L2 penalty.
        nesterov: look ahead along the direction.
        maximize: ascend instead.
        foreach: accepted and without effect, as is `fused`.
        differentiable: record the step, so that gradients pass through it.
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
        defaults = valid_defaults(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
            nesterov=nesterov, maximize=maximize, foreach=foreach,
            differentiable=differentiable, fused=fused,
        )  # fmt: skip
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening, got"
                             f" momentum={momentum} and dampening={dampening}")  # fmt: skip
        super().__init__(params, defaults)

    def _update_sparse(self, group: Group, p: Tensor, g: CooTensor) -> None:
        if option(group, "weight_decay") != 0:
            raise RuntimeError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead: weight_decay"
                " makes a sparse gradient dense"
            )
        direction: Any = -g if group["maximize"] else g
        momentum = group["momentum"]
        if momentum != 0:
            state = self.state[p]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = direction.clone().detach()
            else:
                buffer.mul_(momentum).add_(direction, alpha=1 - group["dampening"])
            direction = direction.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        add_rows(p, direction, -option(group, "lr"))

    def _rule(self, group: Group) -> UpdateRule:
        momentum = group["momentum"]
        options = {
            "maximize": group["maximize"],
            "averaged": momentum != 0,
            "nesterov": group["nesterov"],
        }
        later = {
            "lr": option(group, "lr"),
            "decay": option(group, "weight_decay"),
            "momentum": momentum,
            "keep": momentum,
            "share": 1 - group["dampening"],
        }
        first = {**later, "keep": 0.0, "share": 1.0}

        def prepare(p: Tensor) -> tuple[State, Numbers]:
            state = self.state[p] if momentum != 0 else {}
            if momentum != 0 and state.get("momentum_buffer") is None:
                state["momentum_buffer"] = zero_state(p._array)
                return state, first
            return state, later

        states = ("momentum_buffer" if momentum != 0 else None,)
        return UpdateRule(formulas.sgd, options, states, prepare, lambda _: later, counts=False)


__all__ = ["SGD"]
