"""Losses and checks that have no recorded answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wengert import symbolic
from wengert.symbolic import tensor as T
from wengert.symbolic.tensor.nnet.ctc import ctc
from wengert.symbolic.tensor.signal.pool import Pool


def enumerated(scores: np.ndarray, labels: list[int]) -> float:
    """The loss of one sequence, from all paths that give its labels."""
    p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(scores.shape[1]), repeat=len(scores)):
        if [k for k, _ in itertools.groupby(path) if k] == labels:
            total += np.prod([p[t, k] for t, k in enumerate(path)])
    return -float(np.log(total))


def test_ctc_sums_over_all_paths() -> None:
    x, y, lengths = T.dtensor3("x"), T.imatrix("y"), T.ivector("lengths")
    loss = ctc(x, y, lengths)
    f = symbolic.function([x, y, lengths], [loss, T.grad(loss.sum(), x)])
    scores = np.random.RandomState(0).randn(4, 2, 3)
    values, gradient = f(scores, [[1, 2], [2, -1]], [4, 3])
    expected = [enumerated(scores[:, 0], [1, 2]), enumerated(scores[:3, 1], [2])]
    np.testing.assert_allclose(values, expected, 1e-9)
    moved = scores.copy()
    moved[1, 0, 2] += 1e-5
    slope = (f(moved, [[1, 2], [2, -1]], [4, 3])[0].sum() - values.sum()) / 1e-5
    np.testing.assert_allclose(gradient[1, 0, 2], slope, 1e-3)
    with pytest.raises(TypeError, match="labels must have 2 dimensions and dtype int32"):
        ctc(x, T.lmatrix(), lengths)


def test_assert_stops_a_function() -> None:
    x = T.dvector("x")
    checked = T.opt.Assert("too small")(x, T.all(x > 1))
    f = symbolic.function([x], [checked, T.grad((checked**2).sum(), x), T.Rop(checked, x, x)])
    assert [v.tolist() for v in f([2.0, 3.0])] == [[2.0, 3.0], [4.0, 6.0], [2.0, 3.0]]
    with pytest.raises(AssertionError, match="too small"):
        f([0.0, 3.0])
    with pytest.raises(AssertionError, match="a condition is a scalar"):
        T.opt.Assert()(x, x > 1)


def test_special_functions_of_large_float32_arrays() -> None:
    x = T.fvector("x")
    f = symbolic.function([x], T.exp(T.j0(x) * 2) + 1)
    values = np.linspace(0, 3, 100_000, dtype=np.float32)
    np.testing.assert_allclose(f(values)[:3], f(values[:3]), 1e-6)


def test_derivatives_in_orders_are_not_defined() -> None:
    order, x = T.dscalars("order", "x")
    assert symbolic.function([order, x], T.grad(T.jv(order, x), x))(0.0, 1.0) < 0
    with pytest.raises(Exception, match="Nobody has written the derivative of the order"):
        symbolic.function([order, x], T.grad(T.jv(order, x), order))


def test_axes_of_a_batch_normalization_are_a_range() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    found, *_ = T.nnet.bn.batch_normalization_train(x, np.ones(4), np.zeros(4), range(2))
    expected = (x - x.mean((0, 1))) / np.sqrt(x.var((0, 1)) + 1e-4)
    np.testing.assert_allclose(found.eval(), expected)


def test_pool_as_an_operation_says_what_shape_it_gives() -> None:
    x, rows = T.dtensor3(), T.iscalar()
    for ignore_border in (True, False):
        for ws, stride in (((2, 3), None), ((3, 2), (2, 1)), ((2, 2), (3, 4))):
            pool = Pool(ignore_border=ignore_border, mode="sum")
            image = np.arange(2 * 7 * 8, dtype=np.float64).reshape(2, 7, 8)
            out = symbolic.function([x], pool(x, ws, stride))(image)
            shape = Pool.out_shape((2, 7, 8), ws, ignore_border, stride)
            assert shape == list(out.shape)
            _, count, _ = Pool.out_shape((2, rows, 8), ws, ignore_border, stride)
            assert symbolic.function([rows], count)(7) == out.shape[1]
    with pytest.raises(TypeError, match="at least 2 dimensions"):
        Pool.out_shape((3,), (2, 2))
