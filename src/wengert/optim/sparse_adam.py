"""SparseAdam."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.sparse import CooTensor, SparseTensor
from wengert.core.tensor import Tensor
from wengert.optim._sparse_rows import summed_rows
from wengert.optim._stepping import Stepping, Update, number, valid_defaults, zero_state
from wengert.optim.optimizer import Group


class SparseAdam(Stepping):
    """Adam for sparse gradients: averages and parameters change where the gradient has values.

    RuntimeError for a dense gradient, which `Adam` is for.

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the learning rate.
        betas: how much the averages of gradients and of their squares keep.
        eps: added to the denominator.
        maximize: ascend instead.

    >>> import wengert
    >>> table = wengert.nn.Embedding.from_pretrained(wengert.ones(3, 2), freeze=False, sparse=True)
    >>> optimizer = wengert.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(wengert.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> table.weight.detach()
    tensor([[1.0000, 1.0000],
            [0.9000, 0.9000],
            [1.0000, 1.0000]])
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
        places = [
            ([i, j], p)
            for i, group in enumerate(self.param_groups)
            for j, p in enumerate(group["params"])
        ]
        sparse = [place for place, p in places if isinstance(p, SparseTensor)]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )
        wrong = [place for place, p in places if p._array.dtype.kind == "c"]
        if wrong:
            raise ValueError(
                f"Complex params at indices {wrong}: SparseAdam does not support complex parameters"
            )

    def _update_sparse(self, group: Group, p: Tensor, g: CooTensor) -> None:
        state = self.state[p]
        if not state:
            state |= {
                "step": 0,
                "exp_avg": zero_state(p._array),
                "exp_avg_sq": zero_state(p._array),
            }
        state["step"] += 1
        key, values = summed_rows(-g if group["maximize"] else g)
        if not values.size:
            return
        beta1, beta2 = (number(beta) for beta in group["betas"])
        average, squares = state["exp_avg"]._array, state["exp_avg_sq"]._array
        average[key] += (values - average[key]) * (1 - beta1)
        squares[key] += (values * values - squares[key]) * (1 - beta2)
        correction = np.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        rate = float(number(group["lr"]) * correction)
        p._array[key] += -rate * (average[key] / (np.sqrt(squares[key]) + group["eps"]))

    def _rule(self, group: Group) -> Update:
        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )

        return update


__all__ = ["SparseAdam"]
