"""What is at the edges of types and shapes: booleans, integers, axes that are not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T
from wengert.symbolic.tensor.signal.pool import pool_2d


@pytest.mark.parametrize(
    "build",
    [
        T.sort, T.argsort, lambda x, axis: T.take(x, [0], axis), lambda x, axis: x.sort(axis),
        lambda x, axis: T.extra_ops.compress([1, 0], x, axis), lambda x, axis: x.repeat(2, axis),
        lambda x, axis: T.split(x, [1, 1], 2, axis), lambda x, axis: x.transpose(axis, 0),
        lambda x, axis: T.concatenate([x, x], axis), lambda x, axis: T.stack([x[0], x[1]], axis),
    ],
)  # fmt: skip
@pytest.mark.parametrize("axis", [2, -3, 5])
def test_axes_that_are_not_there(build: Callable[..., Any], axis: int) -> None:
    with pytest.raises((ValueError, IndexError), match="out of bounds"):
        build(T.dmatrix("x"), axis=axis)


def test_functions_of_booleans_are_numbers() -> None:
    x, y = T.TensorType("bool", (False,))("x"), T.TensorType("bool", (False,))("y")
    results = [T.nnet.relu(x), T.nnet.relu(x, 0.5), T.nnet.softsign(x), x**y, x % y, x // y]
    values = theano.function([x, y], results)([True, False], [True, True])
    assert [str(v.dtype) for v in values] == [*["float32"] * 3, "int8", "bool", "bool"]
    np.testing.assert_array_equal(
        values, [[1, 0], [1, 0], [0.5, 0], [1, 0], [False, False], [True, False]]
    )
    m = T.TensorType("bool", (False, False))("m")
    upper = theano.function([m], T.triu(m))(np.ones((2, 2), bool))
    assert upper.dtype == np.int8
    np.testing.assert_array_equal(upper, [[1, 1], [0, 1]])


@pytest.mark.parametrize("divided", [lambda a, b: a // b, lambda a, b: 2 * (a % b) + 1])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64"])
def test_integers_are_not_divided_by_zero(divided: Callable[..., Any], dtype: str) -> None:
    a, b = T.TensorType(dtype, (False,))("a"), T.TensorType(dtype, (False,))("b")
    with pytest.raises(ZeroDivisionError):
        theano.function([a, b], divided(a, b))(np.ones(2, dtype), np.zeros(2, dtype))


@pytest.mark.parametrize("dtype", ["int8", "int64"])
def test_integers_that_diagonals_and_windows_take_have_gradient_zero(dtype: str) -> None:
    x = T.TensorType(dtype, (False, False))("x")
    for y in (T.diag(x), T.diagonal(x), T.nlinalg.trace(x), pool_2d(x, (2, 2), True)):
        g = theano.grad((y * np.pi).sum(), x)
        assert g.dtype == theano.config.floatX
        np.testing.assert_array_equal(theano.function([x], g)(np.eye(2, dtype=dtype)), 0)


def test_fractions_added_to_integers() -> None:
    x, y = T.lvector("x"), T.dvector("y")
    at = T.inc_subtensor(x[[0, 1]], y)
    assert theano.function([x, y], at)([2, 5], [-3.5, -3.5]).tolist() == [-1, 1]
    with pytest.raises(TypeError, match="Cannot cast"):  # as NumPy's ``x[:] += y``
        theano.function([x, y], T.inc_subtensor(x[:], y))([2, 5], [0.5, 0.5])
    put = theano.function([x, y], T.set_subtensor(x[:], y))
    assert put([2, 5], [0.5, 1.5]).tolist() == [0, 1]


def test_what_is_set_beside_a_new_dimension_has_it() -> None:
    x = T.dmatrix("x")
    changed = T.set_subtensor(x[:, None, 1:], 7.0)
    assert changed.broadcastable == (False, True, False)
    value = theano.function([x], changed)(np.zeros((2, 3)))
    np.testing.assert_array_equal(value, np.tile([0.0, 7.0, 7.0], (2, 1, 1)))
    places = theano.function([x], [x[None, 1], x[..., None, 0], x[1:, None, None, ::-1]])
    a = np.arange(6.0).reshape(2, 3)
    for value, expected in zip(
        places(a), [a[None, 1], a[..., None, 0], a[1:, None, None, ::-1]], strict=True
    ):
        np.testing.assert_array_equal(value, expected)


def test_the_least_norm() -> None:
    x = T.dvector("x")
    least = x.norm(-np.inf)
    f = theano.function([x], [least, theano.grad(least, x)])
    for value, expected in zip(f([3.0, -2.0, 4.0]), [2.0, [0.0, -1.0, 0.0]], strict=True):
        np.testing.assert_array_equal(value, expected)


def test_places_in_order_have_gradient_zero() -> None:
    x = T.dvector("x")
    g = theano.grad(T.cast(T.argsort(x), "float64").sum(), x)
    np.testing.assert_array_equal(theano.function([x], g)([3.0, 1.0]), 0)


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arcsinh", "arccosh", "arctanh"])
def test_gradients_of_halves(name: str) -> None:
    x = T.TensorType("float16", (False,))("x")
    value = np.array([1.25 if name == "arccosh" else 0.25], "float16")
    g = theano.function([x], theano.grad(getattr(T, name)(x).sum(), x))(value)
    exact = theano.grad(getattr(T, name)(T.cast(x, "float64")).sum(), x)
    assert g.dtype == np.float16
    np.testing.assert_allclose(g, theano.function([x], exact)(value), 1e-3)


def test_angles_of_integers_are_float64() -> None:
    x = T.bvector("x")
    angle = theano.function([x], T.angle(x))([1, -1])
    assert angle.dtype == np.float64
    np.testing.assert_array_equal(angle, [0, np.pi])


def test_equal_orders_are_equal() -> None:
    assert T.SortOp("mergesort") == T.SortOp("mergesort")
