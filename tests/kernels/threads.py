"""Results that are to be the same whatever the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.kernels.jit import get_threads
from wengert.kernels.products.blas import set_threads


def same_for_all_threads(compute: Callable[[], Any]) -> Any:
    """What a function gives with 1, 2 and 3 threads, which has to be the same."""
    before, found = get_threads(), []
    try:
        for count in (1, 2, 3):
            set_threads(count)
            found.append(compute())
    finally:
        set_threads(before)
    assert found[0] is not None
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    return found[0]
