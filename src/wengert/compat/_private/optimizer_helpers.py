"""Private names of ``torch.optim.optimizer``, which optimizers of other packages are made with."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from wengert.autograd.grad_mode import set_grad_enabled
from wengert.optim.optimizer import ParamsT

_params_t = ParamsT  # PyTorch's older name


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A `step` that is recorded where its optimizer's option `differentiable` says so."""

    @wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _default_to_fused_or_foreach(
    params: Any, differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Neither: on the CPU PyTorch's optimizers take one parameter after the other."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """No device that wengert has."""
    return []


__all__ = [
    "_default_to_fused_or_foreach",
    "_get_capturable_supported_devices",
    "_params_t",
    "_use_grad_for_differentiable",
]
