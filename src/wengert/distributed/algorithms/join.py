"""Ranks with different numbers of batches: those that are done take part in the others' calls."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from wengert.core.tensor import wrap
from wengert.distributed.collectives import all_gather_into_tensor
from wengert.distributed.process_group import ProcessGroup


class JoinHook:
    """What a rank that is done does: `main_hook` as long as others go on, then `post_hook`.

    >>> from wengert.distributed.algorithms.join import JoinHook
    >>> JoinHook().main_hook()
    """

    def main_hook(self) -> None:
        """Take part in what the other ranks do in an iteration."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """End, once all are done."""


class Joinable:
    """What `Join` can follow: modules and optimizers that call collectives.

    >>> import wengert
    >>> from wengert.distributed.algorithms.join import Joinable
    >>> issubclass(wengert.nn.parallel.DistributedDataParallel, Joinable)
    True
    """

    def __init__(self) -> None:
        self._join: Join | None = None

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank that is done does."""
        raise NotImplementedError

    @property
    def join_device(self) -> Any:
        """The device of the collectives."""
        raise NotImplementedError

    @property
    def join_process_group(self) -> ProcessGroup:
        """The ranks."""
        raise NotImplementedError


class Join:
    """In its block ranks may have different numbers of batches.

    Before each thing that they do together, ranks tell each other what comes: 1 for a forward, 2
    for a reduction, 0 for nothing more. A rank that is done answers with 0 until all do.

    Args:
        joinables: what the ranks call.
        enable: False: do nothing.
        throw_on_early_termination: raise RuntimeError on all ranks when one is done.
        kwargs: for the `join_hook` of each.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.algorithms.join import Join
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> net = wengert.nn.parallel.DistributedDataParallel(wengert.nn.Linear(2, 1))
    >>> with Join([net]):
    ...     net(wengert.ones(3, 2)).sum().backward()
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = {joinable.join_process_group for joinable in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._group = groups.pop()
        self._joinables, self._enabled, self._throws = joinables, enable, throw_on_early_termination
        self._hooks = [j.join_hook(**kwargs) for j in joinables] if enable else []
        self.joined = False
        self.event = 0
        self.active = self._group.size()
        self.first = self.last = 0  # a rank that goes on, and one that was among the last

    def announce(self, event: int) -> None:
        """Tell the others what this rank does next, and hear what they do."""
        events = np.zeros(self._group.size(), np.int64)
        all_gather_into_tensor(wrap(events), wrap(np.array([event])), self._group)
        self.event, self.active = int(events.max()), int(np.count_nonzero(events))
        if self.active:
            self.first = self.last = int(np.flatnonzero(events)[0])
        if self._throws and self.active < events.size:
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )

    def __enter__(self) -> Join:
        if self._enabled:
            for joinable in self._joinables:
                joinable._join = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._enabled:
            return
        try:
            if kind is None:
                self.joined = True
                self._follow()
        finally:
            for joinable in self._joinables:
                joinable._join = None

    def _follow(self) -> None:
        """Take part until all are done."""
        while True:
            self.announce(0)
            if not self.active:
                break
            for hook in self._hooks:
                hook.main_hook()
        was_last = self.last == self._group.rank()
        for hook in self._hooks:
            hook.post_hook(was_last)


__all__ = ["Join", "JoinHook", "Joinable"]
