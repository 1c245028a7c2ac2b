"""Sampling at points that are no numbers, and at points far outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert

FAR = {"zeros": 1e30, "border": 1e30, "reflection": 1e3}


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", FAR)
def test_strange_points(torch: Any, mode: str, padding: str) -> None:
    far = FAR[padding]
    x = np.random.default_rng(0).standard_normal((1, 2, 3, 3))
    grid = np.array([[[[np.nan, 0], [np.inf, 0], [far, 0], [-far, far]]]])
    if mode == "bicubic":
        grid = grid[:, :, 2:]  # PyTorch reads other elements beside a weight that is nan
    ours, theirs = (
        library.nn.functional.grid_sample(
            library.from_numpy(x), library.from_numpy(grid), mode, padding, False
        )
        for library in (wengert, torch)
    )
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-12)
