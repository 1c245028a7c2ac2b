"""`PostLocalSGDOptimizer`: an optimizer whose steps are followed by averages of parameters."""

from __future__ import annotations

import warnings
from typing import Any

from wengert.distributed.algorithms.model_averaging.averagers import ModelAverager
from wengert.optim import Optimizer


class PostLocalSGDOptimizer(Optimizer):
    """An optimizer after each of whose steps an averager is asked to average the parameters.

    Args:
        optim: the optimizer of this rank.
        averager: such as a `PeriodicModelAverager`.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> from wengert.distributed.optim import PostLocalSGDOptimizer
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> local = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=0.1)
    >>> PostLocalSGDOptimizer(local, PeriodicModelAverager(period=4)).step()
    >>> dist.destroy_process_group()
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager

    @property
    def param_groups(self) -> Any:  # type: ignore[override]
        """The groups of parameters of the optimizer."""
        return self.optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The state of the optimizer."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The state of the optimizer, and the number of steps of the averager."""
        return self.optim.state_dict() | {"step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state; warns if the number of steps is missing, which is 0 then."""
        self.optim.load_state_dict(state_dict)
        if "step" not in state_dict:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step"
                " counter to 0.",
                stacklevel=2,
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self, closure: Any = None) -> Any:
        """A step of the optimizer, then one of the averager."""
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Train more parameters."""
        self.optim.add_param_group(param_group)


__all__ = ["PostLocalSGDOptimizer"]
