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
Update = Callable[[Tensor, np.ndarray, np.ndarray], None]

# What options that came later mean in a state that was saved before they were there.
_BEFORE: dict[str, Any] = {
    "amsgrad": False,
    "capturable": False,
    "centered": False,
    "differentiable": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "momentum": 0,
    "nesterov": False,
}


class Stepping(Optimizer):
    """An optimizer whose rule updates one parameter from its gradient alone."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in self.defaults.keys() & _BEFORE.keys():
                group.setdefault(name, _BEFORE[name])
            for p in group["params"]:
                saved = self.state.get(p, {})
                for name in ("step", "eta", "mu", "mu_product"):
                    if name in saved and not isinstance(saved[name], Tensor):
                        saved[name] = scalar(saved[name])

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
            update = self._rule(group)
            for p in group["params"]:
                g = getattr(p, "_grad", None)
                if g is not None:
                    array = p._array
                    before_write(array)
                    update(p, array, g._array)
                    stamp(array, name, *where)
        return loss

    def _rule(self, group: Group) -> Update:
        """A function that changes the array of a parameter, and its state, by one step.

        Its arguments are the parameter, its array, and that of its gradient.
        """
        raise NotImplementedError

    def _state(self, p: Tensor, *names: str) -> State:
        """The state of a parameter; at its first step a count and arrays of zeros."""
        state = self.state[p]
        if not state:
            state["step"] = scalar(0)
            for name in names:
                state[name] = zeros_like(p._array)
        return state


def blocks(*arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """The same elements of all arrays, a block at a time; complex numbers as pairs of reals."""
    first = arrays[0]
    if first.ndim == 0:
        arrays = tuple(a.reshape(1) for a in arrays)
    if first.dtype.kind == "c":
        arrays = tuple(map(reals, arrays))
    if first.size <= _BLOCK or not all(a.flags.c_contiguous for a in arrays):
        yield arrays
        return
    flat = [a.reshape(-1) for a in arrays]
    for start in range(0, flat[0].size, _BLOCK):
        yield tuple(a[start : start + _BLOCK] for a in flat)


def reals(array: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of reals, in a view; real ones as they are."""
    return array[..., None].view(array.real.dtype) if array.dtype.kind == "c" else array


def decayed(g: np.ndarray, p: np.ndarray, group: Group) -> np.ndarray:
    """The gradient of what is minimised: its sign by `maximize`, with L2 decay."""
    if group["maximize"]:
        g = -g
    decay = number(group["weight_decay"])
    return g + p * decay if decay != 0 else g


def decayed_apart(g: np.ndarray, p: np.ndarray, group: Group, lr: float) -> np.ndarray:
    """As `decayed`, but with `decoupled_weight_decay` it is the parameter that decays."""
    if not group["decoupled_weight_decay"]:
        return decayed(g, p, group)
    if group["weight_decay"] != 0:
        p *= 1 - lr * group["weight_decay"]
    return -g if group["maximize"] else g


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
    check_rate(options["lr"])
    checks = {
        "lr": "Invalid learning rate: {}",
        "eps": "Invalid epsilon value: {}",
        "weight_decay": "Invalid weight_decay value: {}",
        "momentum": "Invalid momentum value: {}",
        "momentum_decay": "Invalid momentum_decay value: {}",
        "lr_decay": "Invalid lr_decay value: {}",
        "alpha": "Invalid alpha value: {}",
        "rho": "Invalid rho value: {}",
        "initial_accumulator_value": "Invalid initial_accumulator_value value: {}",
    }
    for name, message in checks.items():
        if name in options and not number(options[name]) >= 0:
            raise ValueError(message.format(options[name]))
    for i, beta in enumerate(options.get("betas", ())):
        if not 0 <= number(beta) < 1:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    if options.get("differentiable"):
        if options.get("fused"):
            raise RuntimeError("`fused` does not support `differentiable`")
        raise NotImplementedError(
            "differentiable=True: a step here writes to the parameters and is not recorded; for"
            " gradients through an update, compute it with tensors and"
            " torch.autograd.grad(..., create_graph=True)"
        )
    if options.get("fused") and options["foreach"]:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_rate(lr: Any) -> None:
    """Raise ValueError for a learning rate that is a tensor of several elements."""
    if isinstance(lr, Tensor) and lr._array.size != 1:
        raise ValueError(f"Tensor lr must be 1-element, got one of shape {list(lr._array.shape)}")
