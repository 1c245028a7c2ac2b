"""Local SGD: after some steps gradients are averaged in small groups, or not at all."""

from __future__ import annotations

from wengert.core.tensor import Tensor
from wengert.distributed._reducer import GradBucket
from wengert.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from wengert.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from wengert.distributed.futures import Future
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.world import new_subgroups


class PostLocalSGDState:
    """When `post_localSGD_hook` begins to average in subgroups, and which those are.

    Args:
        process_group: the ranks that average until then; None means all.
        subgroup: those that average afterwards; None: those of this machine.
        start_localSGD_iter: the number of steps until then.
        post_local_gradient_allreduce: average in subgroups afterwards; False: not at all.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook
    >>> state = post_localSGD_hook.PostLocalSGDState(None, None, start_localSGD_iter=100)
    >>> state.iter
    0
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average a bucket over all ranks at first, within subgroups later.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook
    >>> post_localSGD_hook.post_localSGD_hook.__name__
    'post_localSGD_hook'
    """
    step = state.iter
    state.maybe_increase_iter(bucket)
    if step < state.start_localSGD_iter:
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return allreduce_hook(state.subgroup, bucket)


__all__ = ["PostLocalSGDState", "post_localSGD_hook"]
