"""Comparisons and counts of integers and masks, which are computed in a program."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from wengert import nn

from .harness import check_native, sample

F = nn.functional


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(name: str) -> None:
    compared: Any = getattr(wengert, name)

    def function(x: Any) -> Any:
        each = compared(x.argmax(1)[:, None], wengert.arange(8)[None])
        return x * each.float() + x * compared(x.argmin(1), 3).float()[:, None]

    check_native(function, sample((6, 8)))


def test_accuracy() -> None:
    target = wengert.arange(6)
    check_native(lambda x: ((x.argmax(1) == target).float().mean(), x * 2), sample((6, 8)))


@pytest.mark.parametrize("dim", [None, 0, 1, -1, (0, 1)])
def test_counts(dim: Any) -> None:
    def count(mask: Any) -> Any:
        return mask.sum() if dim is None else mask.sum(dim, keepdim=True)

    check_native(lambda x: x * count(x > 0) + x * count(x > 1).float(), sample((3, 4, 5)))


def test_masks_in_arithmetic() -> None:
    check_native(lambda x: (x > 0) * x.exp() + (x < 1).float(), sample((3, 4)))


def test_one_hot() -> None:
    check_native(lambda x: F.one_hot(x.argmax(1), 8).float() * x, sample((6, 8)))
