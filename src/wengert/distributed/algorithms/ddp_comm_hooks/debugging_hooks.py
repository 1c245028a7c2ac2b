"""A hook that does nothing, to see what training takes without communication."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributed._reducer import GradBucket
from wengert.distributed.futures import Future


def noop_hook(_: Any, bucket: GradBucket) -> Future[Tensor]:
    """Leave a bucket as it is: each rank goes on with its own gradients.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import debugging_hooks
    >>> debugging_hooks.noop_hook.__name__
    'noop_hook'
    """
    future: Future[Tensor] = Future()
    future.set_result(bucket.buffer())
    return future


__all__ = ["noop_hook"]
