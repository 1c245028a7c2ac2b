"""Learning rates that change with the epochs."""

from __future__ import annotations

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from wengert._core import Tensor, wrap
from wengert.optim.optimizer import Optimizer


class LRScheduler:
    """The base of all schedulers: `step()` sets the learning rates that `get_lr()` computes.

    Args:
        optimizer: whose learning rates are set.
        last_epoch: -1, or the last epoch of a training that is resumed.

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

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming"
                    f" scheduler with last_epoch >= 0 (last_epoch={last_epoch}): load the state"
                    " of the optimizer first"
                )
        self.base_lrs = [_copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        optimizer._opt_called = False
        self.step()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict()` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The learning rates that the last `step()` set, by group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The next learning rates, by group; for subclasses to define."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch; called after `optimizer.step()`."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch"
                " 1.1.0 and later, you should call them in the opposite order:"
                " `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will"
                " result in PyTorch skipping the first value of the learning rate schedule.",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                warnings.warn(_EPOCH, UserWarning, stacklevel=2)
                self.last_epoch = epoch
                values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        finally:
            del self._get_lr_called_within_step
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _set_lr(group, lr)
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def _check_called_within_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use"
                " `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _scaled(self, factor: float) -> list[Any]:
        """The present learning rates times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


_EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where"
    " possible. Please use `scheduler.step()` to step the scheduler."
)


def _copied(lr: Any) -> Any:
    return wrap(lr._array.copy()) if isinstance(lr, Tensor) else lr


def _set_lr(group: dict[str, Any], lr: Any) -> None:
    """A learning rate that is a tensor keeps its identity."""
    if isinstance(group["lr"], Tensor):
        group["lr"]._array[...] = lr._array if isinstance(lr, Tensor) else lr
    else:
        group["lr"] = lr


class _PerGroup(LRScheduler):
    """A scheduler with a function for each group."""

    lr_lambdas: list[Callable[[int], float]]

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas = (
            list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * groups
        )
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of callable objects their attributes, no functions."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict()` returned."""
        state = dict(state_dict)
        for function, attributes in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)
        self.__dict__.update(state)


class LambdaLR(_PerGroup):
    """The initial learning rate times a function of the epoch.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> scheduler = wengert.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step(), scheduler.step()
    (None, None)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        return [
            base * function(self.last_epoch)
            for base, function in zip(self.base_lrs, self.lr_lambdas, strict=True)
        ]


class MultiplicativeLR(_PerGroup):
    """The last learning rate times a function of the epoch.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> scheduler = wengert.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        groups = self.optimizer.param_groups
        if self.last_epoch == 0:
            return [group["lr"] for group in groups]
        return [
            group["lr"] * function(self.last_epoch)
            for group, function in zip(groups, self.lr_lambdas, strict=True)
        ]


class StepLR(LRScheduler):
    """The learning rate times `gamma` every `step_size` epochs.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> scheduler = wengert.optim.lr_scheduler.StepLR(optimizer, step_size=30)
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        turns = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self._scaled(self.gamma if turns else 1)

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The learning rate times `gamma` at each of the epochs in `milestones`.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> scheduler = wengert.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[30, 80])
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [lr * self.gamma**passed for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The learning rate times `gamma` every epoch.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> scheduler = wengert.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        return self._scaled(1 if self.last_epoch == 0 else self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """The learning rate times `factor` for the first `total_iters` epochs.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> wengert.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5).get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(
                f"Constant multiplicative factor expected to be between 0 and 1, got {factor}."
            )
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor if self.last_epoch == self.total_iters else 1)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.factor if self.last_epoch < self.total_iters else 1
        return [lr * factor for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """The learning rate times a factor that goes linearly from one value to another.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> wengert.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5).get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal"
                f" to 1, got {start_factor}."
            )
        if not 0 <= end_factor <= 1:
            raise ValueError(
                f"Ending multiplicative factor expected to be between 0 and 1, got {end_factor}."
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self.last_epoch > self.total_iters:
            return self._scaled(1)
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scaled(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[Any]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * done
        return [lr * factor for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The learning rate falls to 0 in `total_iters` epochs, by a power of what is left.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> wengert.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4).get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        now, total = self.last_epoch, self.total_iters
        if now == 0 or now > total:
            return self._scaled(1)
        return self._scaled(((1.0 - now / total) / (1.0 - (now - 1) / total)) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * left**self.power for lr in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """The learning rate falls to `eta_min` in `T_max` epochs, along a cosine, and rises again.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> wengert.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10).get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: int,  # noqa: N803 (PyTorch's name)
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        now, top, low = self.last_epoch, self.T_max, self.eta_min
        groups = self.optimizer.param_groups
        if now == 0:
            return [group["lr"] for group in groups]
        if self._step_count == 1 and now > 0:
            return self._get_closed_form_lr()
        if (now - 1 - top) % (2 * top) == 0:
            rise = (1 - math.cos(math.pi / top)) / 2
            return [
                group["lr"] + (base - low) * rise
                for base, group in zip(self.base_lrs, groups, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * now / top)) / (1 + math.cos(math.pi * (now - 1) / top))
        return [ratio * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        wave = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]


class ReduceLROnPlateau(LRScheduler):
    """The learning rate times `factor` where a metric has not improved for `patience` epochs.

    Args:
        optimizer: whose learning rates are set.
        mode: ``"min"`` where less is better, ``"max"`` where more is.
        factor: what the learning rate is multiplied by.
        patience: how many epochs without improvement are let pass.
        threshold: how much is an improvement.
        threshold_mode: ``"rel"`` measures it against the best value, ``"abs"`` as it is.
        cooldown: how many epochs after a reduction are not counted.
        min_lr: the least learning rate, for all groups or for each.
        eps: a smaller change of the learning rate is not made.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> scheduler = wengert.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    >>> for loss in (1.0, 1.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"Factor should be < 1.0, got {factor}.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        groups = len(optimizer.param_groups)
        per_group = isinstance(min_lr, list | tuple)
        if per_group and len(min_lr) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
        self.optimizer, self.factor, self.patience = optimizer, factor, patience
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.min_lrs = list(min_lr) if per_group else [min_lr] * groups
        self.cooldown, self.eps, self.last_epoch = cooldown, eps, 0
        self._last_lr = [_copied(group["lr"]) for group in optimizer.param_groups]
        self._reset()

    def _reset(self) -> None:
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of an epoch's metric, and reduce the learning rates if it is time to."""
        current = float(metrics)
        if epoch is None:
            self.last_epoch += 1
        else:
            warnings.warn(_EPOCH, UserWarning, stacklevel=2)
            self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                _set_lr(group, new)

    def _is_better(self, value: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "abs":
            return sign * value > sign * best + self.threshold
        return sign * value > sign * best * (1 + sign * self.threshold)


__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "StepLR",
]
