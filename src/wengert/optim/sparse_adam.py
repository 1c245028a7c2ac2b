"""SparseAdam."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.optim._stepping import Stepping, Update, number, valid_defaults
from wengert.optim.optimizer import Group


class SparseAdam(Stepping):
    """Adam for sparse gradients, which do not exist here: every step raises RuntimeError.

    It exists so that programs can name it; use `Adam` for dense gradients.

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        betas: the decay rates of the averages of gradients and of their squares.
        eps: added to the denominator.
        maximize: ascend instead.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.SparseAdam([w])
    >>> w.sum().backward()
    >>> optimizer.step()
    Traceback (most recent call last):
    ...
    RuntimeError: SparseAdam does not support dense gradients, please consider Adam instead
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        defaults = valid_defaults(lr=lr, betas=betas, eps=eps, maximize=maximize)
        for name, what in (("lr", "learning rate"), ("eps", "epsilon value")):
            if not number(defaults[name]) > 0:
                raise ValueError(f"Invalid {what}: {defaults[name]}")
        super().__init__(params, defaults)
        wrong = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, p in enumerate(group["params"])
            if p._array.dtype.kind == "c"
        ]
        if wrong:
            raise ValueError(
                f"Complex params at indices {wrong}: SparseAdam does not support complex parameters"
            )

    def _rule(self, group: Group) -> Update:
        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )

        return update


__all__ = ["SparseAdam"]
