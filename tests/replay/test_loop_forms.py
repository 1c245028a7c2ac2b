"""Loops of functions that are computed otherwise far from zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert

from .harness import check_native, sample

CASES: dict[str, Any] = {
    "angles": lambda x: (x * 3).sin() + x.cos() * x.tan(),
    "angles of rows": lambda x: (x + x[0]).sin() * x[:, :1].cos(),
    "remainders": lambda x: x.fmod(0.7) + x.remainder(0.3),
    "of every kind": lambda x: x.sin() + x.sinh() + x.abs().log2() + wengert.lgamma(x),
}


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str, far: bool) -> None:
    x = sample((6, 40))
    if far:
        x[1, 2:6] = 3e6, -1e30, np.inf, np.nan
    check_native(CASES[name], x)
