"""Convolutions of windows that do not overlap, in compiled functions."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from wengert import compiler, nn

from .harness import check_same

F = nn.functional


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("more", [(1, 0), (0, 1), (1, 1)])
def test_transposed_ones_of_single_elements_may_have_more_on_one_side(
    more: tuple[int, int], groups: int
) -> None:
    def gradients(function: Any) -> list[Any]:
        wengert.manual_seed(0)
        x, w = wengert.randn(3, 32, 6, 5), wengert.randn(32, 24 // groups, 1, 1)
        x.requires_grad_()
        w.requires_grad_()
        y = function(x, w)
        y.square().mean().backward()
        return [y, x.grad, w.grad]

    def convolve(x: Any, w: Any) -> Any:
        return F.conv_transpose2d(x, w, None, 1, 0, more, groups, 2)

    step, eager = compiler.compile(convolve), gradients(convolve)
    for _ in range(3):
        for a, b in zip(gradients(step), eager, strict=True):
            check_same(a.detach(), b.detach())
