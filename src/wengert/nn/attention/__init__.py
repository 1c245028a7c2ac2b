"""``torch.nn.attention``: selection of attention kernels, without effect here."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module as _import_module
from typing import Any


class SDPBackend(enum.Enum):
    """PyTorch's kernels of `scaled_dot_product_attention`.

    >>> import wengert
    >>> wengert.nn.attention.SDPBackend.MATH.value
    0
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[None]:
    """Select attention kernels inside a block; accepted, without effect.

    >>> import wengert
    >>> with wengert.nn.attention.sdpa_kernel(wengert.nn.attention.SDPBackend.MATH):
    ...     x = wengert.ones(2, 2)
    ...     y = wengert.nn.functional.scaled_dot_product_attention(x, x, x)
    """
    wishes = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(wishes, list) or not all(isinstance(b, SDPBackend) for b in wishes):
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of them, got {backends!r}"
        )
    yield


def __getattr__(name: str) -> Any:
    if name in ("bias", "flex_attention"):  # loaded on first access
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["SDPBackend", "sdpa_kernel"]
