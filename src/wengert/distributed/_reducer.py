"""Averages the gradients of a module's parameters over the ranks, as they become final.

Every backward that reaches a parameter is a pass. It begins with the ranks telling each other
which parameters it will reach. Gradients are copied into buckets; a bucket is reduced as soon as
all of it has arrived here, while the backward goes on. When the backward is done and before any
`.grad` changes, the averages take the place of the gradients. Averages add up as gradients do, so
any number of passes over whatever graphs give what one process on the joined batch gives.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Leaf, Tensor, state_of, wrap
from wengert.distributed.collectives import all_reduce, broadcast
from wengert.distributed.futures import Future
from wengert.distributed.nn.functional import all_reduce as recorded_all_reduce
from wengert.distributed.process_group import ProcessGroup, Work
from wengert.distributed.reduce_op import ReduceOp
from wengert.ops import cat

CommHook = Callable[[Any, "GradBucket"], "Future[Any]"]


class GradBucket:
    """Some parameters, and their gradients behind each other; what communication hooks get.

    >>> import wengert, wengert.distributed as dist
    >>> bucket = dist.GradBucket(0, [wengert.ones(2), wengert.ones(3)], [0, 1])
    >>> bucket.buffer().shape, len(bucket.gradients())
    (torch.Size([5]), 2)
    """

    def __init__(self, index: int, parameters: Sequence[Tensor], indices: Sequence[int]) -> None:
        self._index, self._parameters, self.indices = index, list(parameters), list(indices)
        self.last = False
        dtype = parameters[0]._array.dtype
        ends = np.cumsum([0, *(p.numel() for p in parameters)]).tolist()
        self.memory = np.zeros(ends[-1], dtype)
        self._tensor = wrap(self.memory)
        self.views = [
            self.memory[a:b].reshape(p._array.shape)
            for a, b, p in zip(ends[:-1], ends[1:], parameters, strict=True)
        ]

    def index(self) -> int:
        """The number of the bucket; buckets are reduced in order."""
        return self._index

    def buffer(self) -> Tensor:
        """The gradients, in one row."""
        return self._tensor

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the gradients."""
        self._tensor = buffer

    def gradients(self) -> list[Tensor]:
        """The gradient of each parameter."""
        return [wrap(view) for view in self.views]

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether no other bucket follows."""
        return self.last

    def take(self, reduced: Tensor) -> None:
        """Store the result of a hook."""
        if reduced._array is not self.memory:
            self.memory[...] = reduced._array.reshape(-1)
        self._tensor = wrap(self.memory)


class _Pass:
    """One backward: what has arrived, and what is under way."""

    def __init__(self, buckets: Sequence[GradBucket], planned: set[int]) -> None:
        self.planned = planned
        self.flags: Tensor | None = None
        self.agreeing: Work | None = None
        self.missing = [sum(i in planned for i in bucket.indices) for bucket in buckets]
        self.next = 0
        self.under_way: list[tuple[GradBucket, Work | Future[Any]]] = []
        self.recorded: dict[int, Tensor] = {}  # gradients that can be differentiated again
        self.sparse: dict[int, Tensor] = {}
        self.order: list[int] = []

    def used(self) -> np.ndarray:
        """Which parameters get a gradient on any rank."""
        if self.agreeing is not None:
            self.agreeing.wait()
            self.agreeing = None
        assert self.flags is not None
        return self.flags._array


class Reducer:
    """The buckets of a module's parameters, and the passes over them."""

    def __init__(
        self,
        parameters: Sequence[Tensor],
        group: ProcessGroup,
        bucket_bytes: int,
        first_bytes: int,
        as_views: bool,
        static: bool,
        sparse: frozenset[int] = frozenset(),
    ) -> None:
        self.parameters, self.group = list(parameters), group
        self._sparse = sparse  # the places of parameters with sparse gradients: in no bucket
        self.as_views, self.static = as_views, static
        self.synchronizes = True  # what the last forward said
        self.hook: tuple[Any, CommHook] | None = None
        self.announce: Callable[[], float] = lambda: 1.0  # of a pass; the factor of its averages
        self._bytes = bucket_bytes, first_bytes
        self._leaves: list[Leaf] = [None] * len(self.parameters)  # type: ignore[list-item]
        self._places: dict[Leaf, int] = {}
        self._unsynced = False  # whether some `.grad` may hold what the ranks have not shared
        self._static_flags: np.ndarray | None = None
        self.has_run = False
        self._own = weakref.ref(self)
        self._arrange(list(range(len(self.parameters)))[::-1])
        self.attach()

    def attach(self) -> None:
        """Follow the parameters: one may have become a leaf anew."""
        for i, parameter in enumerate(self.parameters):
            leaf = parameter._edge
            if leaf is not self._leaves[i] and type(leaf) is Leaf:
                self._places.pop(self._leaves[i], None)
                self._leaves[i] = leaf
                self._places[leaf] = i
                state_of(leaf).collector = self._own

    def prepare_for_backward(self, outputs: Any, synchronizes: bool = True) -> None:
        """Say before a backward whether it averages; which tensors it starts from is no matter."""
        self.attach()
        self.synchronizes = synchronizes

    def _arrange(self, order: Sequence[int]) -> None:
        """Put parameters into buckets, in the order in which their gradients arrive."""
        self._buckets: list[GradBucket] = []
        limit, following = self._bytes[1], self._bytes[0]
        open_lists: dict[Any, list[int]] = {}
        for i in order:
            if i in self._sparse:
                continue
            dtype = self.parameters[i]._array.dtype
            indices = open_lists.setdefault(dtype, [])
            indices.append(i)
            if sum(self.parameters[k]._array.nbytes for k in indices) >= limit:
                self._close_bucket(open_lists.pop(dtype))
                limit = following
        for indices in open_lists.values():
            self._close_bucket(indices)
        for bucket in self._buckets[-1:]:
            bucket.last = True
        self._bucket_of = {
            i: (bucket, k) for bucket in self._buckets for k, i in enumerate(bucket.indices)
        }

    def _close_bucket(self, indices: list[int]) -> None:
        parameters = [self.parameters[i] for i in indices]
        self._buckets.append(GradBucket(len(self._buckets), parameters, indices))

    def collects(self, walk: Any, node: Leaf, g: Any) -> bool:
        """Take the gradient that a walk brings to a leaf; True if it is the walk's first."""
        if node not in self._places:
            return False
        if not self.synchronizes:
            self._unsynced = self._unsynced or walk.accumulates
            return False
        first = self not in walk.notes
        if first:
            walk.notes[self] = self._begin(walk)
        self._arrived(walk, walk.notes[self], self._places[node], g)
        return first

    def _begin(self, walk: Any) -> _Pass:
        """Start a pass: tell the other ranks which parameters it reaches."""
        planned = {i for i, leaf in enumerate(self._leaves) if leaf in walk.pending}
        self.factor = self.announce()
        current = _Pass(self._buckets, planned)
        flags = np.zeros(len(self.parameters), np.uint8)
        flags[list(planned)] = 1
        if self._unsynced and walk.accumulates:
            flags |= [p.grad is not None for p in self.parameters]
        self._agree(current, flags)
        return current

    def _agree(self, current: _Pass, flags: np.ndarray) -> None:
        if self.static and self._static_flags is not None:
            current.flags = wrap(self._static_flags)
            return
        current.flags = wrap(flags)
        current.agreeing = all_reduce(current.flags, ReduceOp.MAX, self.group, async_op=True)

    def _arrived(self, walk: Any, current: _Pass, i: int, g: Any) -> None:
        current.order.append(i)
        if i in self._sparse and not self._keeps_apart(walk):
            current.sparse[i] = g
            return
        if isinstance(g, SparseTensor):
            g = g.to_dense()
        if self._keeps_apart(walk):
            current.recorded[i] = g if isinstance(g, Tensor) else wrap(g)
            return
        if isinstance(g, Tensor):
            g = g._array
        bucket, k = self._bucket_of[i]
        self._fill(walk, bucket.views[k], i, g)
        current.missing[bucket.index()] -= 1
        self._launch_ready(walk, current)

    def _keeps_apart(self, walk: Any) -> bool:
        """Whether gradients do not go into buckets: they have a graph, or `.grad` is there."""
        return walk.create_graph or (self.as_views and not walk.accumulates)

    def _earlier(self, walk: Any, i: int) -> np.ndarray | None:
        """What `.grad` holds that goes through the reduction together with what arrives."""
        grad = self.parameters[i].grad
        if grad is None or not walk.accumulates or not (self._unsynced or self.as_views):
            return None
        return grad._array

    def _fill(self, walk: Any, view: np.ndarray, i: int, g: np.ndarray | None) -> None:
        earlier = self._earlier(walk, i)
        if earlier is None:
            view[...] = 0 if g is None else g
        elif g is None:
            view[...] = earlier
        else:
            np.add(earlier, g, out=view, casting="unsafe")

    def _launch_ready(self, walk: Any, current: _Pass) -> None:
        while current.next < len(self._buckets) and not current.missing[current.next]:
            self._launch(walk, current, self._buckets[current.next])
            current.next += 1

    def _launch(self, walk: Any, current: _Pass, bucket: GradBucket) -> None:
        """Reduce a bucket, unless no rank has a gradient in it."""
        used = current.used()
        if not used[bucket.indices].any():
            return
        for view, i in zip(bucket.views, bucket.indices, strict=True):
            if i not in current.planned:
                self._fill(walk, view, i, None)
        current.under_way.append((bucket, self._reduce(bucket)))

    def _reduce(self, bucket: GradBucket) -> Work | Future[Any]:
        if self.hook is not None:
            return self.hook[1](self.hook[0], bucket)
        work = all_reduce(bucket.buffer(), ReduceOp.AVG, self.group, async_op=True)
        assert work is not None
        return work

    def settle(self, walk: Any) -> None:
        """Let the averages take the place of the gradients that a walk has brought."""
        current: _Pass = walk.notes.pop(self)
        if self._keeps_apart(walk):
            walk.call_recording(self._settle_recorded, walk, current)
            return
        while current.next < len(self._buckets):
            self._launch(walk, current, self._buckets[current.next])
            current.next += 1
        for bucket, work in current.under_way:
            self._finish(bucket, work)
        self._sum_sparse(walk, current)
        self._replace(walk, current.used())
        self._learn(current)

    def _sum_sparse(self, walk: Any, current: _Pass) -> None:
        """Average sparse gradients, which stay sparse."""
        for i in sorted(self._sparse.intersection(np.flatnonzero(current.used()).tolist())):
            leaf, parameter = self._leaves[i], self.parameters[i]
            earlier = parameter.grad if self._unsynced and walk.accumulates else None
            average = self._sparse_average(current.sparse.get(i), parameter, earlier)
            if walk.targets is None or leaf in walk.targets:
                if earlier is not None:
                    parameter.grad = None  # it is in the average
                walk.final[leaf] = average

    def _sparse_average(self, g: Any, parameter: Tensor, earlier: Tensor | None = None) -> Tensor:
        if g is None:
            g = wrap(np.zeros_like(parameter._array)).to_sparse(1)
        elif not isinstance(g, SparseTensor):  # of a table that is used elsewhere, too
            g = (g if isinstance(g, Tensor) else wrap(g)).to_sparse(1)
        if earlier is not None:
            g = g + earlier
        average: Tensor = g.clone()
        all_reduce(average, ReduceOp.AVG, self.group)
        return average if self.factor == 1.0 else average * self.factor

    def _finish(self, bucket: GradBucket, work: Work | Future[Any]) -> None:
        if isinstance(work, Work):
            work.wait()
        else:
            reduced = work.wait()
            bucket.take(reduced[0] if isinstance(reduced, list) else reduced)
        if self.factor != 1.0:
            bucket.memory *= bucket.memory.dtype.type(self.factor)

    def _replace(self, walk: Any, used: np.ndarray) -> None:
        if self.static:
            self._static_flags = used
        for i in np.flatnonzero(used).tolist():
            leaf, parameter = self._leaves[i], self.parameters[i]
            if i in self._sparse or (walk.targets is not None and leaf not in walk.targets):
                continue
            bucket, k = self._bucket_of[i]
            if self.as_views and walk.accumulates:
                walk.final.pop(leaf, None)
                if parameter.grad is None or parameter.grad._array is not bucket.views[k]:
                    parameter.grad = wrap(bucket.views[k])
                continue
            if self._earlier(walk, i) is not None:
                parameter.grad = None  # it is in the average
            # A copy: the bucket is written again by a pass inside this one, or the next.
            walk.final[leaf] = bucket.views[k].copy()
        if walk.accumulates:
            self._unsynced = False

    def _learn(self, current: _Pass) -> None:
        """After the first pass, arrange buckets in the order in which gradients arrived."""
        if self.has_run:
            return
        self.has_run = True
        others = [i for i in range(len(self.parameters))[::-1] if i not in current.order]
        order = wrap(np.array(current.order + others))
        broadcast(order, group=self.group, group_src=0)
        if not self.as_views:  # views stay where they are
            self._arrange(order._array.tolist())

    def _settle_recorded(self, walk: Any, current: _Pass) -> None:
        """Average gradients by operations that can be differentiated."""
        used = np.flatnonzero(current.used()).tolist()
        by_dtype: dict[Any, list[int]] = {}
        for i in used:
            by_dtype.setdefault(self.parameters[i]._array.dtype, []).append(i)
        for indices in by_dtype.values():
            rows = [self._recorded_row(walk, current, i) for i in indices]
            total = recorded_all_reduce(cat(rows), ReduceOp.AVG, self.group)
            averages = total.split([row.numel() for row in rows])
            for i, average in zip(indices, averages, strict=True):
                if walk.targets is None or self._leaves[i] in walk.targets:
                    if self._unsynced and walk.accumulates:
                        self.parameters[i].grad = None
                    walk.final[self._leaves[i]] = average.reshape(self.parameters[i].shape)
        if walk.accumulates:
            self._unsynced = False

    def _recorded_row(self, walk: Any, current: _Pass, i: int) -> Tensor:
        parameter = self.parameters[i]
        row = current.recorded.get(i)
        if row is None:
            row = wrap(np.zeros_like(parameter._array))
        if self._unsynced and walk.accumulates and parameter.grad is not None:
            row = row + parameter.grad
        return row.reshape(-1)

    def shadow(self) -> None:
        """Take part in a pass of the other ranks, with nothing to add."""
        current = _Pass(self._buckets, set())
        self.factor = self.announce()
        self._agree(current, np.zeros(len(self.parameters), np.uint8))
        used = current.used()
        for bucket in self._buckets:
            if used[bucket.indices].any():
                bucket.memory[...] = 0
                self._finish(bucket, self._reduce(bucket))
        for i in sorted(self._sparse.intersection(np.flatnonzero(used).tolist())):
            self._sparse_average(None, self.parameters[i])
        self._learn(current)


__all__ = ["GradBucket", "Reducer"]
