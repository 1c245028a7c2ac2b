"""Extremes and where they are, as kernels: ties, NaN, and dimensions before others."""

from __future__ import annotations

from typing import Any

import pytest

import wengert

from .harness import check_native, sample

CASES: dict[str, Any] = {
    "max": lambda x: tuple(x.max(1)),
    "max, kept": lambda x: tuple(x.max(1, keepdim=True)),
    "max of columns": lambda x: tuple(x.max(0)),
    "max of rows": lambda x: tuple(x.max(-1)),
    "min": lambda x: tuple(x.min(1)),
    "min of rows": lambda x: tuple(x.min(-1, keepdim=True)),
    "amax": lambda x: x.amax(1),
    "amax of rows, kept": lambda x: x.amax(-1, keepdim=True),
    "amin over two dimensions": lambda x: x.amin((0, -1)),
    "amax over neighbours": lambda x: x.amax((0, 1), keepdim=True),
    "max of all": lambda x: x.max() * x,
    "min of all": lambda x: x.min() * x,
    "places": lambda x: (x.argmax(1), x.argmin(0, keepdim=True), x.argmax(), x * 2),
    "running": lambda x: (*x.cummax(1), *x.cummin(-1)),
    "the largest": lambda x: tuple(x.topk(2)),
    "the smallest of all": lambda x: tuple(x.reshape(2, -1).topk(30, largest=False)),
    "sorted": lambda x: tuple(x.reshape(2, -1).sort(descending=True)),
    "places in order": lambda x: (x.reshape(3, -1).argsort(), x * 2),
}


@pytest.mark.parametrize("kind", ["", "ties", "nan", "infinities"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str, kind: str) -> None:
    check_native(CASES[name], sample((3, 16, 5), kind))


def test_one_row_in_parts() -> None:
    check_native(lambda x: x.amax() * 2 + x.min(), sample((1 << 16,)))


def test_elements_that_lie_in_another_order() -> None:
    check_native(lambda x: tuple((x * 2).transpose(0, 2).max(1)), sample((3, 16, 5), "ties"))


@pytest.mark.parametrize("dtype", [wengert.float64, wengert.float16, wengert.bfloat16])
def test_other_dtypes(dtype: Any) -> None:
    check_native(lambda x: (*x.max(1), x.amax(0)), sample((3, 16, 5), "ties"), dtype, False)
