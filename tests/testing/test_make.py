"""`make_tensor` draws PyTorch's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.testing import make_tensor

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
          "float64", "complex64", "complex128"]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {}, {"noncontiguous": True}, {"exclude_zero": True}, {"low": 0, "high": 2}, {"low": 0.5},
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_pytorchs(dtype: str, options: dict[str, Any], torch: Any) -> None:
    for shape in ((3, 4), ((2, 5),), (20,), (), (0, 3)):
        made = []
        for library in (wengert, torch):
            library.manual_seed(1)
            one = library.testing.make_tensor(
                *shape, dtype=getattr(library, dtype), device="cpu", **options
            )
            made.append((one.stride(), list(one.shape), one.tolist(), library.rand(1).item()))
        assert made[0][:2] == made[1][:2]
        # Halves of low precision are rounded once here, and after each step in PyTorch.
        atol = {"bfloat16": 0.07, "float16": 0.01}.get(dtype, 2e-6)
        np.testing.assert_allclose(made[0][2], made[1][2], rtol=1e-6, atol=atol)
        assert made[0][3] == made[1][3]


def test_zeros_are_left_out() -> None:
    values = make_tensor(50, dtype=wengert.int64, device="cpu", low=0, high=2, exclude_zero=True)
    assert values.tolist() == [1] * 50
    assert make_tensor(2, dtype=wengert.float32, device="cpu", requires_grad=True).requires_grad


@pytest.mark.torch
@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        ("int64", {"low": 3, "high": 3}),
        ("float32", {"low": 3, "high": 1}),
        ("float32", {"low": float("nan")}),
        ("uint8", {"low": 300, "high": 400}),
        ("int64", {"requires_grad": True}),
        ("float32", {"noncontiguous": True, "memory_format": 1}),
    ],
)
def test_errors(dtype: str, options: dict[str, Any], torch: Any) -> None:
    texts = []
    for library in (wengert, torch):
        with pytest.raises(ValueError, match=r"low|high|support|exclusive") as error:
            library.testing.make_tensor(2, dtype=getattr(library, dtype), device="cpu", **options)
        texts.append(str(error.value)[:40])
    assert texts[0] == texts[1]
