"""``torch.backends.cpu``."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """``"DEFAULT"``: NumPy chooses its kernels by itself."""
    return "DEFAULT"
