"""What the rules share: the loop of a step, blocks of arrays, checks of options.

A rule works on NumPy arrays, block by block: whatever temporaries it needs stay in the
cache, and a step over a large parameter reads and writes memory about once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert import _dtypes
from wengert._core import Tensor, caller, getframe, wrap
from wengert._storage import before_write, stamp
from wengert.autograd._mode import enable_grad
from wengert.optim.optimizer import Group, Optimizer

_BLOCK = 1 << 15  # elements; six float32 arrays of this size fit into a second-level cache

State = dict[str, Any]


class Stepping(Optimizer):
    """An optimizer whose rule updates one parameter from its gradient alone."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients, in place.

        Args:
            closure: computes the loss (and its gradients) anew; called first where given, and
                what it returns is the result.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        name, where = f"{type(self).__name__}.step()", caller(getframe(1))
        for group in self.param_groups:
            for p in group["params"]:
                g = getattr(p, "_grad", None)
                if g is not None:
                    before_write(p._array)
                    self._update(p, g._array, group)
                    stamp(p._array, name, *where)
        return loss

    def _update(self, p: Tensor, g: np.ndarray, group: Group) -> None:
        """Change the array of a parameter, and its state, by one step."""
        raise NotImplementedError


def blocks(*arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """The same elements of all arrays, a block at a time; complex numbers as pairs of reals."""
    first = arrays[0]
    if first.ndim == 0:
        arrays = tuple(a.reshape(1) for a in arrays)
    if first.dtype.kind == "c":
        arrays = tuple(a[..., None].view(a.real.dtype) for a in arrays)
    if first.size <= _BLOCK or not all(a.flags.c_contiguous for a in arrays):
        yield arrays
        return
    flat = [a.reshape(-1) for a in arrays]
    for start in range(0, flat[0].size, _BLOCK):
        yield tuple(a[start : start + _BLOCK] for a in flat)


def decayed(g: np.ndarray, p: np.ndarray, group: Group) -> np.ndarray:
    """The gradient of what is minimised: its sign by `maximize`, with L2 decay."""
    if group["maximize"]:
        g = -g
    decay = number(group["weight_decay"])
    return g + p * decay if decay != 0 else g


def lerp(average: np.ndarray, value: np.ndarray, weight: float) -> None:
    """Move an average towards a value, in place."""
    change = value - average
    change *= weight
    average += change


def average_square(average: np.ndarray, g: np.ndarray, keep: float) -> None:
    """Update an average of squares, in place."""
    square = g * (1 - keep)
    square *= g
    average *= keep
    average += square


def advance(state: State) -> float:
    """Count a step; the count is a tensor, as PyTorch saves it."""
    step: np.ndarray = state["step"]._array
    step += 1
    return float(step)


def step_count() -> Tensor:
    """The count of steps at the beginning."""
    return scalar(0)


def scalar(value: float) -> Tensor:
    """A number as a tensor of state."""
    wide = _dtypes.defaults.dtype is _dtypes.float64
    return wrap(np.array(value, np.float64 if wide else np.float32))


def zeros_like(p: np.ndarray) -> Tensor:
    """Zeros in the shape, dtype and layout of a parameter."""
    return wrap(np.zeros_like(p))


def number(value: Any) -> Any:
    """An option that may be a tensor of one element, as a number."""
    return value._array.item() if isinstance(value, Tensor) else value


def check_options(options: Group) -> None:
    """Raise ValueError for options that no rule can work with, or that are not offered."""
    checks = {
        "lr": "Invalid learning rate: {}",
        "eps": "Invalid epsilon value: {}",
        "weight_decay": "Invalid weight_decay value: {}",
        "momentum": "Invalid momentum value: {}",
        "momentum_decay": "Invalid momentum_decay value: {}",
        "lr_decay": "Invalid lr_decay value: {}",
        "alpha": "Invalid alpha value: {}",
        "initial_accumulator_value": "Invalid initial_accumulator_value value: {}",
    }
    for name, message in checks.items():
        if name in options and not number(options[name]) >= 0:
            raise ValueError(message.format(options[name]))
    for i, beta in enumerate(options.get("betas", ())):
        if not 0 <= number(beta) < 1:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    if options.get("differentiable"):
        raise NotImplementedError(
            "differentiable=True: a step here writes to the parameters and is not recorded; for"
            " gradients through an update, compute it with tensors and"
            " torch.autograd.grad(..., create_graph=True)"
        )
