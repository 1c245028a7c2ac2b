"""Adafactor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.forks import hold_forks
from wengert.core.info import finfo
from wengert.core.tensor import Tensor, wrap
from wengert.optim._stepping import (
    Stepping,
    Update,
    advance,
    check_rate,
    move_towards,
    number,
    scalar,
    zero_state,
)
from wengert.optim.optimizer import Group


class Adafactor(Stepping):
    """Steps scaled by averages of squares, stored per row and column for matrices.

    The learning rate is relative to the size of a parameter (Shazeer and Stern, 2018).

    Args:
        params: tensors, pairs of name and tensor, or dictionaries of groups.
        lr: the largest relative learning rate.
        beta2_decay: the exponent of the step number in the decay of averages.
        eps: the smallest variance (by default that of the dtype), and the smallest parameter scale.
        d: the largest root mean square of an update.
        weight_decay: decoupled weight decay.
        foreach: accepted and without effect.
        maximize: ascend instead.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.Adafactor([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.7500, 0.7500], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_rate(lr)
        checks = {
            f"Learning rate should be >= 0 but is: {lr}": number(lr) >= 0,
            f"beta2_decay should be <= 0 but is: {beta2_decay}": beta2_decay <= 0,
            f"epsilon1 should be >= 0 but is: {eps[0]}": eps[0] is None or eps[0] >= 0,
            f"epsilon2 should be >= 0 but is: {eps[1]}": eps[1] >= 0,
            f"Clipping threshold d should be >= 1 but is: {d}": d >= 1,
            f"weight_decay should be >= 0 but is: {weight_decay}": weight_decay >= 0,
        }
        for message, fine in checks.items():
            if not fine:
                raise ValueError(message)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Update:
        lr, decay = number(group["lr"]), group["weight_decay"]
        least, least_size = group["eps"]

        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            if array.dtype.kind == "c":
                raise RuntimeError("Adafactor does not support complex parameters")
            state = self._begin(p, g)
            step = advance(state)
            if group["maximize"]:
                g = -g
            tiny = finfo(p.dtype).eps if least is None else least
            rate = max(least_size, _root_mean_square(array)) * min(lr, 1 / math.sqrt(step))
            if decay != 0:
                array *= 1 - lr * decay
            change = _variance(state, g, step ** group["beta2_decay"], tiny)
            np.maximum(change, tiny * tiny, out=change)
            np.sqrt(change, out=change)
            np.divide(g, change, out=change)
            change *= rate / max(1.0, _root_mean_square(change) / group["d"])
            array -= change

        return update

    def _begin(self, p: Tensor, g: np.ndarray) -> dict[str, Any]:
        """The state of a parameter; for a matrix a row and a column of variances."""
        state = self.state[p]
        if not state:
            state["step"] = scalar(0)
            if g.ndim > 1:
                state["row_var"] = wrap(np.zeros((*g.shape[:-1], 1), g.dtype))
                state["col_var"] = wrap(np.zeros((*g.shape[:-2], 1, g.shape[-1]), g.dtype))
            else:
                state["variance"] = zero_state(g)
        return state


def _variance(state: dict[str, Any], g: np.ndarray, weight: float, tiny: float) -> np.ndarray:
    """The expected squared gradients, from averages updated with the current ones."""
    square = g * g
    if g.ndim < 2:
        move_towards(state["variance"]._array, square, weight)
        return np.array(state["variance"]._array)
    row, column = state["row_var"]._array, state["col_var"]._array
    move_towards(row, square.mean(axis=-1, keepdims=True), weight)
    move_towards(column, square.mean(axis=-2, keepdims=True), weight)
    estimate: np.ndarray = row * column
    mean = row.mean(axis=-2, keepdims=True)
    mean[np.isinf(mean)] = np.nan  # division by 0 would give the largest steps of all
    estimate /= np.maximum(mean, tiny)
    return estimate


def _root_mean_square(array: np.ndarray) -> float:
    with hold_forks():
        return float(np.linalg.norm(array)) / math.sqrt(array.size)


__all__ = ["Adafactor"]
