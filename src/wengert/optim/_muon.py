"""Muon."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from wengert.core.forks import hold_forks
from wengert.core.outline import Outline
from wengert.core.tensor import Tensor
from wengert.kernels.products.blas import dot
from wengert.optim._stepping import Stepping, Update, check_rate, move_towards, number, zero_state
from wengert.optim.optimizer import Group


class Muon(Stepping):
    """Orthogonalised momentum, for the matrices of hidden layers (Jordan, 2024).

    Use another optimizer for other parameters, such as biases and embeddings.

    Args:
        params: matrices, pairs of name and matrix, or dictionaries of groups.
        lr: the learning rate.
        weight_decay: decoupled weight decay.
        momentum: the decay of the average of gradients.
        nesterov: look ahead along the average.
        ns_coefficients: of the polynomial that each iteration applies to the singular values.
        eps: the smallest norm to divide the momentum by.
        ns_steps: the number of iterations.
        adjust_lr_fn: how the learning rate depends on the shape: ``"original"`` (as None), or
            ``"match_rms_adamw"`` for steps of the size of those of AdamW.

    >>> import wengert
    >>> w = wengert.zeros(2, 2, requires_grad=True)
    >>> optimizer = wengert.optim.Muon([w], lr=0.5)
    >>> (w * wengert.eye(2)).sum().backward()
    >>> optimizer.step()
    >>> (w[0, 0] == w[1, 1]).item()
    True
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        if not number(lr) >= 0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not momentum >= 0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p._array.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size:"
                        f" {p.shape}"
                    )

    def _rule(self, group: Group) -> Update:
        lr, momentum = number(group["lr"]), group["momentum"]
        options = group["ns_coefficients"], group["ns_steps"], group["eps"]

        def update(p: Tensor, array: np.ndarray, g: np.ndarray) -> None:
            if array.dtype.kind == "c":
                raise RuntimeError("Muon does not support complex parameters")
            if g.ndim != 2:
                raise ValueError(f"Param gradient must be a 2D matrix, got shape {g.shape}")
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = zero_state(g)
            if isinstance(array, Outline):  # on the meta device: there is nothing to update
                return
            average = state["momentum_buffer"]._array
            move_towards(average, g, 1 - momentum)
            if group["nesterov"]:
                g = g.copy()
                move_towards(g, average, momentum)
            else:
                g = average
            change = _orthogonal(g, *options).astype(array.dtype)
            change *= lr * _size(group["adjust_lr_fn"], *array.shape)
            array *= 1 - lr * group["weight_decay"]
            array -= change

        return update


def _size(adjustment: str | None, rows: int, columns: int) -> float:
    """The factor of the learning rate of a matrix."""
    if adjustment == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonal(
    matrix: np.ndarray, coefficients: tuple[float, float, float], steps: int, eps: float
) -> np.ndarray:
    """A matrix with the same singular vectors and singular values near 1, by Newton-Schulz.

    Every product is rounded to bfloat16, with which published learning rates were tuned.
    """
    if steps >= 100:
        raise ValueError(
            f"Number of steps must be less than 100 for computational efficiency, got {steps}"
        )
    if len(coefficients) != 3:
        raise ValueError(f"Coefficients must be a tuple of exactly 3 values, got {coefficients}")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = _round_to_bfloat16(matrix.T if tall else matrix)
    with hold_forks():
        norm = _round_to_bfloat16(np.linalg.norm(x))
    x = _round_to_bfloat16(x / np.maximum(norm, _round_to_bfloat16(np.float32(eps))))
    for _ in range(steps):
        gram = _round_to_bfloat16(dot(x, x.T))
        factor = _round_to_bfloat16(b * gram + c * dot(gram, gram))
        x = _round_to_bfloat16(a * x + dot(factor, x))
    return x.T if tall else x


def _round_to_bfloat16(array: Any) -> Any:
    """Rounded to the precision of bfloat16, as float32."""
    return np.asarray(array).astype(ml_dtypes.bfloat16).astype(np.float32)


__all__ = ["Muon"]
