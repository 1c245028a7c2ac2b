"""Rows of `wengert.ops.solving`, `triangular_systems` and `pseudoinverse`."""

from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Rng, Row, inputs
from tests.ops.rows.decompositions import (
    DTYPES,
    SQUARE,
    dtyped,
    regular,
    singular,
    symmetric,
)
from tests.ops.rows.matmul import complexes, single, zeros


def mixed(rng: Rng) -> tuple[np.ndarray, ...]:
    return *regular(3, 3)(rng), rng.standard_normal((3, 2)).astype(np.float32)


def both(first: Any, *shapes: tuple[int, ...], dtype: str = "d") -> Any:
    """A maker of what `first` makes, and of arrays of these shapes."""

    def make(rng: Rng) -> tuple[np.ndarray, ...]:
        others = [np.asarray(rng.standard_normal(s)).astype(dtype) for s in shapes]
        return (*first(rng), *others)

    return make


def swapped(make: Any) -> Any:
    """A maker of the same arrays in the opposite order."""
    return lambda rng: make(rng)[::-1]


def vanishing(rng: Rng) -> tuple[np.ndarray]:
    """A regular matrix and one with a row of zeros."""
    return (rng.standard_normal((2, 3, 3)) * [[[1], [1], [1]], [[1], [0], [1]]],)


def only_solution(function: Any) -> Any:
    return lambda *args, **options: function(*args, **options).solution


def of_lower(function: Any) -> Any:
    """The function of a triangle: PyTorch's gradient is off where it gets a whole matrix."""
    return lambda b, factor: function(b, factor.tril())


def factored(rng: Rng) -> tuple[np.ndarray, ...]:
    """The compact LU factors of a batch, pivots, and a right-hand side."""
    return (*regular(2, 3, 3)(rng), np.array([[2, 2, 3], [1, 3, 3]], np.int32),
            rng.standard_normal((2, 3, 4)))  # fmt: skip


def b_first(rng: Rng) -> tuple[np.ndarray, ...]:
    lu, pivots, b = factored(rng)
    return b, lu, pivots


INVERSES = [
    Row("inverse", regular(3, 3), dtypes=DTYPES),
    Row("Tensor.inverse", regular(2, 3, 3)),
    Row("linalg.inv", regular(2, 3, 3), dtypes=DTYPES),
    Row("linalg.inv", regular(3, 3, dtype="D"), tag="complex", dtypes=()),
    Row("linalg.inv", inputs((0, 0)), tag="empty", second=False),
    Row("linalg.inv_ex", regular(2, 3, 3)),
    Row("linalg.tensorinv", regular(6, 6), through=lambda f: lambda a: f(a.reshape(2, 3, 6))),
    Row("pinverse", inputs((4, 3)), dtypes=("float32",)),
    Row("Tensor.pinverse", inputs((2, 3))),
    Row("linalg.pinv", inputs((2, 4, 3)), dtypes=DTYPES),
    Row("linalg.pinv", complexes((2, 3)), tag="complex", dtypes=()),
    Row("linalg.pinv", regular(3, 3), {"hermitian": True}, "hermitian", through=symmetric),
    Row("linalg.pinv", inputs((4, 3)), {"rtol": 0.2, "atol": 0.1}, "rtol"),
    Row("linalg.pinv", inputs((2, 3)), tag="tensor",
        through=lambda f: lambda a: f(a, rtol=a.detach()[0].abs() / 100)),
    Row("linalg.pinv", inputs((3, 0)), tag="empty", second=False),
    Row("linalg.matrix_rank", singular, grad=False, dtypes=()),
    Row("linalg.matrix_rank", inputs((2, 3, 4)), {"atol": 1.0}, "atol", grad=False),
    Row("linalg.matrix_rank", regular(3, 3), {"hermitian": True}, "hermitian", grad=False),
    Row("linalg.matrix_rank", inputs((0, 3)), tag="empty", grad=False),
]  # fmt: skip

DETERMINANTS = [
    Row("det", inputs((3, 3)), dtypes=DTYPES),
    Row("Tensor.det", vanishing, tag="singular", grad=False),  # PyTorch loses its cofactors
    Row("linalg.det", inputs((2, 3, 3)), dtypes=DTYPES),
    Row("linalg.det", complexes((2, 2)), tag="complex", dtypes=()),
    Row("linalg.det", inputs((0, 0)), tag="empty", second=False),
    Row("slogdet", inputs((2, 3, 3)), dtypes=DTYPES),
    Row("Tensor.slogdet", inputs((3, 3))),
    Row("linalg.slogdet", complexes((2, 3, 3)), tag="complex", dtypes=()),
    Row("linalg.slogdet", lambda rng: (np.zeros((2, 2)),), tag="zero", grad=False),
    Row("logdet", regular(2, 3, 3), dtypes=DTYPES),
    Row("logdet", complexes((3, 3)), tag="complex", dtypes=()),
    Row("logdet", lambda rng: (np.diag([1.0, -1.0]),), tag="negative", grad=False),
    Row("Tensor.logdet", regular(3, 3)),
]

EQUATIONS = [
    Row("linalg.solve", both(regular(3, 3), (3,)), dtypes=DTYPES),
    Row("linalg.solve", both(regular(2, 3, 3), (3, 2)), tag="broadcast"),
    Row("linalg.solve", both(regular(2, 3, 3), (2, 3)), tag="vectors"),
    Row("linalg.solve", both(regular(3, 3), (4, 2, 3)), {"left": False}, "right"),
    Row("linalg.solve", both(regular(3, 3, dtype="D"), (3, 2), dtype="D"), tag="complex",
        dtypes=()),
    Row("linalg.solve", inputs((0, 0), (0, 2)), tag="empty", second=False),
    Row("linalg.solve_ex", both(regular(3, 3), (3, 2))),
    Row("linalg.tensorsolve", both(regular(6, 6), (2, 3)),
        through=lambda f: lambda a, b: f(a.reshape(2, 3, 3, 2), b)),
    Row("linalg.tensorsolve", both(regular(6, 6), (2, 3)), tag="dims",
        through=lambda f: lambda a, b: f(a.reshape(2, 3, 3, 2).movedim(2, 0), b, dims=(0, 3))),
    Row("linalg.solve_triangular", both(regular(3, 3), (3, 2)), {"upper": True}, dtypes=DTYPES),
    Row("linalg.solve_triangular", both(regular(2, 3, 3), (3, 2)), {"upper": False}, "lower"),
    Row("linalg.solve_triangular", mixed, {"upper": True}, "mixed", grad=False, dtypes=()),
    Row("linalg.solve_triangular", both(regular(3, 3), (2, 3)), {"upper": True, "left": False},
        "right"),
    Row("linalg.solve_triangular", both(regular(3, 3), (3, 2)),
        {"upper": False, "unitriangular": True}, "unit"),
    Row("linalg.solve_triangular", both(regular(3, 3, dtype="D"), (3, 2), dtype="D"),
        {"upper": True}, "complex", dtypes=()),
    Row("triangular_solve", swapped(both(regular(3, 3), (3, 2)))),
    Row("triangular_solve", swapped(both(regular(3, 3), (3, 2))),
        {"upper": False, "transpose": True, "unitriangular": True}, "transpose"),
    Row("Tensor.triangular_solve", swapped(both(regular(2, 3, 3), (3, 2)))),
    Row("cholesky_solve", swapped(both(regular(3, 3), (3, 2))), through=of_lower, dtypes=DTYPES),
    Row("cholesky_solve", swapped(both(regular(2, 3, 3), (3, 2))), tag="upper",
        through=lambda f: lambda b, u: f(b, u.triu(), upper=True)),
    Row("Tensor.cholesky_solve", swapped(both(regular(3, 3), (3, 2))), through=of_lower),
    Row("cholesky_inverse", regular(3, 3), through=lambda f: lambda a: f(a.tril()),
        dtypes=DTYPES),
    Row("Tensor.cholesky_inverse", regular(2, 3, 3), {"upper": True},
        through=lambda f: lambda a, **kw: f(a.triu(), **kw)),
    Row("lu_solve", b_first, dtypes=DTYPES),
    Row("Tensor.lu_solve", b_first),
    Row("linalg.lu_solve", factored, dtypes=DTYPES),
    Row("linalg.lu_solve", factored, {"adjoint": True}, "adjoint"),
    Row("linalg.lu_solve", factored, {"left": False}, "right",
        through=lambda f: lambda a, p, b, **kw: f(a, p, b.mT, **kw)),
    Row("linalg.lstsq", inputs((4, 3), (4, 2)), through=only_solution, dtypes=("float32",)),
    Row("linalg.lstsq", inputs((2, 3, 4), (2, 3)), through=only_solution, tag="wide"),
    Row("linalg.lstsq", inputs((4, 3), (4, 2)), {"driver": "gelsd"}, "gelsd"),
    Row("linalg.lstsq", inputs((4, 3), (4, 2)), {"driver": "gels"}, "gels"),
    Row("linalg.lstsq", complexes((4, 3), (4, 2)), {"driver": "gelss"}, "complex", dtypes=()),
]  # fmt: skip

ROWS = [*INVERSES, *DETERMINANTS, *EQUATIONS]

ERRORS = [
    ErrorRow("inverse", zeros((2, 2)), RuntimeError, "diagonal element 1 is zero"),
    ErrorRow("linalg.inv", zeros((3, 2, 2)), RuntimeError, r"\(Batch element 0\)"),
    ErrorRow("linalg.inv", zeros((2, 3)), RuntimeError, SQUARE, tag="square"),
    ErrorRow("linalg.inv", dtyped("f2", (2, 2)), RuntimeError, "Got Half", tag="half"),
    ErrorRow("linalg.inv_ex", zeros((2, 2)), RuntimeError, "singular", {"check_errors": True}),
    ErrorRow("linalg.tensorinv", zeros((2, 3)), RuntimeError, "but got 1 != 6"),
    ErrorRow("linalg.tensorinv", zeros((2, 3)), RuntimeError, "positive integer", {"ind": 0},
             "ind"),
    ErrorRow("linalg.pinv", dtyped("i8", (2, 2)), RuntimeError, "float, double"),
    ErrorRow("linalg.matrix_rank", zeros((2,)), RuntimeError, "at least 2 dimensions"),
    ErrorRow("det", zeros((2, 3)), RuntimeError, SQUARE),
    ErrorRow("linalg.det", dtyped("f2", (2, 2)), NotImplementedError, "Half"),
    ErrorRow("slogdet", zeros((2,)), RuntimeError, "at least 2 dimensions"),
    ErrorRow("logdet", dtyped("i8", (2, 2)), RuntimeError, "Got Long"),
    ErrorRow("linalg.solve", zeros((2, 2), (2,)), RuntimeError, "matrix is singular"),
    ErrorRow("linalg.solve", zeros((2, 2), (3, 1)), RuntimeError, "Incompatible", tag="shape"),
    ErrorRow("linalg.solve", single((2, 2), (2, 1)), RuntimeError, "same dtype", tag="dtype"),
    ErrorRow("linalg.solve", zeros((2, 2), (2,)), RuntimeError, "left=False", {"left": False},
             "left"),
    ErrorRow("linalg.solve", zeros((4, 2, 2), (3, 2, 1)), RuntimeError, "do not broadcast",
             tag="batch"),
    ErrorRow("linalg.solve_triangular", zeros((2, 2), (3, 2)), RuntimeError, "Incompatible",
             {"upper": True}),
    ErrorRow("triangular_solve", zeros((3, 2), (2, 2)), RuntimeError, "Incompatible"),
    ErrorRow("cholesky_solve", zeros((3, 2), (2, 2)), RuntimeError, "matrix sizes"),
    ErrorRow("cholesky_inverse", zeros((2, 3)), RuntimeError, SQUARE),
    ErrorRow("linalg.lu_solve", zeros((2, 2), (2,), (2, 2)), RuntimeError, "int32"),
    ErrorRow("linalg.lstsq", zeros((2,), (2,)), RuntimeError, "at least 2 dimensions"),
    ErrorRow("linalg.lstsq", zeros((3, 2), (2, 2)), RuntimeError, "should match"),
    ErrorRow("linalg.lstsq", zeros((3, 2), (3, 2)), RuntimeError, "driver", {"driver": "x"},
             "driver"),
]  # fmt: skip
