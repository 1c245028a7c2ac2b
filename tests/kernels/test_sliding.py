"""Blocks added into planes: the kernel, what convolutions do, and the same source in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels.variants import in_python, needs_llvmlite
from wengert.kernels import conv, sliding
from wengert.kernels.geometry import Geometry

CASES = [
    ((6, 7), (3, 2), (1, 1), (0, 0), (1, 1)),
    ((6, 7), (3, 3), (2, 3), (1, 2), (1, 1)),
    ((9, 8), (2, 3), (1, 2), (2, 4), (3, 2)),
    ((1, 1), (1, 1), (5, 5), (0, 0), (1, 1)),
]


@needs_llvmlite
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_blocks_are_added(case: Any, dtype: str) -> None:
    size, kernel, stride, padding, dilation = case
    geometry = Geometry(stride, tuple((p, p) for p in padding), dilation)
    grid = geometry.out_size(size, kernel)
    blocks = np.random.default_rng(0).normal(size=(2, 3, *kernel, *grid)).astype(dtype)
    expected = conv.overlap_add(blocks, size, geometry)
    found = [sliding.added(blocks, size, geometry)]
    with in_python():
        found.append(sliding.added(blocks, size, geometry))
    for planes in found:
        assert planes is not None
        assert planes.dtype == dtype
        np.testing.assert_allclose(planes, expected, rtol=1e-5, atol=1e-5)
