"""``torch.distributed.rpc``: calls in other processes, of which there are none."""

from __future__ import annotations

from wengert.compat._private.process_groups import MissingType, missing_function


def is_available() -> bool:
    """False."""
    return False


class RRef(MissingType):
    """The type of no value of another process."""


init_rpc = missing_function("rpc.init_rpc")
rpc_async = missing_function("rpc.rpc_async")
rpc_sync = missing_function("rpc.rpc_sync")
remote = missing_function("rpc.remote")
shutdown = missing_function("rpc.shutdown")

__all__ = ["RRef", "init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]
