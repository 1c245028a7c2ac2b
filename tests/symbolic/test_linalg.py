"""Linear algebra: what does not fit, and Theano's classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.symbolic import tensor as T
from wengert.symbolic.tensor import nlinalg, slinalg


@pytest.mark.parametrize(
    "build",
    [nlinalg.matrix_inverse, nlinalg.det, lambda x: nlinalg.matrix_power(x, 3),
     lambda x: nlinalg.Eigh()(x)[0]],
)  # fmt: skip
def test_matrices_have_to_be_square(build: Any) -> None:
    x = T.dmatrix("x")
    with pytest.raises(np.linalg.LinAlgError, match=r"must be square, .* \(4, 3\)"):
        build(x).eval({x: np.zeros((4, 3))})


def test_classes_are_types() -> None:
    x = T.dmatrix("x")
    for cls in (nlinalg.MatrixInverse, nlinalg.Det, slinalg.Cholesky, slinalg.Solve, slinalg.Expm):
        assert isinstance(cls(), cls)
        assert cls() == cls()
    value = np.array([[2.0, 0.0], [0.0, 4.0]])
    assert slinalg.Cholesky(lower=False)(x).eval({x: value}).tolist() == [[2**0.5, 0], [0, 2]]
    assert slinalg.Eigvalsh()(x, T.NoneConst).eval({x: value}).tolist() == [2, 4]
    assert nlinalg.QRFull("full")(x)[1].eval({x: value}).shape == (2, 2)


def test_products_of_kronecker() -> None:
    v, m = T.lvector("v"), T.lmatrix("m")
    a, b = np.array([1, 2]), np.array([[1, 2], [3, 4]])
    out = slinalg.kron(v, m)
    assert (out.dtype, out.ndim) == ("int64", 1)
    np.testing.assert_array_equal(out.eval({v: a, m: b}), np.kron(a, b).ravel())
    both = slinalg.kron(m, m)
    assert both.dtype == "int64"
    np.testing.assert_array_equal(both.eval({m: b}), np.kron(b, b))


def test_equations_of_half_precision_are_solved_in_single() -> None:
    half = T.TensorType("float16", (False, False))
    x = half("x")
    out = slinalg.solve(x, x)
    assert out.dtype == "float32"
    assert out.eval({x: np.eye(2, dtype=np.float16)}).tolist() == [[1, 0], [0, 1]]
