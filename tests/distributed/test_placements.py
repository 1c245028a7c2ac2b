"""How tensors are distributed over ranks, and collectives that return new tensors."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert
from tests.distributed.ranks import Ranks
from wengert import distributed as dist
from wengert.compat._private import functional_collectives as collectives
from wengert.compat._private.sharding import compute_local_shape_and_global_offset
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.tensor import placements


@pytest.mark.torch
def test_rows_of_each_rank_are_pytorchs(torch: Any) -> None:
    from torch.distributed.tensor import _utils, placement_types

    for length, size in itertools.product((0, 1, 5, 6, 7), (1, 2, 3, 4)):
        for rank, skip in itertools.product(range(size), (False, True)):
            mesh: Any = SimpleNamespace(shape=(size,), get_coordinate=lambda rank=rank: (rank,))
            for ours, theirs in (
                (placements.Shard(0), placement_types.Shard(0)),
                (placements.Shard(1), placement_types.Shard(1)),
                (placements.Replicate(), placement_types.Replicate()),
            ):
                expected = _utils._compute_local_shape_and_global_offset(
                    (length, 3), (size,), [rank], [theirs], skip
                )
                result = compute_local_shape_and_global_offset((length, 3), mesh, [ours], skip)
                assert result == expected


def test_a_rank_outside_the_mesh_has_nothing() -> None:
    mesh: Any = SimpleNamespace(shape=(2,), get_coordinate=lambda: None)
    result = compute_local_shape_and_global_offset((4, 3), mesh, [placements.Shard(0)])
    assert result == ((), ())


@pytest.mark.torch
def test_placements_answer_as_pytorchs(torch: Any) -> None:
    from torch.distributed.tensor import placement_types

    def answers(module: Any) -> list[Any]:
        kinds = [module.Shard(0), module.Shard(1), module.Replicate(), module.Partial("sum")]
        questions = [
            (p.is_shard(), p.is_shard(1), p.is_replicate(), p.is_partial(), isinstance(p, kind))
            for p in kinds
            for kind in (module.Placement, module.Shard)
        ]
        return [questions, [a == b for a in kinds for b in kinds], repr(kinds[1]), repr(kinds[2])]

    assert answers(placements) == answers(placement_types)


def new_tensors(rank: int, size: int) -> None:
    group, mesh = dist.group.WORLD, DeviceMesh("cpu", list(range(size)))
    x = wengert.full((2,), rank + 1.0, requires_grad=True)
    total = collectives.all_reduce(x, "sum", group)
    assert total.tolist() == [size * (size + 1) / 2] * 2
    assert x.tolist() == [rank + 1.0] * 2
    assert collectives.all_reduce(x.detach(), "max", mesh).tolist() == [size] * 2
    joined = collectives.all_gather_tensor_autograd(x.reshape(1, 2), 1, mesh)
    assert joined.tolist() == [[r + 1.0 for r in range(size) for _ in range(2)]]
    assert collectives.wait_tensor(joined) is joined
    # Each rank sends one row to rank 0, two to rank 1, and so on.
    rows = [r + 1 for r in range(size)]
    sent = wengert.full((sum(rows), 2), float(rank), requires_grad=True)
    got = collectives.all_to_all_single_autograd(sent, [rank + 1] * size, rows, group)
    assert got[:, 0].tolist() == np.repeat(np.arange(size), rank + 1).tolist()
    (got * (rank + 1)).sum().backward()
    assert sent.grad[:, 0].tolist() == np.repeat(np.arange(size) + 1, rows).tolist()
    equal = collectives.all_to_all_single(wengert.arange(size) + 10 * rank, None, None, group)
    assert equal.tolist() == [10 * r + rank for r in range(size)]


def test_collectives_that_return_new_tensors(ranks: Ranks) -> None:
    ranks.run(new_tensors)


def test_the_type_of_reductions_has_its_name() -> None:
    assert dist.ReduceOp.RedOpType.SUM is dist.ReduceOp.SUM  # type: ignore[attr-defined]
