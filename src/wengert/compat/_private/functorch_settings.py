"""``torch._functorch.config``: settings are kept, and change nothing."""

from __future__ import annotations

from typing import Any

from wengert.compat._private.settings_names import patching

_DEFAULTS: dict[str, Any] = dict(
    activation_memory_budget=1.0, debug_partitioner=False, donated_buffer=False,
    enable_autograd_cache=True, functionalize_rng_ops=False,
)  # fmt: skip
globals().update(_DEFAULTS)
patch = patching(globals())

__all__ = [*_DEFAULTS, "patch"]
