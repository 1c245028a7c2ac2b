"""Gated linear units: kernels, NumPy in float64, and the same source in Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.variants import by_numpy, in_python
from wengert.kernels import gating


@pytest.mark.parametrize(("shape", "axis"), [((40, 6), 1), ((4, 30), 0), ((2, 6, 5), 1)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_halves_and_their_gradient(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = (4 * rng.normal(size=shape)).astype(dtype)
    x.reshape(-1)[-1], x.reshape(-1)[-2] = 200, -200
    g = rng.normal(size=(*shape[:axis], shape[axis] // 2, *shape[axis + 1 :])).astype(dtype)
    with by_numpy():
        exact = [gating.gated(x.astype("d"), axis), gating.gradient(g, x.astype("d"), axis)]

    def both() -> list[np.ndarray]:
        return [gating.gated(x, axis), gating.gradient(g, x, axis)]

    with in_python():
        slow = both()
    least = {"f4": 2e-6, "f8": 1e-14, "f2": 2e-3}[dtype]
    # In Python the functions are those of float32.
    for found, error in ((both(), least), (slow, max(least, 2e-6))):
        for ours, theirs in zip(found, exact, strict=True):
            assert ours.dtype == dtype
            np.testing.assert_allclose(ours, theirs, rtol=error, atol=error)
