"""Tensors of which each rank of a group holds some rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.distributed.collectives import all_gather_into_tensor, all_reduce
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.fsdp.placements import Shard
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.reduce_op import ReduceOp
from wengert.meta.tensors import MetaTensor
from wengert.nn import Parameter


class Layout(NamedTuple):
    """How a tensor is cut: rows in chunks of equal size, of which the last ones may have less."""

    shape: tuple[int, ...]
    group: ProcessGroup

    @property
    def chunk(self) -> int:
        """The rows of a rank."""
        return -(-self.shape[0] // self.group.size())

    @property
    def padded(self) -> int:
        """The elements of a rank, with those that the last ones lack."""
        return self.chunk * int(np.prod(self.shape[1:]))

    def rows(self, rank: int | None = None) -> slice:
        """The rows of a rank, or (None) of this one."""
        number = self.group.rank() if rank is None else rank
        length = self.shape[0]
        return slice(min(number * self.chunk, length), min((number + 1) * self.chunk, length))


class DTensor(Tensor):
    """The rows of a tensor that this rank holds; shape and values are those of the rows.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.fsdp import fully_shard
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> model = fully_shard(wengert.nn.Linear(2, 3))
    >>> model.weight.full_tensor().shape
    torch.Size([3, 2])
    >>> dist.destroy_process_group()
    """

    __slots__ = ("_layout",)
    _layout: Layout

    @property
    def placements(self) -> tuple[Shard, ...]:
        """Rows."""
        return (Shard(0),)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The ranks."""
        return DeviceMesh.from_group(self._layout.group, "cpu")

    def to_local(self) -> Tensor:
        """The rows, in the same memory."""
        return wrap(self._array)

    def full_tensor(self) -> Tensor:
        """The whole tensor; all ranks of the group call this."""
        return wrap(gathered([self._array], [self._layout])[0])

    @staticmethod
    def refuse_saving() -> None:
        """RuntimeError: a file of some rows would be taken for the tensor."""
        raise RuntimeError(
            "this rank holds some rows of the tensor alone: save"
            " get_model_state_dict(model, options=StateDictOptions(full_state_dict=True)), or all"
            " ranks' rows by torch.distributed.checkpoint.save()"
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.refuse_saving()


class ShardedParameter(DTensor, Parameter):
    """A parameter of which each rank holds, and trains, some rows."""

    __slots__ = ()

    @staticmethod
    def joint_norm(parameters: Sequence[Tensor], order: float) -> Tensor:
        """The norm of all gradients, of whatever rows; all ranks call this."""
        sharded = [p for p in parameters if isinstance(p, ShardedParameter)]
        whole = [p for p in parameters if not isinstance(p, ShardedParameter)]
        own = _power_sum(sharded, order)
        group = next(p._layout.group for p in sharded)
        all_reduce(wrap(own), ReduceOp.MAX if np.isinf(order) else ReduceOp.SUM, group)
        rest = _power_sum(whole, order)
        dtype = sharded[0]._array.dtype
        total = max(own, rest) if np.isinf(order) else (own + rest) ** (1 / order)
        return wrap(np.asarray(total).reshape(()).astype(dtype))


def _power_sum(parameters: Sequence[Tensor], order: float) -> np.ndarray:
    total = np.zeros(1)
    for p in parameters:
        if p.grad is None or not p.grad.numel():
            continue
        values = np.abs(p.grad._array.astype(np.float64))
        total = (
            np.maximum(total, values.max()) if np.isinf(order) else total + (values**order).sum()
        )
    return total


def sharded_rows(rows: Tensor, layout: Layout, like: type[Tensor] = DTensor) -> Any:
    """A tensor of a rank's rows, in the same memory."""
    make: Any = Tensor
    tensor = make._make_subclass(_kind(like, rows), rows, like is ShardedParameter)
    tensor._layout = layout
    return tensor


def _kind(like: Any, rows: Tensor) -> Any:
    """The class for rows that have no memory, if these have none."""
    return like if not rows._memoryless else _memoryless_kind(like)


@cache
def _memoryless_kind(like: Any) -> type[Tensor]:
    return type(like.__name__, (MetaTensor, like), {"__slots__": ()})


def whole_of(value: Any) -> Any:
    """The whole tensor of rows; anything else as it is."""
    if isinstance(value, DTensor):
        return value.full_tensor()
    return value


def gathered(rows: Sequence[np.ndarray], layouts: Sequence[Layout]) -> list[np.ndarray]:
    """The whole arrays, of which every rank gives some rows; in one collective for each dtype."""
    wholes: dict[int, np.ndarray] = {}
    for indices in by_dtype(rows):
        sizes = [layouts[i].padded for i in indices]
        ends = np.cumsum([0, *sizes])
        own = np.zeros(ends[-1], rows[indices[0]].dtype)
        for i, start in zip(indices, ends[:-1], strict=True):
            own[start : start + rows[i].size] = rows[i].reshape(-1)
        group = layouts[indices[0]].group
        everyone = np.empty((group.size(), own.size), own.dtype)
        all_gather_into_tensor(wrap(everyone), wrap(own), group)
        for i, start, size in zip(indices, ends[:-1], sizes, strict=True):
            flat = everyone[:, start : start + size].reshape(-1)
            shape = layouts[i].shape
            wholes[i] = flat[: int(np.prod(shape))].reshape(shape)
    return [wholes[i] for i in range(len(rows))]


def by_dtype(arrays: Sequence[np.ndarray]) -> list[list[int]]:
    """The indices of arrays of one dtype, for each."""
    indices: dict[Any, list[int]] = {}
    for i, array in enumerate(arrays):
        indices.setdefault(array.dtype, []).append(i)
    return list(indices.values())


__all__ = ["DTensor"]
