"""``inductor_utils``' own ways to skip, whose names ``common_device_type`` has for others."""

from __future__ import annotations

import functools

from wengert.compat._private.harness import accelerators
from wengert.compat._private.harness.accelerators import *  # noqa: F403
from wengert.compat._private.harness.accelerators import skipDeviceIf

skipCPUIf, skipCUDAIf, skipXPUIf = (
    functools.partial(skipDeviceIf, device=device) for device in ("cpu", "cuda", "xpu")
)

__all__ = [*accelerators.__all__, "skipCPUIf", "skipCUDAIf", "skipXPUIf"]
