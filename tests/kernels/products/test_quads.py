"""Products of bytes, four terms at a time: exact up to 24 bits, whatever the edges of tiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.threads import same_for_all_threads
from wengert.kernels.jit import available
from wengert.kernels.products import quads
from wengert.kernels.products.microkernel import lanes, tiles

pytestmark = pytest.mark.skipif(
    not quads.has_quad_dots(), reason="the processor has no instruction for bytes"
)

HIGH = max(tiles()) if available() else 8
WIDE = tiles()[HIGH] * lanes() if available() else 48
rng = np.random.default_rng(0)


def factors(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.integers(0, 128, (m, k), np.uint8), rng.integers(-128, 128, (n, k), np.int8)


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.int64) @ b.astype(np.int64).T


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 2 * HIGH + 1), st.integers(2, 2 * WIDE + 1), st.integers(1, 300))
def test_edges_of_tiles(m: int, n: int, k: int) -> None:
    a, b = factors(m, n, k)
    np.testing.assert_array_equal(quads.product(a, b), exact(a, b))


def test_long_sums_are_rounded_as_float32() -> None:
    a, b = np.full((3, 70_000), 127, np.uint8), np.full((5, 70_000), -128, np.int8)
    np.testing.assert_allclose(quads.product(a, b), exact(a, b), rtol=1e-6)
    np.testing.assert_allclose(quads.product(a[:, :1023], b[:, 1:1024]), -127 * 128 * 1023)


def test_bytes_above_127_are_unsigned() -> None:
    a, b = np.full((2, 8), 255, np.uint8), np.full((2, 8), -1, np.int8)
    np.testing.assert_array_equal(quads.product(a, b), np.full((2, 2), -255 * 8))


def test_digits_do_not_depend_on_threads() -> None:
    a, b = factors(300, 200, 5001)
    same_for_all_threads(lambda: quads.product(a, b))


def test_a_tile_in_python() -> None:
    a = rng.integers(0, 128, (5, 2, 4), np.uint8)
    b = rng.integers(-128, 128, (5, lanes(), 4), np.int8)
    c = np.zeros(2 * lanes(), np.float32)
    flat = [x.reshape(-1).view(np.float32) for x in (a, b)]
    quads.dotted_quads_product(2, 1, *flat, lanes(), 5, c, lanes(), 0)
    expected = np.einsum("krt,kct->rc", a.astype(int), b.astype(int))
    np.testing.assert_array_equal(c.reshape(2, -1), expected)


def test_what_is_no_product_of_matrices() -> None:
    a, b = factors(4, 4, 8)
    assert quads.product(a[:1], b) is None
    assert quads.product(a, b[:1]) is None
    assert quads.product(a[:, :0], b[:, :0]) is None
