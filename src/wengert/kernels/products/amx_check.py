"""The first product on AMX tiles, in a process that may end by it."""

from __future__ import annotations

import numpy as np

from wengert.kernels.precision import BRAIN
from wengert.kernels.products.amx import permitted
from wengert.kernels.products.gemm import product_on_tiles


def computes() -> bool:
    """Whether a product of whole numbers is exact: edges of tiles, and several of each kind."""
    if not permitted():
        return False
    a, b = (np.arange(m * n).reshape(m, n) % 13 - 6 for m, n in ((37, 96), (96, 70)))
    found = product_on_tiles(a.astype(BRAIN), b.astype(BRAIN))
    return found is not None and np.array_equal(found, a @ b)
