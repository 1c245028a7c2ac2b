"""GradScaler: a loss times a large number, so that small gradients of float16 are not lost."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from wengert.core import dtypes
from wengert.core.tensor import Tensor, wrap


class OptState(Enum):
    """How far an optimizer has come since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Progress:
    """What a scaler knows of an optimizer: its state, and whether a gradient was not finite."""

    __slots__ = ("found_inf", "stage")

    def __init__(self) -> None:
        self.stage = OptState.READY
        self.found_inf: bool | None = None  # None: nothing was looked at


class GradScaler:
    """Scales losses, unscales gradients, skips steps whose gradients are not finite.

    After `growth_interval` steps in a row that were good the scale grows, after a bad one it
    shrinks.

    Args:
        device: scalers of devices that are not there are disabled, with a warning.
        init_scale: the first scale.
        growth_factor, backoff_factor: what it is multiplied by when it grows and shrinks.
        growth_interval: how many good steps make it grow.
        enabled: if False, every method lets pass what it is given.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> optimizer = wengert.optim.SGD([w], lr=0.5)
    >>> scaler = wengert.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([8., 8.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled and device == "cpu"
        if enabled and not self._enabled:
            warnings.warn(
                f"torch.amp.GradScaler is enabled, but {device.upper()} is not available. "
                " Disabling.",
                stacklevel=2,
            )
        if not self._enabled:
            return
        if not growth_factor > 1.0:
            raise AssertionError(f"The growth factor must be > 1.0, got {growth_factor}.")
        if not backoff_factor < 1.0:
            raise AssertionError(f"The backoff factor must be < 1.0, got {backoff_factor}.")
        self._scale = float(init_scale)
        self._used = False  # whether `scale` was called
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._optimizers: WeakKeyDictionary[Any, _Progress] = WeakKeyDictionary()

    def scale(self, outputs: Any) -> Any:
        """A tensor, or an iterable of them, times the scale."""
        if not self._enabled:
            return outputs
        self._used = True
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable) and not isinstance(outputs, str):
            scaled = (self.scale(item) for item in outputs)
            return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled
        raise ValueError(
            f"outputs must be a Tensor or an iterable of Tensors, not {type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, now.

        `step` does so if this was not called; call it before gradients are clipped.
        """
        if not self._enabled:
            return
        self._require_use("unscale_")
        progress = self._progress(optimizer)
        if progress.stage is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._unscale(parameter.grad, progress)
        progress.stage = OptState.UNSCALED

    def _unscale(self, grad: Tensor, progress: _Progress) -> None:
        if grad.dtype is dtypes.float16:
            raise ValueError("Attempting to unscale FP16 gradients.")
        bad = not np.isfinite(grad._array).all()
        progress.found_inf = bool(progress.found_inf) or bad
        grad.mul_(1.0 / self._scale)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args)``, unless a gradient is infinite or nan; its result, or None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._require_use("step")
        progress = self._progress(optimizer)
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if progress.stage is OptState.READY:
            self.unscale_(optimizer)
        if progress.found_inf is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if progress.found_inf else optimizer.step(*args, **kwargs)
        progress.stage = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adjust the scale, or set it; to be called once after the steps of an iteration."""
        if not self._enabled:
            return
        self._require_use("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            found_infs = [p.found_inf for p in self._optimizers.values() if p.found_inf is not None]
            if not found_infs:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adjust(any(found_infs))
        self._optimizers.clear()

    def _adjust(self, found_inf: bool) -> None:
        if found_inf:
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = float(np.float32(self._scale * self._growth_factor))
            self._scale = grown if np.isfinite(grown) else self._scale
            self._growth_tracker = 0

    def _progress(self, optimizer: Any) -> _Progress:
        return self._optimizers.setdefault(optimizer, _Progress())

    def _require_use(self, name: str) -> None:
        if not self._used:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use"
                " scaler.scale(loss or outputs) earlier in the iteration."
            )

    def _found_inf_per_device(self, optimizer: Any) -> dict[str, Tensor]:
        """As training libraries read it: 1 where a gradient was not finite."""
        found_inf = self._progress(optimizer).found_inf
        return {} if found_inf is None else {"cpu": wrap(np.array(found_inf, np.float32))}

    def get_scale(self) -> float:
        """The scale; 1.0 if this scaler is disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by when it shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps in a row make the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many good steps in a row make the scale grow."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether this scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Scale, factors and counter, under PyTorch's keys; empty if this scaler is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what another scaler's `state_dict` gave; a disabled scaler takes nothing."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled"
                " instance of GradScaler."
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


__all__ = ["GradScaler", "OptState"]
