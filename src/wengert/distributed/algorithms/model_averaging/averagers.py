"""When parameters are averaged."""

from __future__ import annotations

from wengert.distributed.algorithms.model_averaging.utils import (
    Params,
    average_parameters_or_parameter_groups,
)
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.world import default_group


class ModelAverager:
    """Averages parameters over the ranks of a group; None means all.

    >>> from wengert.distributed.algorithms.model_averaging import averagers
    >>> issubclass(averagers.PeriodicModelAverager, averagers.ModelAverager)
    True
    """

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group = default_group() if process_group is None else process_group
        self.step = 0

    def average_parameters(self, params: Params) -> None:
        """Count a step, and average if it is time to."""
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages parameters every `period` steps, after a number of steps in which it does not.

    Args:
        period: the number of steps; 1 or more.
        warmup_steps: the number of steps before the first average.
        process_group: the ranks; None means all.

    ValueError if a number is too small.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)
    >>> averager.average_parameters([wengert.ones(2)])
    >>> averager.step
    1
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None
    ) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError(
                f"Arg ``warmup_steps`` must be a non-negative number, got {warmup_steps}."
            )
        if period < 1:
            raise ValueError(f"Arg ``period`` must be a positive value, got {period}.")
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Params) -> None:
        """Count a step, and average if it is the first after the warm-up, or a period later."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1


__all__ = ["ModelAverager", "PeriodicModelAverager"]
