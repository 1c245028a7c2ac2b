"""Parts, indices and diagonals that are written to, as copies."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from wengert import nn

from .harness import check_native, sample

INDEX = wengert.arange(48).reshape(6, 8)[:, ::3] % 6  # strided


def parts(x: Any) -> Any:
    y = x * 2
    y[:, 1:4] = x[0, 0]
    y[2] = x[:, 3].mean()
    y[..., -1] = x[:, 0]
    return y


CASES: dict[str, Any] = {
    "parts": parts,
    "scattered": lambda x: (x * 2).scatter(1, INDEX, x[:, :3].exp()),
    "scattered, some ignored": lambda x: (x[:, :3] * 2).scatter(0, INDEX, x[:, 3:6]) * x[:, :3],
    "scattered to some columns": lambda x: (x * 2).scatter(0, INDEX, x[:, :3]),
    "scattered numbers": lambda x: (x * 2).scatter(1, INDEX, 1.5) * x,
    "rows at a part of indices": lambda x: nn.functional.embedding(INDEX, x * 2),
    "elements at parts of indices": lambda x: x[INDEX, INDEX.flip(0)] * 2,
    "diagonals": lambda x: wengert.diag_embed(x * 2, 1) * 3,
    "diagonals of others": lambda x: wengert.diag_embed(x, -1, 0, 2).exp(),
    "a diagonal": lambda x: x.diagonal().exp() * 2,
    "triangles": lambda x: x.tril(1) * x.triu(-1),
    "from the end": lambda x: x.flip(1) * x.flip((0, 1)),
    "magnitudes": lambda x: x.norm(1, 0) * x.norm(p=1, dim=-1, keepdim=True),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    check_native(CASES[name], sample((6, 8)), whole=not name.endswith("columns"))


def test_magnitudes_of_what_is_no_number() -> None:
    check_native(lambda x: x.norm(1, 0) * 2, sample((6, 8), "nan"))
