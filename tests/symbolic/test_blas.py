"""Products with sums, by the names of BLAS."""

from __future__ import annotations

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T


def test_products_with_sums_and_their_gradients() -> None:
    rng = np.random.RandomState(0)
    z, x, y = rng.rand(3, 2), rng.rand(3, 4), rng.rand(4, 2)
    u, v = rng.rand(3), rng.rand(4)
    two, half = np.array(2.0), np.array(0.5)
    cases = {
        T.blas.gemm_no_inplace: ([z, two, x, y, half], 0.5 * z + 2 * x @ y),
        T.blas.gemm_inplace: ([z, two, x, y, half], 0.5 * z + 2 * x @ y),
        T.blas.gemv_no_inplace: ([u, two, x, v, half], 0.5 * u + 2 * x @ v),
        T.blas.ger: ([x, two, u, v], x + 2 * np.outer(u, v)),
    }
    for op, (values, expected) in cases.items():
        inputs = [T.TensorType("float64", (False,) * a.ndim)() for a in values]
        kept = [a.copy() for a in values]
        out = op(*inputs)
        answer, shape = theano.function(inputs, [out, out.shape])(*values)
        np.testing.assert_allclose(answer, expected)
        assert tuple(shape) == expected.shape
        for value, before in zip(values, kept, strict=True):
            np.testing.assert_array_equal(value, before)
        T.verify_grad(op, values, rng=rng)
        with pytest.raises(ValueError, match="has shape"):
            theano.function(inputs, out)(*[a[:1] if k == 0 else a for k, a in enumerate(values)])


def test_types_are_checked() -> None:
    m, v, a = T.dmatrix(), T.dvector(), T.dscalar()
    with pytest.raises(TypeError, match=r"Wrong number of inputs for gemm_no_inplace .* got 0"):
        T.blas.gemm_no_inplace()
    with pytest.raises(TypeError, match="input 2 has to have 2 dimensions"):
        T.blas.gemm_no_inplace(m, a, v, m, a)
    with pytest.raises(TypeError, match="requires matching dtypes"):
        T.blas.gemv_no_inplace(v, a, T.fmatrix(), v, a)
    with pytest.raises(TypeError, match="requires floating-point dtypes"):
        T.blas.ger(T.lmatrix(), T.lscalar(), T.lvector(), T.lvector())
    with pytest.raises(T.blas.InconsistencyError, match="aliased"):
        T.blas.gemm_inplace(m, a, m, T.dmatrix(), a)


def test_products_of_matrices_by_class() -> None:
    x, y, a = T.dmatrix("x"), T.dmatrix("y"), T.dscalar("a")
    data = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    out = [T.blas.Dot22()(x, y), T.blas.Dot22Scalar()(x, y, a)]
    for own, factor in zip(theano.function([x, y, a], out)(*data, 2.0), (1, 2), strict=True):
        np.testing.assert_array_equal(own, factor * (data[0] @ data[1]))
    assert isinstance(T.blas.batched_dot(T.dtensor3(), T.dtensor3()).owner.op, T.blas.BatchedDot)
    for bad in ((x, T.fmatrix()), (x, T.dvector())):
        with pytest.raises(TypeError, match="_dot22"):
            T.blas.Dot22()(*bad)
    number = np.asarray(1.5)
    theano.gradient.verify_grad(T.blas.Dot22Scalar(), [*data, number], rng=np.random.RandomState(0))
