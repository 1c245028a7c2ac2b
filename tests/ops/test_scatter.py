"""Gradients of scatters where torch has none to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.tensor.both import numeric_gradients

INDEX = [[0, 3], [2, 1]]


def larger_source(lib: Any, x: Any, src: Any) -> Any:
    return x.scatter(1, lib.tensor(INDEX), src) * x


def larger_source_added(lib: Any, x: Any, src: Any) -> Any:
    return x.scatter_add(0, lib.tensor([[2, 2, 0]]), src) * x


def reduced_with_add(lib: Any, x: Any, src: Any) -> Any:
    return x.scatter(1, lib.tensor([[0, 0], [2, 1]]), src, reduce="add") * x


def reduced_with_multiply(lib: Any, x: Any, src: Any) -> Any:
    return x.scatter(1, lib.tensor([[0, 0], [2, 1]]), src, reduce="multiply") * x


def filled_from_the_end(lib: Any, x: Any, src: Any) -> Any:
    return x.index_fill(1, lib.tensor([-1, 3, 0]), src[0, 0]) * x


def placed_by_strides(lib: Any, x: Any, src: Any) -> Any:
    return x.as_strided_scatter(src[:2, :2], (2, 2), (5, 1), 1) * x


def powers(lib: Any, x: Any, src: Any) -> Any:
    return lib.vander(x[0], 3) * lib.vander(src[0, :4], 3, True)


@pytest.mark.parametrize(
    "program",
    [
        larger_source, larger_source_added, reduced_with_add, reduced_with_multiply,
        filled_from_the_end, placed_by_strides, powers,
    ],
)  # fmt: skip
def test_gradient_equals_differences(program: Any) -> None:
    numeric_gradients(program, (3, 4), (3, 5))


@pytest.mark.torch
def test_elements_that_tie_share_the_gradient_of_an_extreme(torch: Any) -> None:
    found = []
    for lib in (wengert, torch):
        x = lib.tensor([2.0, 1.0], requires_grad=True)
        src = lib.tensor([2.0, 2.0, 0.5], requires_grad=True)
        x.scatter_reduce(0, lib.tensor([0, 0, 1]), src, "amax").sum().backward()
        found.append((x.grad.tolist(), src.grad.tolist()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)


def test_sums_save_no_values() -> None:
    x, src = wengert.zeros(3, requires_grad=True), wengert.ones(3, requires_grad=True)
    y = x.scatter_reduce(0, wengert.tensor([0, 0, 1]), src, "sum")
    assert [slot for slot, _ in y._edge.saved] == ["s_index"]
