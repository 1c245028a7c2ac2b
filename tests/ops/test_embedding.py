"""Bags of rows: their largest elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert

INDEX = np.array([3, 0, 1, 1, 2, 4, 0, 3])
BAGS = np.array([0, 0, 2, 5, 8])


@pytest.mark.torch
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 2.0])
@pytest.mark.parametrize("row", range(5))
def test_the_largest_of_bags_are_those_of_pytorch(
    torch: Any, row: int, special: float, padding: int | None
) -> None:
    table = np.array([[2, 1], [2, 0], [1, 3], [2, 3], [0, 3]], np.float32)
    table[row, 0] = special
    results = []
    for library in (wengert, torch):
        weight = library.from_numpy(table.copy()).requires_grad_()
        index, offsets = library.from_numpy(INDEX), library.from_numpy(BAGS)
        out = library.nn.functional.embedding_bag(
            index, weight, offsets, mode="max", padding_idx=padding
        )
        out.sum().backward()
        results.append((out.detach().numpy(), weight.grad.numpy()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)
