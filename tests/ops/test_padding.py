"""Lengths of padding."""

from __future__ import annotations

from typing import Any

import pytest

import wengert


@pytest.mark.torch
def test_lengths_may_be_tensors_of_one_integer(torch: Any) -> None:
    def program(t: Any) -> list[Any]:
        x, pad = t.ones(1, 2), t.nn.functional.pad
        with pytest.raises(TypeError):
            pad(x, (0, t.tensor([1, 2])))
        return [pad(x, (0, t.tensor(1))).tolist(), pad(x, (0, t.tensor([2]))).tolist()]

    assert program(wengert) == program(torch)


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_an_axis_may_be_cropped_to_nothing(torch: Any, mode: str) -> None:
    def program(t: Any) -> list[Any]:
        x = t.ones(4, 16, 2, 2, requires_grad=True)
        outs = [t.nn.functional.pad(x, pad, mode) for pad in ((0, 1, 0, -2), (0, -2, 0, 1))]
        (gradient,) = t.autograd.grad(sum(out.sum() for out in outs), x)
        return [*[tuple(out.shape) for out in outs], gradient.tolist()]

    assert program(wengert) == program(torch)
