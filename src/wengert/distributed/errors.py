"""The errors of `wengert.distributed`; each is a RuntimeError, as in PyTorch."""

from __future__ import annotations


class DistError(RuntimeError):
    """An error of `wengert.distributed`."""


class DistBackendError(DistError):
    """A collective failed: a rank is lost, late, or called something else.

    Attributes:
        rank: the rank that did not come; None if there is no such rank.
    """

    def __init__(self, text: str, rank: int | None = None) -> None:
        super().__init__(text)
        self.rank = rank

    of_another_rank = True  # whatever is wrong began there


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A key did not appear in a store in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store has no value."""


__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "QueueEmptyError",
]
