"""``torch.distributed.rpc``: calls in other processes, of which there are none."""

from __future__ import annotations

from wengert.compat._private.process_groups import _NoInstances, _refusing


def is_available() -> bool:
    """False."""
    return False


class RRef(_NoInstances):
    """The type of no value of another process."""


init_rpc = _refusing("rpc.init_rpc")
rpc_async = _refusing("rpc.rpc_async")
rpc_sync = _refusing("rpc.rpc_sync")
remote = _refusing("rpc.remote")
shutdown = _refusing("rpc.shutdown")

__all__ = ["RRef", "init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]
