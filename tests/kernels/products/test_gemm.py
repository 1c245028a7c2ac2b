"""Large products, in pieces on the threads of the kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import wengert
from wengert.kernels import jit
from wengert.kernels.products import blas, openblas
from wengert.kernels.products.gemm import _calls, _in_lines, gemm

pytestmark = pytest.mark.skipif(
    _calls(np.dtype(np.float32)) is None, reason="NumPy has another BLAS, or there are no kernels"
)
rng = np.random.default_rng(0)
TYPES = {np.float32: 6e-6, np.float64: 1e-14, np.complex64: 1e-5, np.complex128: 3e-14}


@pytest.fixture
def three_threads() -> Iterator[None]:
    before = jit.get_threads()
    blas.set_threads(3)
    yield
    blas.set_threads(before)


def matrix(shape: tuple[int, ...], layout: str, dtype: type) -> np.ndarray:
    *lead, rows, columns = shape
    if np.dtype(dtype).kind == "c":
        real = np.float32 if dtype is np.complex64 else np.float64
        return (matrix(shape, layout, real) + 1j * matrix(shape, layout, real)).astype(dtype)
    if layout == "plain":
        return rng.standard_normal(shape).astype(dtype)
    if layout == "transposed":
        return rng.standard_normal((*lead, columns, rows)).astype(dtype).swapaxes(-1, -2)
    if layout == "inside another":
        return rng.standard_normal((*lead, rows + 3, columns + 7)).astype(dtype)[..., 2:-1, 3:-4]
    return rng.standard_normal((*lead, rows, 2 * columns)).astype(dtype)[..., ::2]


def assert_near(got: np.ndarray | None, expected: np.ndarray, terms: int, eps: float) -> None:
    assert got is not None
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() < eps * terms**0.5


@pytest.mark.parametrize("turned", [False, True])
def test_factors_with_gaps_everywhere_give_the_same_digits(turned: bool) -> None:
    a, b = (matrix((3, 90, 110), "every other", np.float32) for _ in range(2))
    if turned:
        a, b = a.swapaxes(-1, -2), b.swapaxes(-1, -2)
    found = gemm(a, b.swapaxes(-1, -2))
    expected = gemm(np.ascontiguousarray(a), np.ascontiguousarray(b).swapaxes(-1, -2))
    assert found is not None
    assert expected is not None
    np.testing.assert_array_equal(found, expected)
    lines = [_in_lines(x) for x in (a, b)]
    assert [x.strides[-1 - turned] for x in lines] == [4, 4]
    assert _in_lines(lines[0]) is lines[0]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("a_layout", ["plain", "transposed", "inside another"])
@pytest.mark.parametrize("b_layout", ["plain", "transposed", "inside another"])
@pytest.mark.parametrize(
    ("lead_a", "lead_b", "m", "k", "n"),
    [
        ((), (), 100, 90, 110),
        ((), (), 2, 3000, 700),
        ((), (), 901, 130, 33),
        ((), (), 257, 259, 301),
        ((7,), (7,), 33, 65, 29),
        ((2, 3), (2, 3), 20, 70, 40),
        ((2, 1), (1, 3), 64, 70, 31),
        ((4,), (), 64, 70, 31),
        ((), (4,), 64, 70, 31),
        ((2,), (2,), 300, 300, 300),
    ],
)
def test_products(lead_a, lead_b, m, k, n, a_layout, b_layout, dtype) -> None:  # type: ignore[no-untyped-def]
    a, b = matrix((*lead_a, m, k), a_layout, dtype), matrix((*lead_b, k, n), b_layout, dtype)
    exact = np.matmul(a.astype(np.result_type(dtype, np.float64)), b)
    eps = TYPES[dtype]
    assert_near(gemm(a, b), exact, k, eps)
    bias = matrix((1, n), "plain", dtype)[0]
    assert_near(gemm(a, b, bias, alpha=0.5), 0.5 * exact + bias, k, eps)
    out = matrix(exact.shape, "plain", dtype)
    before = out.copy()
    assert_near(gemm(a, b, out=out, alpha=2), 2 * exact + before, k, 2 * eps)


def test_attention_shapes_are_not_copied() -> None:
    q, k = (
        rng.standard_normal((2, 3, 50, 4, 16), dtype=np.float32)
        .swapaxes(2, 3)[:, :2]
        .swapaxes(0, 1)
    )
    assert_near(gemm(q, k.swapaxes(-1, -2)), np.matmul(q, k.swapaxes(-1, -2)), 16, 3e-6)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (matrix((90, 90), "plain", np.float32), matrix((90, 90), "plain", np.float64)),
        (matrix((90, 90), "plain", np.float32), matrix((91, 90), "plain", np.float32)),
        (matrix((1, 90), "plain", np.float32), matrix((90, 90), "plain", np.float32)),
        (matrix((90, 90), "plain", np.float32).astype(">f4"), np.ones((90, 90), ">f4")),
        (np.frombuffer(b"0" * 32401, np.float32, 8100, 1).reshape(90, 90), np.ones((90, 90), "f")),
        (np.ones((90, 90), np.float16), np.ones((90, 90), np.float16)),
        (np.ones((0, 90, 90), np.float32), np.ones((0, 90, 90), np.float32)),
        (np.ones((2, 90, 90), np.float32), np.ones((3, 90, 90), np.float32)),
        (matrix((90, 90), "every other", np.float64), matrix((90, 90), "plain", np.float64)),
    ],
)
def test_what_is_left_to_numpy(a: np.ndarray, b: np.ndarray) -> None:
    assert gemm(a, b) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int64])
@pytest.mark.parametrize(
    "shapes", [((600, 90), (90, 70)), ((600, 90), (90, 1)), ((1, 90), (90, 70))]
)
def test_whatever_computes_it_no_worker_of_the_blas_runs(
    shapes: tuple[tuple[int, int], ...], dtype: type, three_threads: None
) -> None:
    """Also of layouts that nobody but NumPy takes, and of a matrix with its own transpose."""
    get = openblas.controls()[1]  # type: ignore[index]
    seen: list[int] = []

    class Watched(np.ndarray):
        def dot(self, other: np.ndarray) -> np.ndarray:  # type: ignore[override]
            seen.append(get())
            return np.asarray(self).dot(other)

    a, b = (matrix(shape, "every other", np.float64).astype(dtype)[::-1] for shape in shapes)
    assert_near(blas.dot(a.view(Watched), b), a.astype(complex) @ b, 90, 2e-5)
    assert_near(blas.dot(a.view(Watched), a.T), a.astype(complex) @ a.T, 90, 2e-5)
    small = max(a.size * b.shape[-1], a.size * len(a)) <= blas._ALONE
    assert small or set(seen) <= {1}


@pytest.mark.parametrize("shape", [(513, 511, 515), (64, 2000, 1100), (1100, 300, 64)])
def test_digits_do_not_depend_on_the_number_of_threads(
    shape: tuple[int, int, int], three_threads: None
) -> None:
    m, k, n = shape
    a, b = matrix((m, k), "plain", np.float32), matrix((k, n), "plain", np.float32)
    several = gemm(a, b)
    blas.set_threads(1)
    assert several is not None
    assert np.array_equal(several, gemm(a, b))  # type: ignore[arg-type]


def test_the_threads_of_the_blas_come_back(three_threads: None) -> None:
    both = openblas.controls()
    assert both is not None
    get = both[1]
    a = matrix((300, 300), "plain", np.float32)
    assert get() == 3
    gemm(a, a)
    assert get() == 3
    with blas.one_thread():
        assert get() == 1
        gemm(a, a)
        assert get() == 1
        blas.set_threads(2)
        assert get() == 1
    assert get() == 2


@pytest.mark.parametrize("kind", [openblas._Counted, openblas._compiled])
def test_holds(kind) -> None:  # type: ignore[no-untyped-def]
    if kind is openblas._compiled:
        one_thread, threads = openblas.holds()  # type: ignore[misc]
        get = openblas.controls()[1]  # type: ignore[index]
        before = get()
    else:
        now = [4]
        one_thread, threads = openblas._Counted(
            lambda n: now.__setitem__(0, n), lambda: now[0]
        ).holds()
        get, before = lambda: now[0], 1
    threads(4)
    try:
        with one_thread:
            with one_thread:
                assert get() == 1
            assert get() == 1
            threads(3)
            assert get() == 1
        assert get() == 3
        with pytest.raises(ZeroDivisionError), one_thread:
            assert 1 / 0
        assert get() == 3
    finally:
        threads(before)


def test_several_python_threads_multiply_at_once(three_threads: None) -> None:
    wrong = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(6):
            a = random.standard_normal((int(random.integers(100, 400)), 300), dtype=np.float32)
            got = gemm(a, a.T.copy())
            if got is None or np.abs(got - a.astype(np.float64) @ a.T).max() > 1e-3:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_the_child_of_a_fork_multiplies(three_threads: None) -> None:
    a = matrix((600, 600), "plain", np.float32)
    expected = gemm(a, a)
    for held in (False, True):
        if held:
            openblas.holds().one_thread.__enter__()  # type: ignore[union-attr]  # as if by another
        pid = os.fork()
        if pid == 0:
            get = openblas.controls()[1]  # type: ignore[index]
            fine = get() == 3 and np.array_equal(gemm(a, a), expected)  # type: ignore[arg-type]
            os._exit(0 if fine else 1)
        if held:
            openblas.holds().one_thread.__exit__(None, None, None)  # type: ignore[union-attr]
        assert os.waitpid(pid, 0)[1] == 0


def test_a_process_ends_while_a_thread_multiplies() -> None:
    script = """
import threading, time, numpy as np
from wengert.kernels.products.gemm import gemm
a = np.ones((500, 500), np.float32)
begun = threading.Event()
def work():
    while True:
        gemm(a, a)
        begun.set()
threading.Thread(target=work, daemon=True).start()
begun.wait()
"""
    environment = os.environ | {"OMP_NUM_THREADS": "3"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, timeout=60)
    assert done.returncode == 0


@pytest.mark.parametrize("dtype", [wengert.float32, wengert.float64])
def test_linear_layers_and_sums_with_products(dtype: wengert.dtype) -> None:
    wengert.manual_seed(0)
    x, w = wengert.randn(150, 80, dtype=dtype), wengert.randn(90, 80, dtype=dtype)
    bias, full = wengert.randn(90, dtype=dtype), wengert.randn(150, 90, dtype=dtype)
    exact = x.double().numpy() @ w.double().numpy().T
    linear = wengert.nn.functional.linear
    eps = TYPES[np.float32 if dtype is wengert.float32 else np.float64]
    assert_near(linear(x, w, bias).numpy(), exact + bias.numpy(), 80, eps)
    assert_near(
        linear(x.view(3, 50, 80), w, bias).numpy().reshape(150, 90), exact + bias.numpy(), 80, eps
    )
    assert_near(linear(x, w, full).numpy(), exact + full.numpy(), 80, eps)
    assert_near(wengert.addmm(bias, x, w.T).numpy(), exact + bias.numpy(), 80, eps)
    for input in (bias, full):
        got = wengert.addmm(input, x, w.T, beta=0.5, alpha=2)
        assert_near(got.numpy(), 2 * exact + 0.5 * input.numpy(), 80, 2 * eps)
    batch = x.view(3, 50, 80)
    got = wengert.baddbmm(bias, batch, w.T.expand(3, 80, 90), beta=2)
    assert_near(got.numpy().reshape(150, 90), exact + 2 * bias.numpy(), 80, eps)
    nan = wengert.full_like(full, float("nan"))
    assert_near(wengert.addmm(nan, x, w.T, beta=0).numpy(), exact, 80, eps)
    with pytest.raises(RuntimeError, match="must match the existing size"):
        linear(x, w, wengert.randn(91, dtype=dtype))
