"""``torch.fx.experimental.proxy_tensor``: what can be asked while nothing is traced by proxies."""

from __future__ import annotations


def get_proxy_mode() -> None:
    """None."""


__all__ = ["get_proxy_mode"]
