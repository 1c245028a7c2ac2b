"""Float32 products on the microkernel: values, edges of tiles and blocks, and plans."""

from __future__ import annotations

import itertools
import platform
import subprocess
import sys

import numpy as np
import pytest

from tests.kernels.guarded import copied
from wengert.kernels.jit import available
from wengert.kernels.products import packed
from wengert.kernels.products.microkernel import lanes, tiles
from wengert.kernels.products.packed import Factors, plan

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

HIGH = max(tiles()) if available() else 8
WIDE = tiles()[HIGH] * lanes() if available() else 48
rng = np.random.default_rng(0)


def steps(a: np.ndarray) -> tuple[int, ...]:
    return tuple(s // 4 for s in a.strides[-2:])


def factors(a: np.ndarray, b: np.ndarray, **leading: int) -> Factors:
    return Factors(*a.shape[-2:][:1], b.shape[-1], a.shape[-1], *steps(a), *steps(b), **leading)


def laid_out(rows: int, columns: int, layout: str) -> np.ndarray:
    if layout == "t":
        return rng.standard_normal((columns, rows), dtype=np.float32).T
    if layout == "s":  # neither neighbour is the next in memory, and rows go backwards
        return rng.standard_normal((3 * rows, 2 * columns), dtype=np.float32)[::-3, ::2]
    return rng.standard_normal((rows, columns), dtype=np.float32)


def product(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None,
            out: np.ndarray | None = None, threads: int = 1) -> np.ndarray:  # fmt: skip
    c = np.empty((len(a), b.shape[1]), np.float32) if out is None else out
    packed.multiply(a, b, c, bias, out is not None, plan(factors(a, b), threads))
    return c


def assert_product(got: np.ndarray, exact: np.ndarray, terms: int) -> None:
    np.testing.assert_allclose(got, exact, rtol=0, atol=5e-6 * (terms + 1) ** 0.5)


EDGES = (1, 2, HIGH - 1, HIGH, HIGH + 1, 3 * HIGH + 1)
COLUMNS = (1, lanes() - 1, lanes(), lanes() + 1, WIDE - 1, WIDE, WIDE + 1, 2 * WIDE + 3)


@pytest.mark.parametrize("layouts", ["nn", "nt", "tn", "tt", "ss"])
def test_edges_of_tiles(layouts: str) -> None:
    for m, n, k in itertools.product(EDGES, COLUMNS, (1, HIGH, 2 * HIGH + 1)):
        a, b = laid_out(m, k, layouts[0]), laid_out(k, n, layouts[1])
        exact = a.astype(np.float64) @ b
        bias = rng.standard_normal(n, dtype=np.float32)
        before = rng.standard_normal((m, n), dtype=np.float32)
        assert_product(product(a, b), exact, k)
        assert_product(product(a, b, bias), exact + bias, k)
        assert_product(product(a, b, out=before.copy()), exact + before, k)


@pytest.mark.parametrize("layouts", ["nn", "nt", "tn", "ss"])
def test_several_blocks(layouts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With caches so small that there are many, on one thread and on three."""
    monkeypatch.setattr(packed, "caches", lambda: (1 << 10, 1 << 13))
    for m, n, k in ((5 * HIGH + 3, 5 * WIDE + 7, 150), (3, 4 * WIDE + 1, 90), (9 * HIGH, 5, 300)):
        a, b = laid_out(m, k, layouts[0]), laid_out(k, n, layouts[1])
        cut = plan(factors(a, b), 1).sizes
        assert cut.block_depth < k
        exact = a.astype(np.float64) @ b
        bias = rng.standard_normal(n, dtype=np.float32)
        for arguments in ((None, None), (bias, None), (None, exact.astype(np.float32))):
            one = product(a, b, arguments[0], None if arguments[1] is None else arguments[1].copy())
            more = exact + sum(x for x in arguments if x is not None)
            assert_product(one, more, k)
            for threads in (2, 3, 16):
                out = None if arguments[1] is None else arguments[1].copy()
                np.testing.assert_array_equal(product(a, b, arguments[0], out, threads), one)


@pytest.mark.parametrize("shape", [(1000, 60, 400), (64, 2000, 300), (300, 300, 300)])
def test_tasks_cover_the_product_once(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    for threads in (1, 2, 3, 8, 64):
        whole = plan(Factors(m, n, k, k, 1, n, 1), threads)
        sizes = whole.sizes
        down = -(-m // sizes.tall)
        assert sizes.tasks == down * sizes.across == whole.tasks
        assert (down - 1) * sizes.tall < m <= down * sizes.tall
        assert (sizes.across - 1) * sizes.broad < n <= sizes.across * sizes.broad
        assert threads // 2 < whole.tasks or -(-m // HIGH) * -(-n // WIDE) < threads
        assert whole.slots <= threads


def test_a_product_with_the_own_transpose_is_symmetric() -> None:
    x = laid_out(301, 203, "n")
    gram = product(x, x.T, threads=2)
    np.testing.assert_array_equal(gram, gram.T)


def test_nan_and_infinity_stay_in_their_rows_and_columns() -> None:
    a, b = laid_out(HIGH + 3, 40, "n"), laid_out(40, WIDE + 5, "n")
    a[2, 7], b[11, WIDE + 1] = np.nan, np.inf
    got = product(a, b)
    assert np.isnan(got[2]).all()
    others = np.delete(np.delete(got, 2, 0), WIDE + 1, 1)
    assert np.isfinite(others).all()
    assert not np.isfinite(got[:, WIDE + 1]).any()


@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_beyond_the_factors_is_touched(at_end: bool) -> None:
    for m, n, k in ((1, 1, 1), (HIGH + 1, WIDE + 3, HIGH + 1), (2 * HIGH, WIDE, 3), (3, 5, 40)):
        for turned in itertools.product((False, True), repeat=2):
            a, b = (
                copied(laid_out(*(shape[::-1] if t else shape), "n"), at_end)
                for shape, t in zip(((m, k), (k, n)), turned, strict=True)
            )
            a, b = a.T if turned[0] else a, b.T if turned[1] else b
            out = copied(np.zeros((m, n), np.float32), at_end)
            bias = copied(np.zeros(n, np.float32), at_end)
            assert_product(product(a, b, out=out), a.astype(np.float64) @ b, k)
            assert_product(product(a, b, bias), a.astype(np.float64) @ b, k)


def test_batches_read_factors_where_they_are() -> None:
    a = rng.standard_normal((5, 2, 30, 3, 20), dtype=np.float32)[:, :, :, 1]
    b = rng.standard_normal((2, 20, 33), dtype=np.float32)
    out = np.empty((5, 2, 30, 33), np.float32)
    leading = {
        "batch": 10, "inner": 2, "a_outer": 3600, "a_inner": 1800, "b_outer": 0, "b_inner": 660
    }  # fmt: skip
    packed.multiply(a, b, out, None, False, plan(factors(a, b, **leading), 2))
    assert_product(out, np.matmul(a.astype(np.float64), b), 20)


def test_the_kernel_as_python_runs_it() -> None:
    """Each access is checked there."""
    m, n, k = HIGH + 1, WIDE + 1, HIGH + 2
    for turned in (False, True):
        a, b = laid_out(m, k, "n"), laid_out(n, k, "n").T if turned else laid_out(k, n, "n")
        cut = plan(factors(a, b), 1)
        c, bias = np.zeros(m * n, np.float32), np.ones(n, np.float32)
        flat = b.T.ravel() if turned else b.ravel()
        packed.product_kernel.python(
            a.ravel(), flat, c, bias, np.zeros(cut.scratch, np.float32), np.zeros(1, np.int64), 1,
            0, cut.sizes, 0, cut.tasks,
        )  # fmt: skip
        assert_product(c.reshape(m, n), a.astype(np.float64) @ b + 1, k)


# The floats of a vector, and how the names of the missing features begin.
WITHOUT = {
    "AVX-512": (8, ("avx512",)),
    "AVX": (4, ("avx", "fma", "f16c", "vaes", "vpclmulqdq")),
}


@pytest.mark.slow
@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="x86 registers")
@pytest.mark.parametrize("missing", WITHOUT)
def test_processors_with_smaller_vectors(missing: str) -> None:
    """The same machine as if it had less: other tiles, and other code for them."""
    lanes, hidden = WITHOUT[missing]
    script = f"""
from wengert.kernels.jit import targets
features = [f[1:] for f in targets.host().features.split(",") if f[0] == "+"]
kept = [f for f in features if not f.startswith({hidden})]
targets.choose(targets.Level("x86-64", tuple(kept)))
from tests.kernels.products import test_packed as tests
assert tests.lanes() == {lanes}, tests.lanes()
for layouts in ("nn", "nt", "tn"):
    tests.test_edges_of_tiles(layouts)
tests.test_nan_and_infinity_stay_in_their_rows_and_columns()
tests.test_a_product_with_the_own_transpose_is_symmetric()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
