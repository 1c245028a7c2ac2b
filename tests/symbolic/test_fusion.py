"""Elementwise operations that are computed together, and numbers that are computed as such."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.kernels import jit
from wengert.symbolic import tensor as T
from wengert.symbolic.ifelse import ifelse
from wengert.symbolic.programs.fusion import Fused

m, n = T.dmatrices("m", "n")
v, u = T.dvectors("v", "u")
s = T.dscalar("s")
M = np.linspace(-1, 1, 35).reshape(5, 7)
V = np.linspace(-2, 2, 7)


def groups(f: Any) -> list[int]:
    """How many operations run together, for each group."""
    return [len(node.op.nodes) for node in f.program.nodes if isinstance(node.op, Fused)]


def both(inputs: Any, outputs: Any, **options: Any) -> tuple[Any, Any]:
    """A function, and one in which nothing is merged."""
    plain = theano.Mode().excluding("fusion")
    return theano.function(inputs, outputs, **options), theano.function(
        inputs, outputs, mode=plain, **options
    )


def require_same(f: Any, g: Any, *values: Any) -> None:
    for a, b in zip(f(*values), g(*values), strict=True):
        assert type(a) is np.ndarray
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, 1e-12, 1e-14)


def test_what_several_read_is_computed_with_them() -> None:
    p = 1 / (1 + T.exp(-v - s))
    f, g = both([v, u, s], [p > 0.5, p, -u * T.log(p) - (1 - u) * T.log1p(-p), (p * u).sum()])
    assert len(groups(f)) == 1
    assert [len(node.outputs) for node in f.program.nodes if isinstance(node.op, Fused)] == [4]
    require_same(f, g, V, V[::-1] ** 2, 0.5)


def test_groups_do_not_wait_for_themselves() -> None:
    e = T.sqr(v) + 1
    f, g = both([v], [e, e - e.sum(), e * 2, (e - e.sum()) * T.sqrt(v / e.max() + 5)])
    require_same(f, g, V)
    # Each of two groups reads what the other computes: they are not one, nor is either in halves.
    a, b = T.sqr(m) + n, T.sqr(n) - m
    f, g = both([m, n], [a, b, T.dot(a, b), a + T.dot(a, b), b + T.dot(b, a), T.sqr(a) * m, b * n])
    require_same(f, g, M[:, :5], M[:, 1:6])


def test_shapes_that_merely_may_be_equal_keep_operations_apart() -> None:
    f, g = both([m, v, u], [(m + v) * 2, (m.T + u) * 2, T.sqr(u) + 1])
    require_same(f, g, M, V, np.arange(5.0))


def test_a_branch_that_is_not_taken_is_not_computed() -> None:
    e = T.sqr(v) + 1
    f = theano.function([v, u, s], [e * 2, ifelse(s > 0, T.sqrt(e * u), e)])
    np.testing.assert_allclose(f(V, np.ones(3), -1.0)[1], V**2 + 1)  # whose shapes do not fit
    with pytest.raises(ValueError, match="mis-match"):
        f(V, np.ones(3), 1.0)
    # A number that both branches read.
    t = T.exp(s)
    g = theano.function([v, s], ifelse(s > 0, (t * v).sum(), T.dot(v, v) * t + t))
    for x in (-1.0, 1.0):
        expected = np.exp(x) * V.sum() if x > 0 else (V @ V + 1) * np.exp(x)
        np.testing.assert_allclose(g(V, x), expected, atol=1e-12)


CASES: dict[str, Callable[[], Any]] = {
    "contiguous": lambda: M,
    "turned": lambda: np.asfortranarray(M),
    "with steps": lambda: np.repeat(M, 2, 1)[:, ::2],
    "backwards": lambda: M[::-1, ::-1],
    "of another shape": lambda: M[:2, :],
    "empty": lambda: M[:0],
    "of one": lambda: M[:1],
}


def test_arrays_may_lie_differently_at_each_call() -> None:
    h = (m + v) * s
    f, g = both([m, v, s], [h, h + m, T.sqr(h) * v])
    assert groups(f)
    for name in [*CASES, *CASES]:
        require_same(f, g, CASES[name](), V, 1.5)
    unaligned = np.zeros(7 * 8 + 1, np.uint8)[1:].view(np.float64)
    unaligned[:] = V
    require_same(f, g, M, unaligned, 1.5)
    w = theano.shared(V)
    f, g = both([m], [T.sqr(w + m) - w, w * m])
    for value in (V, V[::-1], np.repeat(V, 2)[::2]):
        w.set_value(value, borrow=True)
        require_same(f, g, M)


def test_more_than_one_thread_may_compute_a_group_of_large_arrays() -> None:
    x = np.random.RandomState(0).randn(300, 400)
    h = T.exp(-T.sqr(m)) + n
    f, g = both([m, n], [h > 0.5, h, T.sqr(h) * m])
    assert len(groups(f)) == 1
    for a, b in zip(f(x, x + 1), g(x, x + 1), strict=True):
        np.testing.assert_allclose(a, b, 1e-12, 1e-14)


@pytest.mark.parametrize("kernels", [True, False])
def test_errors_say_what_does_not_fit(kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels:
        monkeypatch.setattr(jit.operands, "plan_of", lambda *args: None)
    h = T.sqr(m + v)
    f = theano.function([m, v], [h, h * m])
    f(M, V)
    with pytest.raises(ValueError, match=r"input\[0\].shape\[1\] = 7.*input\[1\].shape\[1\] = 6"):
        f(M, V[:6])
    with pytest.raises(ValueError, match=r"Composite(.|\n)*Built at (.|\n)*h \* m") as info:
        f(M, V[:1])  # a vector is not repeated
    assert "declares it broadcastable" in str(info.value)
    with pytest.raises(ValueError, match=r"shapes: \[\(5, 1\), \(7,\)\]"):
        f(M[:, :1], V)
    f(M, V)


def test_numbers_are_arrays_outside() -> None:
    x, k = T.fscalar("x"), T.lscalar("k")
    e = T.exp(x) * 2 - x / 3 + k
    outputs = [
        e,
        -e,
        e**2,
        x > 1,
        T.sqrt(T.sqr(e) + x),
        T.cast(k, "float32") * x,
        e * v,
        v.shape[0],
    ]
    f, g = both([x, k, v], outputs)
    require_same(f, g, np.float32(1.5), 3, V)
    fresh = f(np.float32(1.5), 3, V)
    fresh[0][...] = 0
    assert f(np.float32(1.5), 3, V)[0] != 0


def test_numbers_beyond_their_range_are_silent() -> None:
    t = T.dscalar("t")
    f = theano.function([s, t], [s / t, s * s, T.log(t), (-s) ** 0.5, T.cast(s, "float32") * 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="wengert")
        np.testing.assert_equal([float(x) for x in f(1e200, 0.0)],
                                [np.inf, np.inf, -np.inf, np.nan, np.inf])  # fmt: skip


def test_results_share_memory_with_nothing() -> None:
    w = theano.shared(M.copy())
    h = T.sqr(m) + w + 1
    f = theano.function([m], [h, h.T, h * 2], updates=[(w, h.T.T)])
    first = f(M)
    kept = w.get_value()
    for out in first:
        out[...] = 0
    np.testing.assert_array_equal(w.get_value(), kept)
    f = theano.function([m], h, updates=[(w, h.T.T)])
    f(M)[...] = 0
    assert w.get_value().all()
    f = theano.function([m], [T.second(m, w), w], updates=[(w, w + 1)])
    first = f(M)
    kept = w.get_value()
    first[0][...] = first[1][...] = 0
    np.testing.assert_array_equal(w.get_value(), kept)


def test_loops_of_numbers() -> None:
    totals, _ = theano.scan(lambda x, t: t * 0.5 + x, v, T.constant(1.0, dtype="float64"))
    last, _ = theano.scan(lambda t, k: (t * k, t > 3), outputs_info=[s, None], non_sequences=s,
                          n_steps=3)  # fmt: skip
    f = theano.function([v, s], [totals, totals[-1], *last, T.grad(totals.sum(), v)])
    found = f(V, 2.0)
    expected, t = [], 1.0
    for x in V:
        t = t * 0.5 + x
        expected.append(t)
    np.testing.assert_allclose(found[0], expected)
    np.testing.assert_allclose(found[1], expected[-1])
    assert [x.tolist() for x in found[2:4]] == [[4.0, 8.0, 16.0], [False, True, True]]
    assert all(type(x) is np.ndarray for x in found)
    np.testing.assert_allclose(found[4], 2 - 0.5 ** np.arange(6, -1, -1))
    none, _ = theano.scan(lambda x, t: t + x, v, s, n_steps=0)
    assert theano.function([v, s], none)(V, 1.0).shape == (0,)


def test_values_are_watched_one_by_one() -> None:
    seen = []
    mode = theano.compile.MonitorMode(post_func=lambda fgraph, node, fn: seen.append(node))
    h = T.sqr(v) * s
    f = theano.function([v, s], [h, h + 1, T.sqr(s) / 2], mode=mode)
    np.testing.assert_allclose(f(V, 2.0)[1], V**2 * 2 + 1)
    assert len(seen) == len(f.program.nodes) > 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rectifiers_and_their_gradients_are_one_group(dtype: str) -> None:
    x = T.vector("x", dtype)
    f = theano.function([x], [T.nnet.relu(x) * 2, T.grad(T.nnet.relu(x, 0.25).sum(), x)])
    assert len(groups(f)) == len(f.program.nodes) == 1
    values = np.array([-2.0, 0.0, 3.0] * 20, dtype)
    for out, expected in zip(f(values), ([0, 0, 6], [0.25, 0.625, 1]), strict=True):
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, np.tile(expected, 20))
    assert not f(values[:0])[0].size
    slope = theano.function([x], T.grad(abs(x).sum(), x))
    np.testing.assert_array_equal(slope(np.array([np.nan, 0, -3, np.inf], dtype)), [0, 0, -1, 1])


def test_kernels_read_what_programs_put_into_storage_by_its_dtype() -> None:
    state = theano.shared(np.zeros(40))
    f = theano.function([], T.exp(state) * 2 + state)
    assert f().tolist() == f().tolist() == [2.0] * 40
    state.container.storage[0] = np.ones(40, np.float32)
    np.testing.assert_allclose(f(), np.full(40, 2 * np.e + 1))
    np.testing.assert_allclose(f.fn(np.ones(40, np.float32))[0], f())
    state.container.storage[0] = np.ones(40, np.complex128)
    with pytest.raises(TypeError, match="without risking loss of precision"):
        f()
