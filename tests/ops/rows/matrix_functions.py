"""Rows of `wengert.ops.matrix_functions` and of what only `wengert.linalg` has."""

from math import inf
from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs
from tests.ops.rows.decompositions import DTYPES, SQUARE, dtyped, regular
from tests.ops.rows.matmul import complexes, scalar_first, single, zeros


def chained(*shapes: tuple[int, ...]) -> Any:
    """One argument: a list of arrays."""
    return lambda rng: ([rng.standard_normal(s) for s in shapes],)


MATRICES = [
    Row("linalg.matrix_norm", inputs((2, 3, 4)), {"ord": order}, str(order), dtypes=DTYPES)
    for order in ("fro", "nuc", 1, -1, 2, -2, inf, -inf)
] + [
    Row("linalg.matrix_norm", inputs((2, 3, 4)), {"ord": "nuc", "dim": (2, 0)}, "dims"),
    Row("linalg.matrix_norm", inputs((2, 3, 4)), {"ord": 2, "dim": (0, 2), "keepdim": True},
        "kept"),
    Row("linalg.matrix_norm", inputs((2, 3, 4)), {"ord": 1, "dim": (0, 2), "keepdim": True},
        "kept-1"),
    Row("linalg.matrix_norm", complexes((3, 4)), {"ord": "nuc"}, "complex", dtypes=()),
    Row("norm", inputs((3, 4)), {"p": "nuc"}, "nuc"),
    Row("norm", inputs((3, 2, 4)), {"p": "nuc", "dim": (0, 2), "keepdim": True}, "nuc-dims"),
    Row("norm", complexes((2, 3)), {"p": 0}, "count-complex", second=False, dtypes=()),
    Row("linalg.vector_norm", inputs((2, 3)), dtypes=DTYPES),
    Row("linalg.vector_norm", inputs((2, 3)), {"ord": 3.5, "dim": -1, "keepdim": True}, "dim"),
    Row("linalg.vector_norm", inputs((2, 3)), {"ord": 0, "dim": 0}, "count"),
    Row("linalg.vector_norm", complexes((2, 3)), {"ord": inf}, "complex", dtypes=()),
    Row("linalg.vector_norm", inputs((2, 3)), {"dtype": "torch.float64"}, "dtype"),
    Row("linalg.norm", inputs((2, 3, 4)), dtypes=DTYPES),
    Row("linalg.norm", inputs((3, 4)), {"ord": 2}, "matrix"),
    Row("linalg.norm", inputs((3, 4)), {"ord": "fro", "dim": (0, 1)}, "fro"),
    Row("linalg.norm", inputs((3, 4)), {"ord": 1, "dim": 0}, "vector"),
    Row("linalg.norm", inputs((4,)), {"ord": -inf}, "vector-inf"),
    *(Row("linalg.cond", regular(3, 3), {"p": p}, str(p)) for p in (None, 2, -2)),
    # PyTorch overwrites what its gradient needs.
    *(Row("linalg.cond", regular(3, 3), {"p": p}, str(p), grad=False) for p in (1, "fro", "nuc")),
    Row("linalg.cond", lambda rng: (np.zeros((2, 2)),), {"p": 1}, "singular", grad=False),
    Row("matrix_exp", inputs((3, 3)), dtypes=DTYPES),
    Row("Tensor.matrix_exp", inputs((2, 3, 3))),
    Row("linalg.matrix_exp", complexes((2, 2)), tag="complex", dtypes=()),
    Row("linalg.matrix_exp", inputs((0, 0)), tag="empty", second=False),
    *(Row("matrix_power", regular(3, 3), {"n": n}, str(n), dtypes=DTYPES)
      for n in (-2, -1, 0, 1, 2, 5, 6)),
    Row("Tensor.matrix_power", inputs((2, 2, 2)), {"n": 3}),
    Row("linalg.matrix_power", inputs((2, 2)), {"n": 3}, dtypes=("int64",)),
    Row("renorm", inputs((3, 4)), {"p": 2, "dim": 0, "maxnorm": 1.5}, dtypes=DTYPES),
    Row("renorm", inputs((2, 3, 4)), {"p": 1, "dim": -1, "maxnorm": 4.0}, "dim"),
    Row("Tensor.renorm", inputs((3, 4)), {"p": inf, "dim": 1, "maxnorm": 1.0}),
    Row("Tensor.renorm_", inputs((3, 4)), {"p": 2, "dim": 1, "maxnorm": 1.0}),
]  # fmt: skip

PRODUCTS = [
    Row("linalg.multi_dot", chained((2, 3), (3, 4), (4, 2)), dtypes=("float32",)),
    Row("linalg.multi_dot", chained((3,), (3, 4), (4, 2), (2,)), tag="vectors"),
    Row("linalg.multi_dot", chained((3,), (3,)), tag="two"),
    Row("chain_matmul", inputs((2, 3), (3, 4), (4, 2))),
    Row("linalg.matmul", inputs((2, 3), (3, 4))),
    Row("linalg.cross", inputs((2, 3), (2, 3)), dtypes=DTYPES),
    Row("linalg.cross", inputs((3, 2), (3, 2)), {"dim": 0}, "dim"),
    Row("linalg.vecdot", inputs((2, 3), (3,)), dtypes=DTYPES),
    Row("linalg.vecdot", complexes((2, 3), (2, 3)), {"dim": 0}, "complex", dtypes=()),
    Row("linalg.diagonal", inputs((2, 3, 4)), {"offset": 1}),
    Row("linalg.vander", inputs((2, 3)), dtypes=("float32", "int64")),
    Row("linalg.vander", inputs((3,)), {"N": 5}, "longer"),
    Row("linalg.vander", scalar_first(()), {"N": 2}, "scalar"),
    Row("addbmm", complexes((2, 3), (2, 2, 4), (2, 4, 3)), {"beta": 1 + 2j, "alpha": 2 - 1j},
        "complex", dtypes=()),
    Row("matmul", inputs((5, 2, 0), (0, 3)), tag="empty-sums", second=False),
]  # fmt: skip

ROWS = [*MATRICES, *PRODUCTS]

ERRORS = [
    ErrorRow("linalg.matrix_norm", zeros((2,)), RuntimeError, "at least 2 dimensions"),
    ErrorRow("linalg.matrix_norm", zeros((2, 2)), RuntimeError, "not supported", {"ord": 3}, "ord"),
    ErrorRow("linalg.matrix_norm", zeros((2, 2)), RuntimeError, "different", {"dim": (0, 0)},
             "dims"),
    ErrorRow("linalg.matrix_norm", dtyped("f2", (2, 2)), RuntimeError, "Low precision",
             {"ord": 2}, "half"),
    ErrorRow("norm", zeros((2, 2)), RuntimeError, "'nuc'", {"p": "x"}),
    ErrorRow("linalg.norm", zeros((2, 2, 2)), RuntimeError, "1D or 2D", {"ord": 2}),
    ErrorRow("linalg.norm", zeros((2, 2)), RuntimeError, "Order x", {"ord": "x"}, "ord"),
    ErrorRow("linalg.vector_norm", dtyped("i8", (2,)), RuntimeError, "Long"),
    ErrorRow("linalg.cond", zeros((2, 3)), RuntimeError, SQUARE, {"p": 1}),
    ErrorRow("linalg.matrix_exp", dtyped("i8", (2, 2)), RuntimeError, "Got Long"),
    ErrorRow("matrix_power", zeros((2, 3)), RuntimeError, SQUARE, {"n": 2}),
    ErrorRow("renorm", zeros((2,)), RuntimeError, "at least 2 dimensions",
             {"p": 2, "dim": 0, "maxnorm": 1.0}),
    ErrorRow("renorm", zeros((2, 2)), RuntimeError, "maxnorm to be >= 0",
             {"p": 2, "dim": 0, "maxnorm": -1.0}, "maxnorm"),
    ErrorRow("linalg.multi_dot", lambda rng: ([np.ones((2, 2))],), RuntimeError, "at least 2"),
    ErrorRow("linalg.multi_dot", lambda rng: ([np.ones((2, 2)), np.ones((3, 2))],), RuntimeError,
             "cannot be multiplied", tag="shapes"),
    ErrorRow("linalg.vecdot", single((2,), (3,)), RuntimeError, "same dtype"),
    ErrorRow("linalg.vecdot", zeros((2,), (3,)), RuntimeError, "must match", tag="shapes"),
    ErrorRow("linalg.vander", zeros((3,)), RuntimeError, "greater than 1", {"N": 1}),
]  # fmt: skip
