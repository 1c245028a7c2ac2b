"""``torch.fx.experimental.proxy_tensor``: what can be asked while nothing is traced by proxies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def get_proxy_mode() -> None:
    """None."""


get_innermost_proxy_mode = get_proxy_mode


@contextmanager
def disable_proxy_modes_tracing(enable_current: bool = False) -> Iterator[None]:
    """A context in which nothing is traced by proxies."""
    yield


__all__ = ["disable_proxy_modes_tracing", "get_innermost_proxy_mode", "get_proxy_mode"]
