"""Reductions under Theano's names, and the precision in which they are computed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import scalar
from wengert.symbolic import tensor as T


def test_sums_and_means_of_float32_are_computed_in_float64() -> None:
    x = theano.shared(np.array([1e8, 1, -1e8], np.float32))
    total, mean = theano.function([], [x.sum(), x.mean()])()
    assert total.dtype == mean.dtype == np.float32
    np.testing.assert_allclose([total, mean], [1, 1 / 3], 1e-6)


@pytest.mark.parametrize("axis", [None, 0, (1,), (0, 2), []])
def test_commutative_operations_reduce_arrays(axis: object) -> None:
    x = T.ltensor3("x")
    value = np.arange(24).reshape(2, 3, 4) % 7 + 1
    numpy_axis = tuple(axis) if isinstance(axis, list | tuple) else axis
    for op, ufunc in {
        scalar.add: np.add, scalar.mul: np.multiply, scalar.maximum: np.maximum,
        scalar.minimum: np.minimum, scalar.and_: np.bitwise_and, scalar.or_: np.bitwise_or,
        scalar.xor: np.bitwise_xor,
    }.items():  # fmt: skip
        reduced = T.elemwise.CAReduce(op, axis=axis)(x)
        np.testing.assert_array_equal(
            theano.function([x], reduced)(value), ufunc.reduce(value, axis=numpy_axis)
        )
    with pytest.raises(NotImplementedError, match="scalar_op is one of"):
        T.elemwise.CAReduce(scalar.sub)


def test_accumulators_are_no_narrower_than_inputs() -> None:
    x = T.fmatrix("x")
    assert T.sum(x).owner.op.acc_dtype == T.prod(x).owner.op.acc_dtype == "float64"
    assert T.prod(T.bmatrix()).dtype == T.elemwise.ProdWithoutZeros()(T.bmatrix()).dtype == "int64"
    assert T.prod(x, dtype="int8").dtype == "int8"
    assert isinstance(T.sum(x).owner.op, T.elemwise.CAReduce)
    with pytest.raises(TypeError, match="acc_dtype is float16, and the input has dtype float32"):
        T.sum(x, acc_dtype="float16")


def test_products_with_and_without_zeros() -> None:
    x = T.dmatrix("x")
    value = np.array([[1.0, 2, 0], [0, 5, 6], [7, 8, 9], [0, 2, 0]])
    f = theano.function([x], [
        T.elemwise.Prod(axis=1)(x), T.elemwise.ProdWithoutZeros(axis=1)(x),
        T.grad(T.elemwise.Prod(axis=1)(x).sum(), x),
    ])  # fmt: skip
    product, without, gradient = f(value)
    np.testing.assert_array_equal(product, [0, 0, 504, 0])
    np.testing.assert_array_equal(without, [2, 30, 504, 2])
    np.testing.assert_allclose(gradient, [[0, 0, 2], [30, 0, 0], [72, 63, 56], [0, 0, 0]])
    faster = T.elemwise.Prod(no_zeros_in_input=True)(x)
    second = T.grad(T.grad(faster, x).sum(), x)
    np.testing.assert_allclose(second.eval({x: [[2.0, 3.0, 4.0]]}), [[7, 6, 5]])
    with pytest.raises(theano.gradient.NullTypeGradError):
        T.grad(T.elemwise.ProdWithoutZeros()(x), x)
    assert pickle.loads(pickle.dumps(T.elemwise.Prod(0))) == T.elemwise.Prod(0)


def test_largest_elements_and_their_places_by_one_operation() -> None:
    x = T.dmatrix("x")
    largest, place = T.MaxAndArgmax([1])(x)
    f = theano.function([x], [largest, place, largest.shape, T.grad((largest**2).sum(), x)])
    answers = f([[1.0, 3.0, 2.0], [5.0, 4.0, 0.0]])
    assert [v.tolist() for v in answers] == [[3, 5], [1, 0], [2], [[0, 6, 0], [10, 0, 0]]]
    assert T.grad(T.mean(x, op=True) * 6, x).eval({x: np.zeros((2, 3))}).tolist() == [[1] * 3] * 2


def test_operations_on_elements_check_what_they_get() -> None:
    x, z = T.dvector("x"), T.zvector("z")
    with pytest.raises(TypeError, match=r"inputs for switch \(got 2, expected 3\)"):
        T.switch(x, x)
    with pytest.raises(TypeError, match=r"inputs for exp \(got 2, expected 1\)"):
        T.exp(x, x)
    with pytest.raises(TypeError, match="only float types are rounded, got int8"):
        T.round(T.bvector())
    assert T.trunc(T.bvector()).dtype == "float32"
    assert theano.function([z], T.maximum(z, 2 * z))([1j, -1]).tolist() == [2j, -1]
    assert [str(t) for t in scalar.all_types[:3]] == ["bool", "int8", "int16"]


def test_gradients_that_are_zero_depend_on_scalars() -> None:
    x = T.dscalar("x")
    assert theano.function([x], T.grad(T.floor(x), x))(1.5) == 0
