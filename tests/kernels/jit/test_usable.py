"""Which arrays kernels may read."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from wengert.kernels.jit import available, usable

PLAIN = np.ones((4, 6), np.float32)


@pytest.mark.skipif(not available(), reason="there are no kernels")
@pytest.mark.parametrize("array", [PLAIN, PLAIN[1:], pickle.loads(pickle.dumps(PLAIN))])
def test_float32_as_it_lies_is_usable(array: np.ndarray) -> None:
    assert usable(PLAIN, array)


@pytest.mark.parametrize(
    "array",
    [
        PLAIN.T,
        PLAIN[:, ::2],
        PLAIN.astype(np.float64),
        PLAIN.astype(">f4"),
        np.zeros(17, np.uint8)[1:].view(np.float32),
    ],
)
def test_other_arrays_are_not(array: np.ndarray) -> None:
    assert not usable(PLAIN, array)
