"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.kernels import optim as formulas
from wengert.optim._stepping import (
    Elementwise,
    Numbers,
    State,
    UpdateRule,
    constant,
    filled_state,
    scalar,
    valid_defaults,
    zero_state,
)
from wengert.optim.optimizer import Group


class Rprop(Elementwise):
    """Steps by the signs of the gradients, with a step size per element (Riedmiller, 1993).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the size of the first steps.
        etas: the factors of a step size when the sign has changed, and when it has not.
        step_sizes: the smallest and the largest step size.
        capturable: accepted and without effect, as is `foreach`.
        foreach: see `capturable`.
        maximize: ascend instead.
        differentiable: record the step, so that gradients pass through it.

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
        defaults = valid_defaults(
            lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        )  # fmt: skip
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> UpdateRule:
        lr = constant(group, group["lr"])
        (less, more), (least, most) = group["etas"], group["step_sizes"]
        same = {"less": less, "more": more, "least": least, "most": most}

        def begin(p: Tensor) -> State:
            state = self.state[p]
            if not state:
                size = filled_state(p._array, lr)
                state |= {"step": scalar(0), "prev": zero_state(p._array), "step_size": size}
            return state

        options = {"maximize": group["maximize"]}

        def numbers(step: float) -> Numbers:
            return same

        prepare = self._by_step((), numbers, begin)
        return UpdateRule(formulas.rprop, options, ("prev", "step_size"), prepare, numbers)


__all__ = ["Rprop"]
