"""Products by weights that are packed once: the same digits as if they were packed each time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.kernels.guarded import copied
from wengert.kernels import derived
from wengert.kernels.jit import available, get_threads, set_threads
from wengert.kernels.products import blas, ready
from wengert.kernels.products.gemm import gemm, gemm_by
from wengert.kernels.products.microkernel import lanes
from wengert.kernels.products.packing import side

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

HIGH, WIDE = side(), 2 * lanes()
SIZES = [
    (2, 2, 1), (2, 3, 5), (HIGH + 1, WIDE + 1, HIGH + 1), (3 * HIGH, 5 * WIDE + 3, 700),
    (49, 257, 1300), (128, WIDE - 1, 64), (5, 3000, 40),
]  # fmt: skip


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    before = get_threads()
    yield
    set_threads(before)
    derived.drop_all()


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("at_end", [False, True])
def test_digits(size: tuple[int, int, int], turned: bool, at_end: bool) -> None:
    m, n, k = size
    weight = copied(floats(n, k) if turned else floats(k, n), at_end)
    b = weight.T if turned else weight
    bias = copied(floats(n), at_end)
    for a in (copied(floats(m, k), at_end), copied(floats(k, m), at_end).T):
        right, biased = gemm(a, b), gemm(a, b, bias)
        derived.keep_for(weight, lambda _: True)
        for threads in (1, 2, 3):
            set_threads(threads)
            for _ in range(2):
                np.testing.assert_array_equal(ready.times_kept(a, b, weight), right)
                np.testing.assert_array_equal(ready.times_kept(a, b, weight, bias), biased)
    assert derived.kept_bytes() >= weight.nbytes


def test_the_kernels_as_python_runs_them() -> None:
    """Each access is checked there."""
    m, n, k = HIGH + 1, WIDE + 1, HIGH + 2
    weight, a, bias = floats(n, k), floats(m, k), floats(n)
    b = weight.T
    plan = ready._ready(a.shape, a.strides, b.shape, b.strides, 1)
    form = plan.form
    right, out = np.zeros(form.packed_size, np.float32), np.zeros(m * n, np.float32)
    ready.pack.python(weight.ravel(), right, form.sizes, form.padded, 0, 1)
    ready.multiply.python(
        a.ravel(), right, out, bias, np.zeros(plan.plan.scratch, np.float32),
        np.zeros(1, np.int64), 1, form.sizes, form.padded, 0, plan.plan.tasks,
    )  # fmt: skip
    exact = a.astype(np.float64) @ b + bias
    np.testing.assert_allclose(out.reshape(m, n), exact, rtol=0, atol=1e-5)


def test_what_does_not_apply() -> None:
    weight = floats(64, 64)
    assert gemm_by(floats(1, 64), weight, weight) is None
    assert gemm_by(floats(129, 64), weight, weight) is None
    assert gemm_by(floats(64, 63), weight, weight) is None
    assert gemm_by(floats(64, 64).astype(np.float64), weight, weight) is None
    assert gemm_by(floats(64, 64), weight, weight, floats(63)) is None
    assert gemm_by(floats(64, 64), weight[:, :1], weight) is None
    packed = np.zeros(64 * 64 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(64, 64)
    assert gemm_by(packed, weight, weight) is None
    assert gemm_by(floats(64, 64), weight, weight) is not None


def test_nothing_is_packed_whole_unless_it_is_kept() -> None:
    weight, a = floats(256, 128), floats(64, 256)
    expected = blas.dot(a, weight)
    np.testing.assert_array_equal(blas.dot_by(a, weight, weight), expected)
    assert derived.kept_bytes() == 0
    derived.keep_for(weight, lambda _: True)
    np.testing.assert_array_equal(blas.dot_by(a, weight, weight), expected)
    assert derived.kept_bytes() > 0
