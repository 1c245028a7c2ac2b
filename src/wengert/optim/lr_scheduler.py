"""Schedulers: learning rates that change with the epoch."""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from wengert.optim._combined import ChainedScheduler, SequentialLR
from wengert.optim._cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from wengert.optim._plateau import ReduceLROnPlateau
from wengert.optim._scheduler import LRScheduler
from wengert.optim.optimizer import Optimizer


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
        """Return everything except the optimizer; attributes of callable objects, no functions."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict()`."""
        state = dict(state_dict)
        for function, attributes in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)
        self.__dict__.update(state)


class LambdaLR(_PerGroup):
    """The initial learning rate times a function of the epoch.

    Args:
        optimizer: the optimizer whose groups have the learning rates.
        lr_lambda: from the epoch to a factor of the first learning rate; or a list, one for
            each group.
        last_epoch: the epoch that training goes on from; -1 to begin.

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

    Args:
        optimizer: the optimizer whose groups have the learning rates.
        lr_lambda: from the epoch to a factor of the last learning rate; or a list, one for each
            group.
        last_epoch: the epoch that training goes on from; -1 to begin.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> scheduler = wengert.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        groups = self.optimizer.param_groups
        if self._is_initial:
            return self._scaled(1)
        return [
            group["lr"] * function(self.last_epoch)
            for group, function in zip(groups, self.lr_lambdas, strict=True)
        ]


class StepLR(LRScheduler):
    """The learning rate times `gamma` every `step_size` epochs.

    Args:
        optimizer: the optimizer whose groups have the learning rates.
        step_size: epochs between changes.
        gamma: factor of each change.
        last_epoch: the epoch that training goes on from; -1 to begin.

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

    Args:
        optimizer: the optimizer whose groups have the learning rates.
        milestones: increasing epochs after which the learning rate changes.
        gamma: factor of each change.
        last_epoch: the epoch that training goes on from; -1 to begin.

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

    Args:
        optimizer: the optimizer whose groups have the learning rates.
        gamma: factor of each epoch.
        last_epoch: the epoch that training goes on from; -1 to begin.

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
        return self._scaled(1 if self._is_initial else self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """The learning rate times `factor` for the first `total_iters` epochs.

    Args:
        optimizer: the optimizer whose groups have the learning rates.
        factor: of the learning rate until `total_iters`.
        total_iters: epochs with the factor.
        last_epoch: the epoch that training goes on from; -1 to begin.

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
    """The learning rate times a factor that changes linearly from one value to another.

    Args:
        optimizer: the optimizer whose groups have the learning rates.
        start_factor: factor of the first epoch.
        end_factor: factor from `total_iters` on.
        total_iters: epochs from one to the other.
        last_epoch: the epoch that training goes on from; -1 to begin.

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
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._scaled(1)
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scaled(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[Any]:
        progress = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * progress
        return [lr * factor for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Decays the learning rate to 0 in `total_iters` epochs, polynomially.

    Args:
        optimizer: the optimizer whose groups have the learning rates.
        total_iters: epochs until the learning rate is 0.
        power: of the polynomial.
        last_epoch: the epoch that training goes on from; -1 to begin.

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
        if self._is_initial or now > total:
            return self._scaled(1)
        return self._scaled(((1.0 - now / total) / (1.0 - (now - 1) / total)) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * left**self.power for lr in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Anneals the learning rate to `eta_min` in `T_max` epochs along a cosine, then back up.

    Args:
        optimizer: the optimizer whose groups have the learning rates.
        T_max: epochs until the smallest learning rate: half a period.
        eta_min: smallest learning rate.
        last_epoch: the epoch that training goes on from; -1 to begin.

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
        if self._is_initial:
            return self._scaled(1)
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


class _LRScheduler(LRScheduler):
    """The old name; a separate class as in PyTorch, since programs subclass it."""


__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
