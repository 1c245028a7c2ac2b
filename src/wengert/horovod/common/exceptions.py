"""What collectives raise, and what tells a training loop that ranks have changed."""

from __future__ import annotations


class HorovodInternalError(RuntimeError):
    """A collective failed: ranks disagree, or one of them is gone."""


class HostsUpdatedInterrupt(RuntimeError):  # noqa: N818 (Horovod's name)
    """Machines have come or gone. It is never raised: the ranks of a run stay the same."""

    def __init__(self, skip_sync: bool = False) -> None:
        super().__init__()
        self.skip_sync = skip_sync


__all__ = ["HorovodInternalError", "HostsUpdatedInterrupt"]
