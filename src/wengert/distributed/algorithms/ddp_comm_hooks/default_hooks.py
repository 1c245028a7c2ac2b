"""Hooks that average, or average in half the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core.dtypes import bfloat16, dtype, float16
from wengert.core.tensor import Tensor
from wengert.distributed._reducer import GradBucket
from wengert.distributed.collectives import all_reduce
from wengert.distributed.futures import Future
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.reduce_op import ReduceOp

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def _averaged(group: ProcessGroup | None, tensor: Tensor) -> Future[Any]:
    work = all_reduce(tensor, ReduceOp.AVG, group, async_op=True)
    assert work is not None
    return work.get_future()


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Average a bucket, as without a hook.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> default_hooks.allreduce_hook.__name__
    'allreduce_hook'
    """
    return _averaged(process_group, bucket.buffer()).then(lambda future: future.value()[0])


def _compressed(group: ProcessGroup | None, bucket: GradBucket, kind: dtype) -> Future[Tensor]:
    buffer = bucket.buffer()
    return _averaged(group, buffer.to(kind)).then(lambda future: future.value()[0].to(buffer.dtype))


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Average a bucket in float16.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> default_hooks.fp16_compress_hook.__name__
    'fp16_compress_hook'
    """
    return _compressed(process_group, bucket, float16)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Average a bucket in bfloat16.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> default_hooks.bf16_compress_hook.__name__
    'bf16_compress_hook'
    """
    return _compressed(process_group, bucket, bfloat16)


def _wrapped(hook: Hook, kind: dtype) -> Hook:
    def compressed(state: Any, bucket: GradBucket) -> Future[Tensor]:
        own = bucket.buffer().dtype
        bucket.set_buffer(bucket.buffer().to(kind))
        return hook(state, bucket).then(lambda future: future.value().to(own))

    return compressed


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gets its buckets in float16.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> hook = default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)
    """
    return _wrapped(hook, float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gets its buckets in bfloat16.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> hook = default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook)
    """
    return _wrapped(hook, bfloat16)


__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]
