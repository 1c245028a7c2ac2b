"""``torch.compiler.config``: settings are kept, and change nothing."""

from __future__ import annotations

from typing import Any

from wengert.compat._private.settings_names import patching

_DEFAULTS: dict[str, Any] = dict(
    cache_key_tag="", dynamic_sources="", force_disable_caches=False, job_id=None,
    unbacked_sources="",
)  # fmt: skip
globals().update(_DEFAULTS)
patch = patching(globals())

__all__ = [*_DEFAULTS, "patch"]
