"""Ranks in a row, under a name: a mesh of one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.world import (
    default_group,
    get_process_group_ranks,
    init_process_group,
    is_initialized,
)


class DeviceMesh:
    """The ranks of a group, as a mesh of one dimension. `init_device_mesh` makes one.

    >>> from wengert.distributed import DeviceMesh
    >>> DeviceMesh("cpu", [0, 1], mesh_dim_names=("data",)).shape
    (2,)
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
        _rank: int | None = None,
        _layout: Any = None,
        _rank_map: Any = None,
        _root_mesh: Any = None,
    ) -> None:
        ranks = np.asarray(mesh._array if isinstance(mesh, Tensor) else mesh, np.int32)
        if ranks.ndim != 1:
            raise NotImplementedError(
                f"DeviceMesh: a mesh of {ranks.ndim} dimensions; wengert has those of one"
            )
        self.device_type, self.mesh_dim_names = device_type, mesh_dim_names
        self._ranks = ranks
        self._group: ProcessGroup | None = None

    @classmethod
    def from_group(
        cls, group: ProcessGroup, device_type: str, *, mesh_dim_names: Any = None
    ) -> DeviceMesh:
        """The mesh of a group."""
        ranks = get_process_group_ranks(group)
        mesh = cls(device_type, ranks, mesh_dim_names=mesh_dim_names)
        mesh._group = group
        return mesh

    @property
    def mesh(self) -> Tensor:
        """The ranks."""
        return wrap(self._ranks)

    @property
    def ndim(self) -> int:
        """1."""
        return 1

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranks there are, in a tuple."""
        return self._ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are."""
        return int(self._ranks.size)

    def __getitem__(self, name: str | tuple[str, ...]) -> DeviceMesh:
        names = (name,) if isinstance(name, str) else name
        if not self.mesh_dim_names or tuple(names) != tuple(self.mesh_dim_names):
            raise KeyError(
                f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are"
                f" {self.mesh_dim_names}."
            )
        return self

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of these ranks."""
        return default_group() if self._group is None else self._group

    def get_all_groups(self) -> list[ProcessGroup]:
        """The group, in a list."""
        return [self.get_group()]

    def get_rank(self) -> int:
        """The rank of this process among all."""
        return default_group().rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The rank of this process in the mesh."""
        return int(self.get_group().rank())

    def get_coordinate(self) -> tuple[int, ...] | None:
        """The place of this process; None if it is outside."""
        positions = np.flatnonzero(self._ranks == self.get_rank())
        return (int(positions[0]),) if positions.size else None

    def __repr__(self) -> str:
        names = self.mesh_dim_names or ("",)
        sizes = ", ".join(
            f"{n}={s}" if n else str(s) for n, s in zip(names, self.shape, strict=True)
        )
        return f"DeviceMesh(({sizes}), {self.device_type!r}, stride=((),))"


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """All ranks as a mesh of one dimension; meets them first if that has not happened.

    NotImplementedError for more dimensions.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.init_device_mesh("cpu", (1,), mesh_dim_names=("data",))["data"].size()
    1
    >>> dist.destroy_process_group()
    """
    if mesh_dim_names is not None and len(mesh_dim_names) != len(mesh_shape):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names):"
            f" {len(mesh_dim_names)} and len(mesh_shape): {len(mesh_shape)}."
        )
    if not is_initialized():
        init_process_group()
    group = default_group()
    size = int(np.prod(mesh_shape))
    if size != group.size():
        raise RuntimeError(
            f"init_device_mesh(): mesh_shape {tuple(mesh_shape)} has {size} places for"
            f" {group.size()} ranks"
        )
    ranks = np.arange(size).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)


__all__ = ["DeviceMesh", "init_device_mesh"]
