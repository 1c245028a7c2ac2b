"""``torch.cuda.profiler``: NVIDIA's profiler, which needs a device."""

from __future__ import annotations

from typing import Any

from wengert.platform.absences import refusing


def _needs_device(name: str) -> Any:
    text = f"Torch not compiled with CUDA enabled: torch.cuda.profiler.{name}() needs a device"
    return refusing(name, __name__, AssertionError, text)


profile, start, stop = map(_needs_device, ("profile", "start", "stop"))

__all__ = ["profile", "start", "stop"]
