"""Where the elements of a tensor are on a mesh of ranks, and how they get to other places.

A gradient is placed as its tensor is; that of a tensor whose ranks' values are to be reduced is
whole on each rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from wengert.autograd import Function
from wengert.core.tensor import Tensor, wrap
from wengert.distributed.collectives import all_gather_into_tensor, all_reduce
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.reduce_op import ReduceOp
from wengert.distributed.tensor.placements import Partial, Placement, Replicate, Shard

_REDUCTIONS = {
    "sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "max": ReduceOp.MAX, "min": ReduceOp.MIN,
    "product": ReduceOp.PRODUCT,
}  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """How a tensor is distributed: over each dimension of a mesh in one way.

    Attributes:
        shape: of the whole tensor.
        mesh: the ranks.
        placements: one for each dimension of the mesh.
    """

    shape: tuple[int, ...]
    mesh: DeviceMesh
    placements: tuple[Placement, ...]

    @cached_property
    def group(self) -> ProcessGroup:
        """The ranks of a mesh of one dimension."""
        return self.mesh.get_group()

    @property
    def chunk(self) -> int:
        """The rows of a rank, where rows are cut."""
        return -(-self.shape[0] // self.group.size())

    @property
    def padded(self) -> int:
        """The elements of a rank, with those that the last ones lack."""
        return self.chunk * int(np.prod(self.shape[1:]))

    def rows(self, rank: int | None = None) -> slice:
        """The rows of a rank, or (None) of this one."""
        if not self.placements[0].is_shard():
            return slice(0, self.shape[0])
        number = self.group.rank() if rank is None else rank
        length = self.shape[0]
        return slice(min(number * self.chunk, length), min((number + 1) * self.chunk, length))

    def length_before(self, mesh_dim: int, dim: int) -> int:
        """The length of a dimension that the placements before one leave to this rank."""
        length, place = self.shape[dim], self.mesh.get_coordinate() or ()
        for k in range(mesh_dim):
            if self.placements[k].is_shard(dim):
                size = self.mesh.shape[k]
                length, _ = Shard.local_shard_size_and_offset(length, size, place[k])
        return length

    def replaced(self, placements: Sequence[Placement]) -> Layout:
        """The same tensor, distributed in another way."""
        return Layout(self.shape, self.mesh, tuple(placements))

    def of_gradient(self) -> Layout:
        """Where the gradient is."""
        return self.replaced([Replicate() if p.is_partial() else p for p in self.placements])


def checked(
    name: str, mesh: DeviceMesh, placements: Sequence[Placement] | None, ndim: int
) -> tuple[Placement, ...]:
    """Placements, one for each dimension of a mesh, with dimensions counted from the front.

    ValueError for another number of them; RuntimeError for a dimension that is not there.
    """
    if placements is None:
        return (Replicate(),) * mesh.ndim
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"{name}(): `placements` must have the same length as `device_mesh.ndim`! Found"
            f" placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    fixed: list[Placement] = []
    for placement in placements:
        if isinstance(placement, Shard):
            dim = placement.dim + ndim if placement.dim < 0 else placement.dim
            if not 0 <= dim < ndim:
                raise RuntimeError(
                    f"{name}(): Shard({placement.dim}) of a tensor of {ndim} dimensions"
                )
            placement = Shard(dim)
        fixed.append(placement)
    return tuple(fixed)


def moved(array: np.ndarray, layout: Layout, target: Layout) -> np.ndarray:
    """This rank's part of a tensor, of which it has another part; all ranks call this."""
    own, wanted = list(layout.placements), target.placements
    differing = [k for k in range(len(own)) if own[k] != wanted[k]]
    if not differing:
        return array
    for k in reversed(range(differing[0], len(own))):
        if own[k].is_partial() and not wanted[k].is_partial():
            array = _reduced(array, layout, k)
            own[k] = Replicate()
        elif isinstance(own[k], Shard):
            array = _gathered(array, layout, k)
            own[k] = Replicate()
    for k in range(differing[0], len(own)):
        placement = wanted[k]
        if isinstance(placement, Shard):
            array = _cut(array, target, k, placement.dim)
        elif placement.is_partial() and own[k].is_replicate():
            array = _only_first(array, target, k)
    return array


def _reduced(array: np.ndarray, layout: Layout, mesh_dim: int) -> np.ndarray:
    placement = layout.placements[mesh_dim]
    assert isinstance(placement, Partial)
    total = np.array(array)
    all_reduce(wrap(total), _REDUCTIONS[placement.reduce_op], layout.mesh.get_group(mesh_dim))
    return total


def _gathered(array: np.ndarray, layout: Layout, mesh_dim: int) -> np.ndarray:
    placement = layout.placements[mesh_dim]
    assert isinstance(placement, Shard)
    length = layout.length_before(mesh_dim, placement.dim)
    group = layout.mesh.get_group(mesh_dim)
    rows = np.moveaxis(array, placement.dim, 0)
    chunk = -(-length // group.size())
    own = np.zeros((chunk, *rows.shape[1:]), array.dtype)
    own[: len(rows)] = rows
    everyone = np.empty((group.size() * chunk, *rows.shape[1:]), array.dtype)
    all_gather_into_tensor(wrap(everyone), wrap(own), group)
    return np.ascontiguousarray(np.moveaxis(everyone[:length], 0, placement.dim))


def _cut(array: np.ndarray, target: Layout, mesh_dim: int, dim: int) -> np.ndarray:
    place = target.mesh.get_coordinate() or ()
    size, begin = Shard.local_shard_size_and_offset(
        array.shape[dim], target.mesh.shape[mesh_dim], place[mesh_dim]
    )
    index = (slice(None),) * dim + (slice(begin, begin + size),)
    return array[index].copy()


def _only_first(array: np.ndarray, target: Layout, mesh_dim: int) -> np.ndarray:
    """Values that reduce to those of the array."""
    placement = target.placements[mesh_dim]
    place = target.mesh.get_coordinate() or ()
    additive = isinstance(placement, Partial) and placement.reduce_op == "sum"
    return np.zeros_like(array) if additive and place[mesh_dim] else array


class Redistribute(Function):
    """A rank's part of a tensor in another layout."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, layout: Layout, target: Layout) -> Any:
        ctx.layouts = layout, target
        return wrap(moved(local._array, layout, target))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        layout, target = ctx.layouts
        back = Redistribute.apply(g, target.of_gradient(), layout.of_gradient())
        pairs = zip(layout.placements, target.placements, strict=True)
        reduced = [k for k, (own, wanted) in enumerate(pairs) if own.is_partial() and own != wanted]
        return Shared.apply(back, layout.mesh, reduced) if reduced else back, None, None


class Shared(Function):
    """A tensor that each rank has whole, for use with parts of others: its gradients add up."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, mesh: DeviceMesh, mesh_dims: Sequence[int]) -> Any:
        ctx.ranks = mesh, mesh_dims
        return wrap(local._array)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Summed.apply(g, *ctx.ranks), None, None


class Summed(Function):
    """The sum of what the ranks have along dimensions of a mesh."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, mesh: DeviceMesh, mesh_dims: Sequence[int]) -> Any:
        ctx.ranks = mesh, mesh_dims
        total = np.array(local._array)
        for dim in mesh_dims:
            all_reduce(wrap(total), ReduceOp.SUM, mesh.get_group(dim))
        return wrap(total)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Shared.apply(g, *ctx.ranks), None, None
