"""``torch.autograd.forward_ad``: the level that is running."""

from __future__ import annotations

from wengert.autograd.forward_ad import current_depth


def __getattr__(name: str) -> int:
    if name == "_current_level":
        return current_depth()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__: list[str] = []
