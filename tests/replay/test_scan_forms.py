"""Scans, products and gates as kernels, along any dimension."""

from __future__ import annotations

from typing import Any

import pytest

from wengert import nn

from .harness import check_native, sample

F = nn.functional
CASES: dict[str, Any] = {
    "sums": lambda x, dim: x.cumsum(dim),
    "products": lambda x, dim: x.cumprod(dim),
    "logarithms": lambda x, dim: x.logcumsumexp(dim),
    "one product": lambda x, dim: x.prod(dim),
    "one product, kept": lambda x, dim: x.prod(dim, keepdim=True),
    "of all": lambda x, dim: x.prod() * x,
    "gated": lambda x, dim: F.glu(x.repeat_interleave(2, dim), dim),
    "the other way around": lambda x, dim: x.flip(dim).cumsum(dim).flip((0, dim)[: 1 + (dim != 0)]),
}


@pytest.mark.parametrize("kind", ["", "nan", "zeros", "infinities"])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str, dim: int, kind: str) -> None:
    check_native(lambda x: CASES[name](x, dim), sample((3, 4, 5), kind))


def test_one_element() -> None:
    check_native(lambda x: (x.cumprod(0), x.logcumsumexp(0), x.prod(0) * 2), sample((1, 4)))
