"""Variances and standard deviations as kernels."""

from __future__ import annotations

from typing import Any

import pytest

import wengert

from .harness import check_native, sample

CASES: dict[str, Any] = {
    "rows": lambda x: x.var(-1),
    "columns": lambda x: x.var(0, keepdim=True),
    "the middle": lambda x: x.std(1, correction=0),
    "two dimensions": lambda x: x.std((0, -1), keepdim=True),
    "all": lambda x: (x.var() + x.std()) * x,
    "with means": lambda x: (*wengert.var_mean(x, -1), *wengert.std_mean(x, 0)),
}


@pytest.mark.parametrize("kind", ["", "nan", "zeros"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str, kind: str) -> None:
    check_native(CASES[name], sample((3, 16, 5), kind))


def test_no_deviation_has_no_gradient() -> None:
    check_native(lambda x: (x * 0 + 2).std(-1) + x.sum(-1), sample((4, 8)))


def test_one_row_of_many_elements() -> None:
    check_native(lambda x: (x + 100).var() * 2, sample((70000,)))


@pytest.mark.filterwarnings("ignore:var")
def test_no_degrees_of_freedom_are_warned_of() -> None:
    check_native(lambda x: x.var(0).nan_to_num() * x, sample((1, 9)), whole=False)
