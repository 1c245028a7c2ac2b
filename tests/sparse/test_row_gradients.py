"""Sparse gradients of embeddings, and the optimizers that take them: PyTorch's trajectories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert


def trained(t: Any, name: str, options: dict[str, Any]) -> np.ndarray:
    """Losses and weights of an embedding and a bag, step by step."""
    random = np.random.default_rng(0)
    table = t.nn.Embedding(7, 3, sparse=True, padding_idx=2)
    bag = t.nn.EmbeddingBag(5, 3, sparse=True, mode="mean")
    with t.no_grad():
        for module in (table, bag):
            start = random.standard_normal(tuple(module.weight.shape))
            module.weight.copy_(t.tensor(start, dtype=t.float32))
    table.double()
    bag.double()
    optimizer = getattr(t.optim, name)([*table.parameters(), *bag.parameters()], **options)
    numbers = []
    for _ in range(8):
        index = t.tensor(random.integers(0, 7, (4,)))
        bags = t.tensor(random.integers(0, 5, (4, 2)))
        optimizer.zero_grad()
        loss = ((table(index) + bag(bags)) ** 2).sum()
        loss.backward()
        optimizer.step()
        numbers += [[loss.item()], *(m.weight.detach().numpy().ravel() for m in (table, bag))]
    return np.concatenate(numbers)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize(("name", "options"), [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.01, "maximize": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.01}),
    ("SparseAdam", {"lr": 0.1}),
    ("SparseAdam", {"lr": 0.1, "betas": (0.5, 0.9), "maximize": True}),
])  # fmt: skip
def test_trajectories(torch: Any, name: str, options: dict[str, Any]) -> None:
    expected = trained(torch, name, options)
    np.testing.assert_allclose(trained(wengert, name, options), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [
    "Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop",
    "Adafactor", "Muon",
])  # fmt: skip
def test_others_refuse(name: str) -> None:
    table = wengert.nn.Embedding(4, 2, sparse=True)
    before = table.weight.detach().clone()
    optimizer = getattr(wengert.optim, name)(table.parameters())
    table(wengert.tensor([1, 1])).sum().backward()
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        optimizer.step()
    assert (table.weight == before).all()


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_weight_decay_is_refused(name: str) -> None:
    table = wengert.nn.Embedding(4, 2, sparse=True)
    optimizer = getattr(wengert.optim, name)(table.parameters(), lr=0.1, weight_decay=0.1)
    table(wengert.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="sparse"):
        optimizer.step()


def test_accumulation() -> None:
    table = wengert.nn.Embedding(5, 2, sparse=True, padding_idx=0)
    table(wengert.tensor([1, 0, 3, 1])).sum().backward()
    assert table.weight.grad._indices().tolist() == [[1, 3, 1]]
    (table(wengert.tensor([2, 4])) * 3).sum().backward()
    assert table.weight.grad._indices().tolist() == [[1, 3, 1, 2, 4]]
    dense = table.weight.grad.to_dense()
    (table(wengert.tensor([2])).sum() + table.weight.sum()).backward()
    expected = dense + 1
    expected[2] += 1
    assert table.weight.grad.layout is wengert.strided
    assert (table.weight.grad == expected).all()
    table(wengert.tensor([3])).sum().backward()
    expected[3] += 1
    assert (table.weight.grad == expected).all()


def test_twice_in_one_walk() -> None:
    table = wengert.nn.Embedding(5, 2, sparse=True)
    (table(wengert.tensor([1])) * table(wengert.tensor([2]))).sum().backward()
    assert sorted(table.weight.grad._indices().tolist()[0]) == [1, 2]


def test_a_computed_table_has_a_dense_gradient() -> None:
    w = wengert.ones(3, 2, requires_grad=True)
    wengert.nn.functional.embedding(wengert.tensor([1, 1]), w * 2, sparse=True).sum().backward()
    assert w.grad.tolist() == [[0, 0], [4, 4], [0, 0]]


def test_second_derivatives() -> None:
    table = wengert.nn.Embedding(3, 2, sparse=True)
    out = (table(wengert.tensor([1, 1])) ** 3).sum()
    (g,) = wengert.autograd.grad(out, table.weight, create_graph=True)
    assert g.layout is wengert.sparse_coo
    (h,) = wengert.autograd.grad(g.to_dense().sum(), table.weight)
    np.testing.assert_allclose(h.to_dense()[1], 12 * table.weight[1].detach(), rtol=1e-6)


def test_zero_grad_and_hooks() -> None:
    table = wengert.nn.Embedding(3, 2, sparse=True)
    seen = []
    table.weight.register_hook(lambda g: seen.append(g.layout))
    table(wengert.tensor([1])).sum().backward()
    assert seen == [wengert.sparse_coo]
    table.zero_grad(set_to_none=False)
    assert table.weight.grad._nnz() == 0
    table.zero_grad()
    assert table.weight.grad is None
