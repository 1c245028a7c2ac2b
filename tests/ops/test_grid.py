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


@pytest.mark.torch
@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("n", [5, 28, 49, 100])
def test_points_at_elements_read_what_pytorchs_read(
    torch: Any, n: int, align_corners: bool
) -> None:
    """At an element the slope is that of one side or the other: the last bit of a point decides."""
    slopes, grids = [], []
    for library in (wengert, torch):
        identity, size = library.eye(2, 3).unsqueeze(0), (1, 1, n, n)
        functional = library.nn.functional
        grid = functional.affine_grid(identity, size, align_corners).requires_grad_()
        image = (library.arange(float(n * n)) % 7).reshape(size)
        out = functional.grid_sample(
            image, grid, padding_mode="border", align_corners=align_corners
        )
        out.sum().backward()
        slopes.append(grid.grad.numpy())
        grids.append(grid.detach().numpy())
    np.testing.assert_array_equal(*grids)
    np.testing.assert_allclose(*slopes, rtol=1e-5, atol=1e-5)
