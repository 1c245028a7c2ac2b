"""Cyclic learning rates, with momenta moving in the opposite direction."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from wengert.optim._scheduler import LRScheduler, for_groups, set_option
from wengert.optim.optimizer import Group, Optimizer


class _Cycling(LRScheduler):
    """A scheduler that may also set momenta."""

    cycle_momentum: bool
    use_beta1: bool

    def _prepare_momenta(self, base: Any, largest: Any, last_epoch: int) -> None:
        """Store the bounds of the momenta, and start at the upper one."""
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        self.base_momentums = for_groups("base_momentum", optimizer, base)
        self.max_momentums = for_groups("max_momentum", optimizer, largest)
        if last_epoch == -1:
            for group, low, high in zip(
                optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group: Group, momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_Cycling):
    """The learning rate goes up and down between two bounds (Smith, 2015).

    Args:
        optimizer: the optimizer to schedule.
        base_lr: the lower bound, for all groups or for each.
        max_lr: the upper bound, as well.
        step_size_up: the number of increasing steps.
        step_size_down: the number of decreasing steps; None means the same.
        mode: ``"triangular"``; ``"triangular2"`` halves the height in each cycle;
            ``"exp_range"`` multiplies it by `gamma` in each step.
        gamma: see `mode`.
        scale_fn: a function that scales the height, instead of `mode`.
        scale_mode: whether that is a function of the ``"cycle"`` or of the ``"iterations"``.
        cycle_momentum: cycle momenta in the opposite direction.
        base_momentum: their lower bound.
        max_momentum: their upper bound.
        last_epoch: -1, or the last step when resuming training.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], momentum=0.9)
    >>> scheduler = wengert.optim.lr_scheduler.CyclicLR(optimizer, 0.25, 0.75, step_size_up=2)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     print(scheduler.get_last_lr())
    [0.5]
    [0.75]
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        base_lrs = for_groups("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                set_option(group, "lr", lr)
        self.max_lrs = for_groups("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if scale_fn is None:
            if mode not in ("triangular", "triangular2", "exp_range"):
                raise ValueError(f"mode is invalid and scale_fn is None, got mode={mode!r}")
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.mode, self.gamma, self.scale_mode = mode, gamma, scale_mode
        self._scale_fn_custom = scale_fn
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._prepare_momenta(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The scale of the height in a cycle, or at a step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 0.5 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        turns = self.last_epoch / self.total_size
        cycle = math.floor(1 + turns)
        x = 1.0 + turns - cycle
        rising = x <= self.step_ratio
        height = x / self.step_ratio if rising else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [
            low + (high - low) * height * scale
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Return everything except the optimizer; attributes of callable objects, no functions."""
        state = super().state_dict()
        custom = self._scale_fn_custom
        plain = custom is None or isinstance(custom, types.FunctionType)
        state["_scale_fn_custom"] = None if plain else dict(custom.__dict__)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict()`."""
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom")
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        super().load_state_dict(state)


class OneCycleLR(_Cycling):
    """The learning rate goes up once, and far down (Smith and Topin, 2017).

    The number of steps is `total_steps`, or `epochs` times `steps_per_epoch`.

    Args:
        optimizer: the optimizer to schedule.
        max_lr: the largest learning rate, for all groups or for each.
        total_steps: the number of steps.
        epochs: the number of epochs.
        steps_per_epoch: the number of steps per epoch.
        pct_start: the fraction of increasing steps.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: cycle momenta in the opposite direction.
        base_momentum: their lower bound, for all groups or for each.
        max_momentum: their upper bound, as well.
        div_factor: the largest rate divided by the initial one.
        final_div_factor: the initial rate divided by the final one.
        three_phase: return to the initial rate in as many steps as up, then go to the final one.
        last_epoch: -1, or the last step when resuming training.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], momentum=0.9)
    >>> scheduler = wengert.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10)
    >>> scheduler.get_last_lr()
    [0.040000000000000036]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        self.total_steps = _count_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(pct_start * self.total_steps, self.total_steps, three_phase)
        largest = for_groups("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, largest, strict=True):
                group["initial_lr"] = lr / div_factor
                group["max_lr"] = lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._prepare_momenta(base_momentum, max_momentum, last_epoch)
            del self.base_momentums, self.max_momentums  # the groups have them
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        now = self.last_epoch
        if now > self.total_steps:
            raise ValueError(
                f"Tried to step {now} times. The specified number of total steps is"
                f" {self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if now <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        share = (now - start) / (end - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._interpolate(group, phase, "lr", share))
            if self.cycle_momentum:
                self._set_momentum(group, self._interpolate(group, phase, "momentum", share))
        return rates

    def _interpolate(self, group: Group, phase: dict[str, Any], what: str, share: float) -> Any:
        """The value at a fraction of a phase."""
        start, end = group[phase[f"start_{what}"]], group[phase[f"end_{what}"]]
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _count_steps(total: int | None, epochs: int | None, per_epoch: int | None) -> int:
    named = {"total_steps": total}
    if total is None:
        named = {"epochs": epochs, "steps_per_epoch": per_epoch}
    if None in named.values():
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in named.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(value for value in named.values() if value is not None)


def _phases(rise: float, total: int, three: bool) -> list[dict[str, Any]]:
    """The start and end options of each phase, and when it ends."""
    ends = [rise - 1, total - 1]
    rates = ["initial_lr", "max_lr", "min_lr"]
    momenta = ["max_momentum", "base_momentum", "max_momentum"]
    if three:
        ends.insert(1, 2 * rise - 2)
        rates.insert(2, "initial_lr")
        momenta.insert(2, "max_momentum")
    return [
        {
            "end_step": end,
            "start_lr": lrs[0],
            "end_lr": lrs[1],
            "start_momentum": ms[0],
            "end_momentum": ms[1],
        }
        for end, lrs, ms in zip(ends, pairwise(rates), pairwise(momenta), strict=True)
    ]


class CosineAnnealingWarmRestarts(LRScheduler):
    """The learning rate falls along a cosine, again and again (Loshchilov and Hutter, 2016).

    Args:
        optimizer: the optimizer to schedule.
        T_0: the number of epochs of the first cycle.
        T_mult: the factor by which each cycle is longer than the previous one.
        eta_min: the smallest learning rate.
        last_epoch: -1, or the last epoch when resuming training.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> scheduler = wengert.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     print(scheduler.get_last_lr())
    [0.5]
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803 (PyTorch's name)
        T_mult: int = 1,  # noqa: N803 (PyTorch's name)
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        wave = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * wave / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the learning rates of the next epoch, or of any moment, as ``epoch + i / n``."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            self._set(self.get_lr())
        finally:
            self._get_lr_called_within_step = False

    def _go_to(self, epoch: float) -> None:
        """Find the cycle an epoch is in, and the epochs since its start."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            longer = self.T_mult - 1
            n = int(math.log(epoch / self.T_0 * longer + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / longer
            self.T_i = self.T_0 * self.T_mult**n


__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR"]
