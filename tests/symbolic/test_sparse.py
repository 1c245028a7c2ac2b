"""`symbolic.sparse`: values as NumPy has them, gradients as finite differences have them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wengert.symbolic as theano
from wengert.symbolic import sparse
from wengert.symbolic import tensor as T

rng = np.random.RandomState(0)
A, C = (rng.rand(4, 5) * (rng.rand(4, 5) > 0.5) for _ in range(2))
B, W, D = rng.rand(5, 3), rng.rand(4, 3), rng.rand(4, 5)
V4, V5 = rng.rand(4), rng.rand(5)
PLACES = A != 0

# By name: an expression of a sparse matrix, a dense and another sparse one; what NumPy says of it.
EXPRESSIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "dot": (lambda x, y, c: sparse.dot(x, y), lambda x, y, c: x @ y),
    "dot of a transpose": (lambda x, y, c: sparse.dot(y.T, x.T), lambda x, y, c: y.T @ x.T),
    "dot with a vector": (lambda x, y, c: sparse.dot(x, y[:, 0]), lambda x, y, c: x @ y[:, 0]),
    "dot of a vector": (lambda x, y, c: sparse.dot(T.constant(V4), x), lambda x, y, c: V4 @ x),
    "structured_dot": (lambda x, y, c: sparse.structured_dot(x, y), lambda x, y, c: x @ y),
    "true_dot": (lambda x, y, c: sparse.true_dot(x, c.T), lambda x, y, c: x @ c.T),
    "usmm": (lambda x, y, c: sparse.usmm(2.0, x, y, W), lambda x, y, c: 2 * x @ y + W),
    "sampling_dot": (
        lambda x, y, c: sparse.sampling_dot(W, y, x), lambda x, y, c: x * (W @ y.T),
    ),
    "theano.dot": (lambda x, y, c: theano.dot(x, y), lambda x, y, c: x @ y),
    "add": (lambda x, y, c: x + c, lambda x, y, c: x + c),
    "add to an array": (lambda x, y, c: T.constant(D) + x, lambda x, y, c: x + D),
    "sub": (lambda x, y, c: x - c, lambda x, y, c: x - c),
    "neg": (lambda x, y, c: -x, lambda x, y, c: -x),
    "mul": (lambda x, y, c: x * c * x, lambda x, y, c: x * c * x),
    "mul by an array": (lambda x, y, c: x * D, lambda x, y, c: x * D),
    "mul by a number": (lambda x, y, c: 3.0 * x, lambda x, y, c: 3 * x),
    "mul by a vector": (lambda x, y, c: sparse.mul_s_v(x, V5), lambda x, y, c: x * V5),
    "col_scale": (lambda x, y, c: sparse.col_scale(x, V5), lambda x, y, c: x * V5),
    "row_scale": (lambda x, y, c: sparse.row_scale(x, V4), lambda x, y, c: x * V4[:, None]),
    "sp_sum": (lambda x, y, c: sparse.sp_sum(x), lambda x, y, c: x.sum()),
    "sp_sum of columns": (lambda x, y, c: sparse.sp_sum(x, 0), lambda x, y, c: x.sum(0)),
    "sp_sum of rows": (lambda x, y, c: sparse.sp_sum(x, 1), lambda x, y, c: x.sum(1)),
    "diag": (lambda x, y, c: sparse.diag(x), lambda x, y, c: np.diag(x)),
    "square_diagonal": (
        lambda x, y, c: sparse.square_diagonal(sparse.sp_sum(x, 1)),
        lambda x, y, c: np.diag(x.sum(1)),
    ),
    "hstack": (
        lambda x, y, c: sparse.hstack([x, c, x]), lambda x, y, c: np.hstack([x, c, x]),
    ),
    "vstack": (
        lambda x, y, c: sparse.vstack([c, x], format="csr"), lambda x, y, c: np.vstack([c, x]),
    ),
    "transpose": (lambda x, y, c: sparse.transpose(x), lambda x, y, c: x.T),
    "clean": (lambda x, y, c: sparse.clean(x), lambda x, y, c: x),
    "cast": (lambda x, y, c: sparse.cast(x, "float64"), lambda x, y, c: x),
    "item": (lambda x, y, c: x[1, 2] + x[0, 0] * 2, lambda x, y, c: x[1, 2] + x[0, 0] * 2),
    "structured_sigmoid": (
        lambda x, y, c: sparse.structured_sigmoid(x),
        lambda x, y, c: np.where(x != 0, 1 / (1 + np.exp(-x)), 0),
    ),
    "structured_exp": (
        lambda x, y, c: sparse.structured_exp(x), lambda x, y, c: np.where(x != 0, np.exp(x), 0),
    ),
    "structured_pow": (lambda x, y, c: sparse.structured_pow(x, 3), lambda x, y, c: x**3),
    "structured_maximum": (
        lambda x, y, c: sparse.structured_maximum(x, 0.5),
        lambda x, y, c: np.where(x != 0, np.maximum(x, 0.5), 0),
    ),
    "structured_add_s_v": (
        lambda x, y, c: sparse.structured_add_s_v(x, V5),
        lambda x, y, c: np.where(x != 0, x + V5, 0),
    ),
    "tanh": (lambda x, y, c: sparse.tanh(x), lambda x, y, c: np.tanh(x)),
}  # fmt: skip


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values_and_gradients(name: str, form: str) -> None:
    build, reference = EXPRESSIONS[name]
    x, c = sparse.matrix(form, "x", "float64"), sparse.matrix(form, "c", "float64")
    y = T.dmatrix("y")
    make = sparse.type.FORMATS[form]
    out = build(x, y, c)
    full = sparse.dense_from_sparse(out) if sparse.is_sparse_variable(out) else out
    value = theano.function([x, y, c], full, on_unused_input="ignore")(make(A), B, make(C))
    np.testing.assert_allclose(value, reference(A, B, C))
    weights = rng.rand(*np.shape(value))
    cost = (full * full * weights).sum()
    f = theano.function([x, y, c], theano.grad(cost, x), on_unused_input="ignore")

    def loss(a: Any, b: Any) -> Any:
        return (reference(a, b, C) ** 2 * weights).sum()

    gradient = f(make(A), B, make(C))
    assert scipy.sparse.issparse(gradient)
    expected = differences(lambda a: loss(a, B), A, PLACES)
    np.testing.assert_allclose(gradient.toarray() * PLACES, expected, 1e-5, 1e-7)
    if "dot" in name and name not in ("true_dot", "dot of a vector"):
        dense = theano.function([x, y, c], theano.grad(cost, y), on_unused_input="ignore")
        expected = differences(lambda b: loss(A, b), B, B != 0)
        np.testing.assert_allclose(dense(make(A), B, make(C)), expected, 1e-5, 1e-7)


def differences(f: Callable[[Any], Any], x: Any, places: Any, eps: float = 1e-6) -> Any:
    result = np.zeros_like(x)
    for k in zip(*np.nonzero(places), strict=True):
        up, down = x.copy(), x.copy()
        up[k] += eps
        down[k] -= eps
        result[k] = (f(up) - f(down)) / (2 * eps)
    return result


def test_parts_of_a_matrix_and_back() -> None:
    x = sparse.csr_matrix("x", "float64")
    parts = sparse.csm_properties(x)
    matrix = scipy.sparse.csr_matrix(A)
    data, indices, indptr, shape = theano.function([x], parts)(matrix)
    np.testing.assert_array_equal(data, matrix.data)
    np.testing.assert_array_equal(indices, matrix.indices)
    np.testing.assert_array_equal(indptr, matrix.indptr)
    assert shape.tolist() == [4, 5]
    again = theano.function([x], sparse.CSR(parts[0] * 2, *parts[1:]))(matrix)
    assert again.format == "csr"
    np.testing.assert_array_equal(again.toarray(), A * 2)
    d = T.dmatrix()
    assert theano.function([d], sparse.csc_from_dense(d))(A).format == "csc"
    i = T.ivector("i")
    rows = theano.function([d, i], sparse.construct_sparse_from_list(d, [6, 5], i))(A, [5, 0, 2, 3])
    np.testing.assert_array_equal(rows.toarray()[[5, 0, 2, 3]], A)
    assert not rows.toarray()[[1, 4]].any()


def test_a_regression_on_sparse_inputs_and_weights() -> None:
    x, y = sparse.csr_matrix("x", "float64"), T.dvector("y")
    w = theano.shared(np.zeros(5), "w")
    cost = T.mean((sparse.dot(x, w) - y) ** 2)
    train = theano.function([x, y], cost, updates=[(w, w - 0.5 * theano.grad(cost, w))])
    data = scipy.sparse.csr_matrix(A)
    target = A @ V5
    costs = [float(train(data, target)) for _ in range(300)]
    assert costs[-1] < 1e-3 * costs[0]
    weights = theano.shared(scipy.sparse.csc_matrix(C), "weights")
    assert isinstance(weights, sparse.SparseTensorSharedVariable)
    out = sparse.sp_sum(weights * weights)
    step = theano.function([], out, updates=[(weights, weights * 0.5)])
    assert float(step()) == pytest.approx(4 * float(step()))
    np.testing.assert_allclose(weights.get_value().toarray(), C * 0.25)


def test_constants() -> None:
    value = scipy.sparse.csr_matrix(A)
    c = sparse.as_sparse(value, "c")
    assert isinstance(c, sparse.SparseConstant)
    assert (c.name, str(c.type), c.data.nnz) == ("c", "Sparse[float64, csr]", value.nnz)
    x = sparse.csr_matrix("x", "float64")
    np.testing.assert_array_equal(theano.function([x], x + value)(value).toarray(), 2 * A)
    np.testing.assert_allclose(sparse.dot(c, T.constant(B)).eval(), A @ B, rtol=1e-15)
    assert sparse.basic._is_sparse_variable(c)
    assert not sparse.basic._is_sparse_variable(T.dmatrix())


def test_bad_input() -> None:
    x = sparse.csr_matrix("x", "float64")
    f = theano.function([x], sparse.sp_sum(x))
    with pytest.raises(TypeError, match="expected a sparse matrix, got ndarray"):
        f(A)
    with pytest.raises(TypeError, match="one of the matrices has to be sparse"):
        sparse.dot(T.dmatrix(), T.dmatrix())
    with pytest.raises(NotImplementedError, match="unsupported format 'coo'"):
        sparse.matrix("coo")
    with pytest.raises(ValueError, match="Illegal value"):
        sparse.sp_sum(x, 2)
    with pytest.raises(TypeError, match="SparseType"):
        sparse.as_sparse_variable(T.dmatrix())
    with pytest.raises(NotImplementedError, match=r"write x\[a:a \+ 1\] for x\[a\]"):
        x[0]
    c = sparse.csr_matrix("c", "float64")
    add = theano.function([x, c], x + c)
    with pytest.raises(ValueError, match=r"shape \(4, 5\) and \(5, 4\)"):
        add(scipy.sparse.csr_matrix(A), scipy.sparse.csr_matrix(C.T))


def test_functions_of_sparse_matrices_are_pickled() -> None:
    x = sparse.csr_matrix("x", "float64")
    f = pickle.loads(pickle.dumps(theano.function([x], sparse.sp_sum(sparse.sqr(x)))))
    assert f(scipy.sparse.csr_matrix(A)) == pytest.approx((A**2).sum())


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_parts_of_sparse_matrices(format: str) -> None:
    x, k = sparse.matrix(format, "x", "float64"), T.lscalar("k")
    rows = T.lvector("rows")
    parts = [x[1:3, :k], x[::-1], x[rows], x[:, rows], sparse.GetItemList()(x, index=rows)]
    f = theano.function([x, k, rows], [*parts, x[rows, rows], x[k, 1]])
    *matrices, picked, one = f(scipy.sparse.csr_matrix(A).asformat(format), 2, [3, 0])
    expected = [A[1:3, :2], A[::-1], A[[3, 0]], A[:, [3, 0]], A[[3, 0]]]
    for part, values in zip(matrices, expected, strict=True):
        assert part.format == format
        np.testing.assert_array_equal(part.toarray(), values)
    np.testing.assert_array_equal(picked, A[[3, 0], [3, 0]])
    assert one == A[2, 1]
    cost = sparse.sp_sum(sparse.sqr(x[rows])) + sparse.sp_sum(sparse.hstack([x, x])[:, 1:])
    g = theano.function([x, rows], T.grad(cost, x))(scipy.sparse.csr_matrix(A).asformat(format),
                                                    [3, 3])  # fmt: skip
    expected_g = np.where(A, [1.0, 2, 2, 2, 2], 0)
    expected_g[3] += 4 * A[3]
    np.testing.assert_allclose(g.toarray(), expected_g)
    with pytest.raises(NotImplementedError, match="write x"):
        x[1:3, k]


def test_elements_are_compared() -> None:
    x, y, d = sparse.csr_dmatrix("x"), sparse.csr_dmatrix("y"), T.dmatrix("d")
    B = np.where(A > 1, A, -1.0)
    f = theano.function([x, y, d], [
        x < y, x >= y, sparse.eq(x, y), sparse.neq(x, d), sparse.gt(d, x), x <= d])  # fmt: skip
    sparse_b = scipy.sparse.csr_matrix(B)
    found = f(scipy.sparse.csr_matrix(A), sparse_b, B)
    expected = [A < B, A >= B, A == B, A != B, B > A, A <= B]
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert scipy.sparse.issparse(one) == (k < 3)
        np.testing.assert_array_equal(one.toarray() if k < 3 else one, other)


def test_sparse_matrices_are_constants_and_have_dtypes() -> None:
    m = scipy.sparse.csr_matrix(A)
    constant = sparse.as_sparse_variable(m)
    assert constant.data.nnz == m.nnz
    x = sparse.csr_dmatrix("x")
    results = [
        sparse.fcast(x), sparse.sp_ones_like(x), sparse.sp_zeros_like(x), sparse.conj(x),
        sparse.true_dot(x, T.constant(C.T)), sparse.Cast("int8")(x),
        sparse.add_s_s_data(x, constant),
    ]  # fmt: skip
    found = theano.function([x], [*results, x.size])(m)
    assert [v.dtype for v in found[:2]] == [np.float32, np.float64]
    expected = [A, A != 0, 0 * A, A, A @ C.T, A.astype(np.int8), 2 * A]
    for one, other in zip(found, expected, strict=False):
        np.testing.assert_allclose(one.toarray(), other, 1e-6)
    assert found[-1] == m.nnz
    assert x.type.values_eq_approx(m, m + m * 1e-9)
    assert not x.type.values_eq_approx(m, m * 2)
    assert x.type.may_share_memory(m, m.data)
    assert not x.type.may_share_memory(m, m.copy())


def test_dense_gradients_of_dense_matrices() -> None:
    x = sparse.csr_dmatrix("x")
    for structured, expected in ((True, A != 0), (False, np.ones_like(A))):
        cost = sparse.DenseFromSparse(structured=structured)(x).sum()
        gradient = theano.function([x], T.grad(cost, x))(scipy.sparse.csr_matrix(A))
        np.testing.assert_array_equal(gradient.toarray(), expected)
    m, i = T.dmatrix("m"), T.lvector("i")
    g = T.grad(theano.sparse_grad(m[i]).sum(), m)
    assert g.eval({m: np.zeros((2, 2)), i: [1, 1]}).tolist() == [[0, 0], [2, 2]]
    with pytest.raises(AssertionError, match=r"x\[index_vector\] alone"):
        theano.sparse_grad(m[0])


def test_random_numbers_that_do_not_fit() -> None:
    from wengert.symbolic.sparse.sandbox import sp2

    rows, columns = sparse.csr_matrix("rows", "float64"), sparse.csc_matrix("columns", "float64")
    n = T.lvector("n")
    value = scipy.sparse.csr_matrix([[0.5, 0.5], [1.0, 0.0]])
    with pytest.raises(ValueError, match="1 numbers of trials for 2 rows"):
        sp2.multinomial(n, rows).eval({n: [1], rows: value})
    with pytest.raises(NotImplementedError, match="in csc, not in csr"):
        sp2.multinomial(n, columns).eval({n: [1, 2], columns: value.tocsc()})
    with pytest.raises(AssertionError, match="of float64, which is none of"):
        sp2.csr_dbinomial(T.dscalar(), T.dscalar(), n)
    with pytest.raises(theano.gradient.NullTypeGradError, match="undefined"):
        theano.grad(sparse.sp_sum(sp2.poisson(rows)), rows)
