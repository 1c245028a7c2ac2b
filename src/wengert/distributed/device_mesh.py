"""Ranks in a grid, whose dimensions may have names: one for copies of the data, one for parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.world import (
    default_group,
    get_process_group_ranks,
    init_process_group,
    is_initialized,
    new_group,
)

_ONE_DIMENSION = "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1."


class DeviceMesh:
    """Ranks in a grid. `init_device_mesh` makes one; ``mesh["name"]`` is a part of it.

    Each line of ranks along a dimension is a group: all ranks make a mesh together.

    >>> from wengert.distributed import DeviceMesh
    >>> DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("data", "model")).shape
    (2, 2)
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
        if len(np.unique(ranks)) < ranks.size:
            raise AssertionError(f"DeviceMesh: a rank is there more than once: {ranks.tolist()}")
        self.device_type = device_type
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._ranks = ranks
        self._groups: list[Any] = []
        self._root = self
        self._flattened: dict[str, DeviceMesh] = {}
        if is_initialized() and _init_backend:
            self._groups = [_line_group(ranks, dim) for dim in range(ranks.ndim)]

    @classmethod
    def from_group(
        cls,
        group: ProcessGroup | Sequence[ProcessGroup],
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Any = None,
    ) -> DeviceMesh:
        """The mesh of a group; of several groups, one for each dimension, with the ranks in `mesh`.

        ValueError if there are several groups and no mesh, or another number of dimensions.
        """
        if isinstance(group, ProcessGroup):
            groups, ranks = [group], get_process_group_ranks(group)
        else:
            groups, ranks = list(group), mesh
            if ranks is None or np.ndim(getattr(ranks, "_array", ranks)) != len(groups):
                raise ValueError(
                    "DeviceMesh.from_group(): expected a mesh with a dimension for each of the"
                    f" {len(groups)} groups, got {ranks!r}"
                )
        created = cls(device_type, ranks, mesh_dim_names=mesh_dim_names, _init_backend=False)
        created._groups = groups
        return created

    @property
    def mesh(self) -> Tensor:
        """The ranks."""
        return wrap(self._ranks)

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranks there are along each dimension."""
        return self._ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, or how many along a dimension."""
        return int(self._ranks.size if mesh_dim is None else self.shape[mesh_dim])

    def __getitem__(self, name: str | tuple[str, ...]) -> DeviceMesh:
        names = (name,) if isinstance(name, str) else tuple(name)
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        if names == self.mesh_dim_names:
            return self
        if len(names) == 1 and names[0] in self._root._flattened:
            return self._root._flattened[names[0]]
        if any(n not in self.mesh_dim_names for n in names):
            raise KeyError(
                f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are"
                f" {list(self.mesh_dim_names)}."
            )
        if len(set(names)) < len(names):
            raise RuntimeError(f"Slicing overlapping dim_names {names} is not allowed.")
        dims = [self.mesh_dim_names.index(n) for n in names]
        part = DeviceMesh(
            self.device_type, self._own_part(dims), mesh_dim_names=names, _init_backend=False
        )
        part._groups = [self._groups[dim] for dim in dims] if self._groups else []
        part._root = self._root
        return part

    def _own_part(self, dims: Sequence[int]) -> np.ndarray:
        """The ranks that differ from this one along some dimensions alone, in their order."""
        place = self.get_coordinate() or (0,) * self.ndim
        index = tuple(slice(None) if dim in dims else place[dim] for dim in range(self.ndim))
        part, kept = self._ranks[index], sorted(dims)
        return part.transpose([kept.index(dim) for dim in dims])

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """The same ranks in a row, under a name; all ranks call this."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        names = self._root.mesh_dim_names or ()
        dims = [names.index(n) for n in self.mesh_dim_names or ()]
        others = [dim for dim in range(self._root.ndim) if dim not in dims]
        lines = self._root._ranks.transpose([*others, *dims]).reshape(-1, self.size())
        flat = DeviceMesh(
            self.device_type, self._ranks.reshape(-1), mesh_dim_names=(name,), _init_backend=False
        )
        flat._groups = [_line_group(lines, 1)]
        flat._root = self._root
        self._root._flattened[name] = flat
        return flat

    def _dimension(self, mesh_dim: int | str | None, *more: str) -> int:
        """The number of a dimension, which may be left out if there is one."""
        if mesh_dim is None:
            if self.ndim > 1:
                head = f"Found the DeviceMesh have {self.ndim} dimensions"
                raise RuntimeError(head, _ONE_DIMENSION, *more)
            return 0
        if isinstance(mesh_dim, int):
            return range(self.ndim)[mesh_dim]
        if mesh_dim not in (self.mesh_dim_names or ()):
            raise KeyError(
                f"Mesh dimension '{mesh_dim}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={self.mesh_dim_names}",
            )
        return (self.mesh_dim_names or ()).index(mesh_dim)

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of the ranks along a dimension, this one among them.

        RuntimeError if there are several dimensions and none is named.
        """
        dim = self._dimension(mesh_dim, "get_all_groups() gives the groups of all dimensions.")
        if not self._groups:
            default_group()
            raise RuntimeError("the DeviceMesh was made before init_process_group()")
        group: ProcessGroup = self._groups[dim]
        return group

    def get_all_groups(self) -> list[ProcessGroup]:
        """The group of each dimension."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def get_rank(self) -> int:
        """The rank of this process among all."""
        return default_group().rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The rank of this process along a dimension."""
        return int(self.get_group(self._dimension(mesh_dim)).rank())

    def get_coordinate(self) -> tuple[int, ...] | None:
        """The place of this process; None if it is outside."""
        places = np.argwhere(self._ranks == self.get_rank())
        return tuple(places[0].tolist()) if len(places) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        return self.device_type, self.shape, self._ranks.tobytes(), self.mesh_dim_names

    def __repr__(self) -> str:
        names = self.mesh_dim_names or ()
        named = [f"{name}={size}" for name, size in zip(names, self.shape, strict=False)]
        sizes = f"({', '.join(named)})" if named else str(self.shape)
        strides = tuple(
            int(np.diff(self._ranks, axis=dim).flat[0]) if size > 1 else ()
            for dim, size in enumerate(self.shape)
        )
        return f"DeviceMesh({sizes}, {self.device_type!r}, stride={strides})"


def _line_group(ranks: np.ndarray, dim: int) -> Any:
    """The group of this rank among those of all lines along a dimension, which all ranks make."""
    lines = np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]).tolist()
    world = default_group()
    if lines == [list(world.ranks)]:
        return world
    own: Any = None
    for line in lines:
        group = new_group(line, sort_ranks=False)
        if world.rank() in line:
            own = group
    return own


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """All ranks in a grid of some shape; meets them first if that has not happened.

    RuntimeError if there are more or fewer ranks, or if names are too few or not unique.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
    >>> mesh["data"].size()
    1
    >>> dist.destroy_process_group()
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) < len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique. Found repeated mesh_dim_name in"
                f" mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_dim_names) != len(mesh_shape):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names):"
                f" {len(mesh_dim_names)} and len(mesh_shape): {len(mesh_shape)}."
            )
    if ":" in device_type:
        raise RuntimeError(f"Device type with index is not supported but got {device_type}.")
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
