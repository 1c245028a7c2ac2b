"""Losses of classes that are not last, and softmax along such dimensions, as kernels."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from wengert import compiler, nn

from .harness import check_native, sample

F = nn.functional
TARGET = wengert.arange(40).reshape(2, 4, 5) % 6
SOME = wengert.where(TARGET == 3, 255, TARGET)
WEIGHT = wengert.arange(6) * 0.25 + 0.5

CASES: dict[str, Any] = {
    "mean": lambda x: F.cross_entropy(x, TARGET),
    "each": lambda x: F.cross_entropy(x, TARGET, reduction="none"),
    "sum, smoothed": lambda x: F.cross_entropy(x, TARGET, reduction="sum", label_smoothing=0.1),
    "weighed, some ignored": lambda x: F.cross_entropy(x, SOME, WEIGHT, ignore_index=255),
    "all of it": lambda x: F.cross_entropy(
        x, SOME, WEIGHT, ignore_index=255, label_smoothing=0.2, reduction="none"
    ),
    "of logarithms": lambda x: F.nll_loss(x.log_softmax(1), TARGET),
    "of logarithms, each": lambda x: F.nll_loss(
        x.log_softmax(1), SOME, WEIGHT, ignore_index=255, reduction="none"
    ),
    "softmax": lambda x: x.softmax(1) * x.log_softmax(2),
    "softmax of columns": lambda x: x.softmax(0) + x.log_softmax(0),
}


@pytest.mark.parametrize("kind", ["", "nan", "infinities"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str, kind: str) -> None:
    check_native(CASES[name], sample((2, 6, 4, 5), kind))


def test_images_whose_channels_are_last_in_memory() -> None:
    def loss(x: Any) -> Any:
        return F.cross_entropy(x.to(memory_format=wengert.channels_last) * 2, TARGET)

    check_native(loss, sample((2, 6, 4, 5)), whole=False)


def test_classes_out_of_bounds_are_refused() -> None:
    step = compiler.compile(lambda x, target: F.cross_entropy(x * 2, target))
    x = wengert.tensor(sample((2, 6, 4, 5)))
    for _ in range(4):
        step(x, TARGET).item()
    with pytest.raises(IndexError, match="Target 6 is out of bounds"):
        step(x, TARGET + 1).item()
