"""The base class of schedulers, and helpers to read and set options of groups."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from wengert.core.tensor import Tensor, wrap
from wengert.optim.optimizer import Optimizer


class LRScheduler:
    """Base class of all schedulers: `step()` sets the learning rates that `get_lr()` computes.

    Args:
        optimizer: the optimizer to schedule.
        last_epoch: -1, or the last epoch when resuming training.

    >>> import wengert
    >>> from wengert.optim.lr_scheduler import LRScheduler
    >>> class Constant(LRScheduler):
    ...     def get_lr(self):
    ...         return self.base_lrs
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=0.5)
    >>> Constant(optimizer).get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False  # while the constructor sets the first learning rates

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy_if_tensor(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming"
                    f" scheduler with last_epoch >= 0 (last_epoch={last_epoch}): load the state"
                    " of the optimizer first"
                )
        self.base_lrs = [_copy_if_tensor(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        optimizer._opt_called = False
        if "step" in optimizer.__dict__:
            optimizer.step = _noting_call(optimizer)  # type: ignore[method-assign]
        optimizer._scheduled_step = _function(optimizer.step)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return everything except the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict()`."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the learning rates set by the last `step()`, by group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Return the next learning rates, by group; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch; called after `optimizer.step()`."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        o = self.optimizer
        if _function(o.step) is not o._scheduled_step:
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler"
                " initialization. Please, make sure to call `optimizer.step()` before"
                f" `lr_scheduler.step()`. {_DETAILS}",
                UserWarning,
                stacklevel=3,
            )
        elif not o._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch"
                " 1.1.0 and later, you should call them in the opposite order:"
                " `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will"
                " result in PyTorch skipping the first value of the learning rate schedule."
                f" {_DETAILS}",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        finally:
            self._get_lr_called_within_step = False
        self._set(values)

    def _set(self, values: list[Any]) -> None:
        """Set the learning rates of the groups."""
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_option(group, "lr", lr)
        self._last_lr = rates_of(self.optimizer)

    def _check_called_within_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use"
                " `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _scaled(self, factor: float) -> list[Any]:
        """The current learning rates times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where"
    " possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if"
    " epoch is different from None, the closed form is used instead of the new chainable form,"
    " where available. Please open an issue if you are unable to replicate your use case:"
    " https://github.com/pytorch/pytorch/issues/new/choose."
)
_DETAILS = (
    "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


def _noting_call(optimizer: Optimizer) -> Callable[..., Any]:
    """The `step` that somebody has set in place of the class's, which notes its calls."""
    own = optimizer.step

    @wraps(own)
    def step(*args: Any, **kwargs: Any) -> Any:
        optimizer._opt_called = True
        return own(*args, **kwargs)

    return step


def _function(method: Any) -> Any:
    return getattr(method, "__func__", method)


def _copy_if_tensor(value: Any) -> Any:
    return wrap(value._array.copy()) if isinstance(value, Tensor) else value


def rates_of(optimizer: Optimizer) -> list[Any]:
    """The learning rates of all groups; those that are tensors as copies."""
    return [_copy_if_tensor(group["lr"]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], name: str, value: Any) -> None:
    """Set an option of a group; a tensor option keeps its identity."""
    old = group[name]
    if isinstance(old, Tensor):
        old._array[...] = value._array.item() if isinstance(value, Tensor) else value
    else:
        group[name] = value


def for_groups(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """An argument as a list with a value for each group."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        value = [value] * groups
    elif len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has"
            f" {len(value)} values, param_groups has {groups}."
        )
    return [_copy_if_tensor(v) for v in value]
