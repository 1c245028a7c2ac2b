"""Sparse tensors over ranks: their sums, and sparse gradients of data parallelism."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.distributed.ranks import Ranks
from wengert import distributed as dist
from wengert import nn
from wengert.nn.parallel import DistributedDataParallel


def of_rank(rank: int, dense: int) -> Any:
    indices = wengert.tensor([list(range(rank + 1)), [0] * (rank + 1)])
    values = wengert.ones(rank + 1, *(2,) * dense, dtype=wengert.float64) * (rank + 1)
    return wengert.sparse_coo_tensor(indices, values, (3, 2, *(2,) * dense))


def check_sums(rank: int, size: int) -> None:
    for dense in range(3):
        for op, factor in ((dist.ReduceOp.SUM, 1), (dist.ReduceOp.AVG, size)):
            x = of_rank(rank, dense)
            dist.all_reduce(x, op)
            total = sum(of_rank(r, dense).to_dense() for r in range(size)) / factor
            assert x.is_coalesced()
            assert wengert.equal(x.to_dense(), total)
    empty = wengert.sparse_coo_tensor(wengert.empty(1, 0), wengert.empty(0), (4,))
    dist.all_reduce(empty)
    assert empty._nnz() == 0
    with pytest.raises(RuntimeError, match=r"ReduceOp\.MAX and torch\.sparse_coo"):
        dist.all_reduce(of_rank(rank, 0), dist.ReduceOp.MAX)
    with pytest.raises(RuntimeError, match=r"torch\.sparse_csr"):
        dist.all_reduce(wengert.eye(2).to_sparse_csr())


class Tables(nn.Module):
    """Words with sparse gradients, a bag of them, and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(10, 3, sparse=True)
        self.bag = nn.EmbeddingBag(10, 3, sparse=True)
        self.layer = nn.Linear(3, 1)

    def forward(self, x: Any, bags: bool) -> Any:
        values = self.words(x).sum(1)
        return self.layer(values + self.bag(x) if bags else values).tanh()


BATCH = wengert.tensor([[1, 2], [2, 2], [7, 0], [9, 1]])


def trained(rank: int, size: int, steps: int = 3) -> list[Any]:
    wengert.manual_seed(1)
    model: Any = Tables().double()
    if size > 1:
        model = DistributedDataParallel(model)
    words = [p for n, p in model.named_parameters() if "layer" not in n]
    sparse = wengert.optim.SparseAdam(words, lr=0.1)
    dense = wengert.optim.SGD([p for n, p in model.named_parameters() if "layer" in n], lr=0.1)
    part = BATCH[rank::size]
    for step in range(steps):
        sparse.zero_grad()
        dense.zero_grad()
        if step == 1 and size > 1:
            with model.no_sync():
                model(part, True).mean().backward()
            model(part, True).mean().backward()
        elif step == 1:
            (2 * model(part, True).mean()).backward()
        else:
            model(part, step > 0).mean().backward()
        assert all(p.grad is None or p.grad.is_sparse for p in words)
        sparse.step()
        dense.step()
    return [p.detach().numpy() for p in model.parameters()]


def test_sums_of_sparse_tensors(two_ranks: Ranks) -> None:
    two_ranks.run(check_sums)


def test_sparse_gradients_stay_sparse(two_ranks: Ranks) -> None:
    expected = trained(0, 1)
    for found in two_ranks.run(trained):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
