"""Combined schedulers: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from wengert.optim._plateau import ReduceLROnPlateau
from wengert.optim._scheduler import LRScheduler, rates_of, set_option
from wengert.optim.optimizer import Optimizer


class _Several(LRScheduler):
    """Base class of both: checks, and a list of all states."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, schedulers: Sequence[Any], optimizer: Optimizer) -> None:
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires"
                    " additional kwargs to be specified when calling `step`, but got one at index"
                    f" {i} in the given schedulers sequence."
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got"
                    f" scheduler {type(scheduler).__name__} at index {i} has"
                    f" {scheduler.optimizer}, which is different from"
                    f" {type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """Return everything except the optimizer, with the states of the schedulers."""
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict()`."""
        state = dict(state_dict)
        for scheduler, saved in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            scheduler.load_state_dict(saved)
        super().load_state_dict(state)


class SequentialLR(_Several):
    """Runs schedulers one after another; each begins at its milestone.

    Args:
        optimizer: that of all schedulers.
        schedulers: in their order.
        milestones: the epochs at which those after the first begin.
        last_epoch: -1, or the last epoch when resuming training.

    >>> import wengert
    >>> from wengert.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> parts = [ConstantLR(optimizer, factor=0.25), ExponentialLR(optimizer, gamma=0.5)]
    >>> scheduler = SequentialLR(optimizer, parts, milestones=[2])
    >>> for _ in range(4):
    ...     print(scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    [0.25]
    [0.25]
    [1.0]
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler, but got no scheduler."
            )
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than"
                f" the number of milestone points, but got number of schedulers {len(schedulers)}"
                f" and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each scheduler set learning rates when created: start over with the first alone.
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Undo an epoch of all schedulers, including nested ones."""
        within = self if sched is None else sched
        if hasattr(within, "_schedulers"):
            for scheduler in within._schedulers:
                self.recursive_undo(scheduler)
        elif hasattr(within, "last_epoch"):
            within.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Set the learning rates of the next epoch; called after `optimizer.step()`."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Several):
    """Applies all schedulers at each step, so that their factors multiply.

    Args:
        schedulers: of one optimizer.
        optimizer: that of the schedulers, by default of the first.

    >>> import wengert
    >>> from wengert.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> parts = [ConstantLR(optimizer, factor=0.5), ExponentialLR(optimizer, gamma=0.5)]
    >>> scheduler = ChainedScheduler(parts)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no"
                " scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = rates_of(optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Step all schedulers; called after `optimizer.step()`."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates_of(self.optimizer)


__all__ = ["ChainedScheduler", "SequentialLR"]
