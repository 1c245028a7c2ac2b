"""Rows of `wengert.ops.decompositions` and `wengert.ops.eigen`."""

from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Rng, Row, inputs
from tests.ops.rows.matmul import complexes, zeros
from tests.ops.rows.shape import of

DTYPES = ("float32", "complex64")


def regular(*shape: int, dtype: str = "d") -> Any:
    """A maker of square matrices with a diagonal that outweighs the rest."""
    n = shape[-1]

    def make(rng: Rng) -> tuple[np.ndarray]:
        a = rng.standard_normal(shape)
        if dtype == "D":
            a = a + 1j * rng.standard_normal(shape)
        return (a / 2 / n + np.diag(np.arange(1.0, n + 1)),)

    return make


def singular(rng: Rng) -> tuple[np.ndarray]:
    """A matrix of rank 2."""
    return (rng.standard_normal((3, 2)) @ rng.standard_normal((2, 3)),)


def squared(function: Any) -> Any:
    """The function of the positive-definite matrices that its arguments' diagonals outweigh."""
    return lambda a, *rest, **options: function(a @ a.mH, *rest, **options)


def symmetric(function: Any) -> Any:
    """The function of the Hermitian part."""
    return lambda a, *rest, **options: function(a + a.mH, *rest, **options)


def magnitudes(function: Any) -> Any:
    """The magnitudes of results of which LAPACKs choose signs or phases."""
    return lambda *args, **options: [x.abs() for x in function(*args, **options)]


def projectors(function: Any) -> Any:
    """As `magnitudes`, of the Hermitian part."""
    return magnitudes(symmetric(function))


def sorted_sizes(function: Any) -> Any:
    """The magnitudes of eigenvalues, which come in no order, and what they belong to."""
    return lambda *args: function(*args).abs().sort().values


CHOLESKY = [
    Row("cholesky", regular(3, 3), through=squared, dtypes=DTYPES),
    Row("cholesky", regular(2, 3, 3), {"upper": True}, "upper", through=squared),
    Row("Tensor.cholesky", regular(3, 3), through=squared),
    Row("linalg.cholesky", regular(3, 3), through=squared, dtypes=DTYPES),
    Row("linalg.cholesky", regular(2, 2, 2, dtype="D"), through=squared, tag="complex", dtypes=()),
    Row("linalg.cholesky", regular(3, 3), {"upper": True}, "upper", through=squared),
    Row("linalg.cholesky", inputs((0, 0)), tag="empty", second=False),
    Row("linalg.cholesky_ex", regular(2, 3, 3), through=squared),
]

LU = [
    Row("linalg.lu_factor", regular(3, 3), dtypes=DTYPES),
    Row("linalg.lu_factor", inputs((2, 3, 5)), tag="wide"),
    Row("linalg.lu_factor", inputs((5, 3)), tag="tall"),
    Row("linalg.lu_factor", complexes((2, 3, 3)), tag="complex", dtypes=()),
    Row("linalg.lu_factor_ex", regular(2, 3, 3)),
    Row("linalg.ldl_factor", regular(3, 3), grad=False),
    Row("linalg.ldl_factor_ex", regular(2, 3, 3), {"hermitian": True}, grad=False),
    Row("linalg.ldl_solve", lambda rng: (np.tril(regular(3, 3)(rng)[0]),
        np.arange(1, 4, dtype=np.int32), rng.standard_normal((3, 2))), grad=False),
    Row("linalg.lu", inputs((3, 3)), dtypes=DTYPES),
    Row("linalg.lu", inputs((2, 2, 4)), tag="wide"),
    Row("linalg.lu", inputs((4, 2)), tag="tall"),
    Row("linalg.lu", inputs((0, 3)), tag="empty", second=False),
    Row("lu_unpack", lambda rng: (rng.standard_normal((2, 3, 3)),
        np.array([[2, 2, 3], [3, 3, 3]], np.int32)), dtypes=DTYPES),
    Row("lu_unpack", lambda rng: (rng.standard_normal((4, 2)), np.array([4, 3], np.int32)),
        tag="tall"),
]  # fmt: skip

QR = [
    Row("qr", inputs((4, 3)), through=magnitudes, dtypes=("float32",)),
    Row("qr", inputs((2, 3)), {"some": False}, "all", through=magnitudes),
    Row("Tensor.qr", inputs((3, 3)), through=magnitudes),
    Row("linalg.qr", inputs((2, 4, 3)), through=magnitudes, dtypes=DTYPES),
    Row("linalg.qr", inputs((2, 4)), through=magnitudes, tag="wide"),
    Row("linalg.qr", complexes((4, 3)), through=magnitudes, tag="complex", dtypes=()),
    Row("linalg.qr", complexes((2, 4)), through=magnitudes, tag="complex-wide", dtypes=()),
    Row("linalg.qr", inputs((4, 3)), {"mode": "complete"}, "complete", through=magnitudes,
        grad=False),
    Row("linalg.qr", inputs((4, 3)), {"mode": "r"}, "r", through=magnitudes, grad=False),
    Row("linalg.qr", inputs((3, 0)), tag="empty", second=False),
    Row("geqrf", inputs((4, 3)), grad=False),
    Row("Tensor.geqrf", inputs((2, 3, 3)), grad=False),
    Row("linalg.householder_product", inputs((4, 3), (3,)), dtypes=DTYPES),
    Row("linalg.householder_product", inputs((2, 4, 3), (2, 2)), tag="fewer"),
    Row("orgqr", inputs((4, 3), (3,)), dtypes=DTYPES),
    Row("Tensor.orgqr", inputs((2, 4, 3), (2, 2)), tag="fewer"),
    Row("ormqr", inputs((4, 3), (3,), (4, 2)), dtypes=DTYPES),
    Row("ormqr", inputs((4, 3), (3,), (4, 2)), {"transpose": True}, "transposed"),
    Row("Tensor.ormqr", inputs((2, 4, 3), (2, 3), (2, 5, 4)), {"left": False}, "right"),
    Row("ormqr", complexes((4, 3), (3,), (2, 4)), {"left": False, "transpose": True},
        "right-transposed", dtypes=()),
    Row("ormqr", complexes((4, 3), (3,), (4, 2)), {"transpose": True}, "complex", dtypes=()),
]  # fmt: skip

SVD = [
    Row("svd", inputs((4, 3)), through=magnitudes, dtypes=("float32",), rtol=1e-9, atol=1e-10),
    Row("svd", inputs((2, 3)), {"some": False}, "all", through=magnitudes, grad=False),
    Row("svd", inputs((2, 3)), {"compute_uv": False}, "values", rtol=1e-9),
    Row("Tensor.svd", inputs((3, 3)), through=magnitudes),
    Row("linalg.svd", inputs((2, 3, 3)), through=magnitudes, dtypes=DTYPES),
    Row("linalg.svd", inputs((4, 2)), {"full_matrices": False}, "tall", through=magnitudes),
    Row("linalg.svd", inputs((2, 4)), {"full_matrices": False}, "wide", through=magnitudes),
    Row("linalg.svd", complexes((3, 2)), {"full_matrices": False}, "complex", through=magnitudes,
        dtypes=()),
    Row("linalg.svd", inputs((0, 3)), tag="empty", second=False),
    Row("linalg.svdvals", inputs((2, 3, 4)), dtypes=DTYPES),
    Row("linalg.svdvals", complexes((3, 2)), tag="complex", dtypes=()),
    Row("linalg.svdvals", inputs((3, 0)), tag="empty", second=False),
]  # fmt: skip

EIGEN = [
    Row("linalg.eigh", regular(3, 3), through=projectors, dtypes=DTYPES),
    Row("linalg.eigh", of((2, 3, 3), "U"), through=projectors, tag="upper"),
    Row("linalg.eigh", regular(3, 3, dtype="D"), through=projectors, tag="complex", dtypes=()),
    Row("linalg.eigvalsh", regular(2, 3, 3), through=symmetric, dtypes=DTYPES),
    Row("linalg.eigvalsh", regular(3, 3, dtype="D"), {"UPLO": "U"}, "complex", through=symmetric,
        dtypes=()),
    Row("linalg.eigvalsh", inputs((0, 0)), tag="empty", second=False),
    Row("linalg.eig", regular(3, 3), through=magnitudes, dtypes=()),
    Row("linalg.eig", regular(2, 3, 3, dtype="D"), through=magnitudes, tag="complex", dtypes=()),
    Row("linalg.eigvals", regular(2, 3, 3), through=sorted_sizes, dtypes=DTYPES),
    Row("linalg.eigvals", regular(3, 3, dtype="D"), through=sorted_sizes, tag="complex",
        dtypes=()),
]  # fmt: skip

ROWS = [*CHOLESKY, *LU, *QR, *SVD, *EIGEN]


def dtyped(dtype: str, *shapes: tuple[int, ...]) -> Any:
    return lambda rng: tuple(np.ones(s, dtype) for s in shapes)


def nans(rng: Rng) -> tuple[np.ndarray]:
    return (np.full((2, 2), np.nan),)


SQUARE = "must be batches of square matrices, but they are 2 by 3 matrices"
ERRORS = [
    ErrorRow("cholesky", zeros((2, 2)), RuntimeError, "leading minor of order 1"),
    ErrorRow("cholesky", zeros((2, 3)), RuntimeError, SQUARE, tag="square"),
    ErrorRow("linalg.cholesky", zeros((3, 2, 2)), RuntimeError, r"\(Batch element 0\)"),
    ErrorRow("linalg.cholesky", lambda rng: (np.array([[1.0, 0.0], [np.nan, 1.0]]),), RuntimeError,
             "leading minor of order 2", tag="nan"),
    ErrorRow("linalg.cholesky", dtyped("f2", (2, 2)), NotImplementedError, "Half"),
    ErrorRow("linalg.cholesky", dtyped("i8", (2, 2)), RuntimeError, "Got Long", tag="int"),
    ErrorRow("linalg.cholesky_ex", zeros((2, 2)), RuntimeError, "not positive-definite",
             {"check_errors": True}),
    ErrorRow("linalg.lu_factor", zeros((2, 2)), RuntimeError, r"U\[1,1\] is zero"),
    ErrorRow("linalg.lu", zeros((2,)), RuntimeError, "at least 2 dimensions"),
    ErrorRow("linalg.lu", zeros((2, 2)), RuntimeError, "without pivoting", {"pivot": False},
             "pivot"),
    ErrorRow("lu_unpack", zeros((2, 2), (2,)), RuntimeError, "int32"),
    ErrorRow("linalg.qr", zeros((2,)), RuntimeError, "at least 2 dimensions"),
    ErrorRow("linalg.qr", zeros((2, 2)), RuntimeError, "unrecognized mode 'x'", {"mode": "x"},
             "mode"),
    ErrorRow("linalg.qr", dtyped("f2", (2, 2)), NotImplementedError, "Half"),
    ErrorRow("geqrf", zeros((2,)), RuntimeError, "at least 2 dimensions"),
    ErrorRow("linalg.householder_product", zeros((2, 3), (2,)), RuntimeError, "greater than"),
    ErrorRow("ormqr", zeros((4, 3), (3,), (3, 2)), RuntimeError, "must be equal to input"),
    ErrorRow("ormqr", zeros((4, 3), (4,), (4, 2)), RuntimeError, "must be equal to min"),
    ErrorRow("ormqr", zeros((2, 4, 3), (2, 3), (4, 2)), RuntimeError, "number of dimensions"),
    ErrorRow("ormqr", zeros((2, 4, 3), (2, 3), (3, 4, 2)), RuntimeError, "batch dimensions"),
    ErrorRow("linalg.householder_product", zeros((3, 2), (3,)), RuntimeError, "does not fit",
             tag="tau"),
    ErrorRow("svd", zeros((2,)), RuntimeError, "at least 2 dimensions"),
    ErrorRow("linalg.svd", nans, RuntimeError, "non-finite"),
    ErrorRow("linalg.svd", zeros((2, 2)), RuntimeError, "driver", {"driver": "gesvd"}, "driver"),
    ErrorRow("linalg.svdvals", dtyped("i8", (2, 2)), RuntimeError, "Got Long"),
    ErrorRow("linalg.eigh", zeros((2, 3)), RuntimeError, SQUARE),
    ErrorRow("linalg.eigh", zeros((2, 2)), RuntimeError, "UPLO", {"UPLO": "x"}, "triangle"),
    ErrorRow("linalg.eigvalsh", dtyped("f2", (2, 2)), NotImplementedError, "Half"),
    ErrorRow("linalg.eig", nans, RuntimeError, "infs or NaNs"),
    ErrorRow("linalg.eigvals", zeros((2, 3)), RuntimeError, SQUARE),
]  # fmt: skip
