"""Grids of ranks: their lines are groups, their parts are grids."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import wengert
from tests.distributed.ranks import Ranks
from wengert import distributed as dist
from wengert.distributed.device_mesh import DeviceMesh, init_device_mesh


@pytest.fixture(scope="module")
def four_ranks() -> Iterator[Ranks]:
    ranks = Ranks(4)
    yield ranks
    ranks.close()


def summed(value: float, group: dist.ProcessGroup) -> float:
    tensor = wengert.tensor([value])
    dist.all_reduce(tensor, group=group)
    total: float = tensor.item()
    return total


def check_grid(rank: int, size: int) -> None:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
    row, column = divmod(rank, 2)
    assert (mesh.shape, mesh.ndim, mesh.size(), mesh.size(1)) == ((2, 2), 2, 4, 2)
    assert mesh.mesh.tolist() == [[0, 1], [2, 3]]
    assert mesh.get_coordinate() == (row, column)
    assert (mesh.get_local_rank("data"), mesh.get_local_rank(1)) == (row, column)
    assert summed(rank, mesh.get_group("data")) == 2 * column + 2
    assert summed(rank, mesh.get_group(1)) == 4 * row + 1
    data, model = mesh["data"], mesh["model"]
    assert data.get_group() is mesh.get_group(0)
    assert data.mesh.tolist() == [column, 2 + column]
    assert model.mesh.tolist() == [2 * row, 2 * row + 1]
    assert data == mesh["data"] != model
    assert len({data, mesh["data"], model}) == 2
    assert mesh["model", "data"].mesh.tolist() == [[0, 2], [1, 3]]
    assert mesh["model", "data"].get_all_groups() == mesh.get_all_groups()[::-1]
    assert repr(mesh) == "DeviceMesh((data=2, model=2), 'cpu', stride=(2, 1))"


def check_flat(rank: int, size: int) -> None:
    mesh = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("replicas", "rows", "model"))
    flat = mesh["replicas", "rows"]._flatten("data")
    assert flat.mesh.tolist() == [rank % 2, rank % 2 + 2]
    assert flat.get_group().ranks == tuple(flat.mesh.tolist())
    assert mesh["data"] is flat
    assert flat.get_local_rank() == rank // 2


def check_part(rank: int, size: int) -> None:
    """A mesh of some ranks; the others have no place in it."""
    mesh = DeviceMesh("cpu", [3, 1])
    assert mesh.get_coordinate() == {3: (0,), 1: (1,)}.get(rank)
    if rank in (1, 3):
        assert summed(rank, mesh.get_group()) == 4
        assert mesh.get_local_rank() == (rank == 1)
    groups = [dist.new_group([rank]), dist.group.WORLD]
    both = DeviceMesh.from_group(groups, "cpu", [[0, 1, 2, 3]], mesh_dim_names=("one", "all"))
    assert both["all"].get_group() is dist.group.WORLD


def check_refusals(rank: int, size: int) -> None:
    mesh = init_device_mesh("cpu", (4, 1), mesh_dim_names=("a", "b"))
    for call in (mesh.get_group, mesh.get_local_rank):
        with pytest.raises(RuntimeError, match="have 2 dimensions"):
            call()
    with pytest.raises(KeyError, match="Mesh dimension 'c' does not exist"):
        mesh.get_group("c")
    with pytest.raises(KeyError, match="Invalid mesh_dim_names"):
        mesh["c"]
    with pytest.raises(RuntimeError, match="overlapping"):
        mesh["a", "a"]
    with pytest.raises(RuntimeError, match="without mesh_dim_names"):
        DeviceMesh("cpu", [0, 1, 2, 3])["a"]
    with pytest.raises(RuntimeError, match="6 places for 4 ranks"):
        init_device_mesh("cpu", (2, 3))
    with pytest.raises(RuntimeError, match="must be unique"):
        init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "a"))
    with pytest.raises(RuntimeError, match="same length"):
        init_device_mesh("cpu", (4,), mesh_dim_names=("a", "b"))
    with pytest.raises(RuntimeError, match="with index"):
        init_device_mesh("cpu:0", (4,))
    with pytest.raises(AssertionError, match="more than once"):
        DeviceMesh("cpu", [0, 0])
    with pytest.raises(ValueError, match="for each of the 2 groups"):
        DeviceMesh.from_group([mesh.get_group(0), mesh.get_group(1)], "cpu", [0, 1, 2, 3])


@pytest.mark.slow
def test_meshes(four_ranks: Ranks) -> None:
    for check in (check_grid, check_flat, check_part, check_refusals):
        four_ranks.run(check)
