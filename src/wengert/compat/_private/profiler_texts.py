"""``torch.autograd.profiler_util``: durations as its tables write them."""

from __future__ import annotations


def _format_time(time_us: float) -> str:
    """Microseconds in the largest unit of which there is one."""
    for unit, length in (("s", 1e6), ("ms", 1e3)):
        if time_us >= length:
            return f"{time_us / length:.3f}{unit}"
    return f"{time_us:.3f}us"


__all__ = ["_format_time"]
