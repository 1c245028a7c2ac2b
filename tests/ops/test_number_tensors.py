"""Tensors of one element where a function takes a number."""

from __future__ import annotations

from typing import Any

import pytest

import wengert


@pytest.mark.torch
@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("size", [3, 5000])
def test_the_factor_of_a_product(torch: Any, name: str, dtype: str, size: int) -> None:
    def program(t: Any) -> list[Any]:
        kind = getattr(t, dtype)
        x = t.full((size,), 1.5, dtype=kind, requires_grad=True)
        y = t.full((size,), 0.75, dtype=kind, requires_grad=True)
        out = getattr(x, name)(y, x, value=t.tensor(0.5))
        out.sum().backward()
        with t.no_grad():
            getattr(x, name + "_")(y, y, value=-t.tensor(0.25))
        return [z.detach().float()[:3].tolist() for z in (out, x.grad, y.grad, x)]

    assert program(wengert) == program(torch)
