"""``torch.distributed.rpc``: calls in other processes, of which there are none."""

from __future__ import annotations

from wengert.compat._private.process_groups import Unshared, of_several


def is_available() -> bool:
    """False."""
    return False


class RRef(Unshared):
    """The type of no value of another process."""


init_rpc = of_several("rpc.init_rpc")
rpc_async = of_several("rpc.rpc_async")
rpc_sync = of_several("rpc.rpc_sync")
remote = of_several("rpc.remote")
shutdown = of_several("rpc.shutdown")

__all__ = ["RRef", "init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]
