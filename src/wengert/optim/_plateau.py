"""A learning rate that is reduced when a metric stops improving."""

from __future__ import annotations

import math
import warnings
from typing import Any

from wengert.optim._scheduler import EPOCH, LRScheduler, rates_of, set_option
from wengert.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the learning rate by `factor` when a metric stops improving for `patience` epochs.

    Args:
        optimizer: the optimizer to schedule.
        mode: ``"min"`` if lower is better, ``"max"`` if higher is.
        factor: the factor of the learning rate.
        patience: the number of epochs without improvement to wait.
        threshold: the smallest improvement that counts.
        threshold_mode: ``"rel"`` for relative to the best value, ``"abs"`` for absolute.
        cooldown: the number of epochs after a reduction that do not count.
        min_lr: the smallest learning rate, for all groups or for each.
        eps: the smallest change of the learning rate that is applied.

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
        self.default_min_lr = None if per_group else min_lr
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.min_lrs = list(min_lr) if per_group else [min_lr] * groups
        self.cooldown, self.eps, self.last_epoch = cooldown, eps, 0
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self._last_lr = rates_of(optimizer)
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Record an epoch's metric, and reduce the learning rates if due."""
        current = float(metrics)
        if epoch is None:
            self.last_epoch += 1
        else:
            warnings.warn(EPOCH, UserWarning, stacklevel=2)
            self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = rates_of(self.optimizer)

    @property
    def in_cooldown(self) -> bool:
        """Whether the last reduction is too recent for epochs to count."""
        return self.cooldown_counter > 0

    def _reduce(self) -> None:
        groups = len(self.optimizer.param_groups)
        if groups != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({groups}) differs from when"
                    f" `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a"
                    " new param group being added to the optimizer. Please modify the `min_lrs`"
                    " field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * groups
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_option(group, "lr", new)

    def _is_better(self, value: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "abs":
            return sign * value > sign * best + self.threshold
        return sign * value > sign * best * (1 + sign * self.threshold)


__all__ = ["ReduceLROnPlateau"]
