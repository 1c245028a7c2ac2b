"""Rows of `wengert.ops.diagonals`."""

from tests.ops.rows import Row
from tests.ops.rows.shape import C, M, V, error, of

ROWS = [
    Row("diagonal", of((3, 4))),
    Row("diagonal", of((3, 4), 1), tag="above"),
    Row("diagonal", of((3, 4), -2), tag="below"),
    Row("diagonal", of((3, 4), 7), tag="outside", grad=False),
    Row("diagonal", of((2, 3, 4), 0, -1, 0), tag="dims"),
    Row("diag", of((3,))),
    Row("diag", of((3,), -1), tag="below"),
    Row("diag", of((3, 4), 1), tag="matrix"),
    Row("diag_embed", of((2, 3))),
    Row("diag_embed", of((2, 3), 1, 0, 2), tag="dims"),
    Row("diag_embed", of((2, 3), -1, 2, 0), tag="reversed"),
    Row("diagflat", of((2, 2), 1)),
    Row("tril", of((3, 4)), dtypes=("float32", "int64", "bool")),
    Row("tril", of((2, 3, 3), -1), tag="below"),
    Row("triu", of((3, 4)), dtypes=("float32", "int64", "bool")),
    Row("triu", of((2, 3, 3), 1), tag="above"),
    Row("Tensor.tril_", of((3, 3))),
    Row("Tensor.triu_", of((3, 3), 1)),
    Row("tril_indices", lambda rng: (3, 4, 1), grad=False, dtypes=()),
    Row("tril_indices", lambda rng: (2, 3), {"dtype": "torch.int32"}, "int32", grad=False,
        dtypes=()),
    Row("triu_indices", lambda rng: (3, 4, -1), grad=False, dtypes=()),
]  # fmt: skip

ERRORS = [
    error("diagonal", (M, 0, 0, -2), RuntimeError, "diagonal dimensions cannot be identical"),
    error("diagonal", (V,), IndexError, "Dimension out of range"),
    error("diag", (C,), RuntimeError, "Supports 1D or 2D tensors. Got 3D"),
    error("diag_embed", (V, 0, 0, 0), RuntimeError, "diagonal dimensions cannot be identical"),
    error("tril", (V,), RuntimeError, "at least 2 dimensions"),
    error("triu", (V,), RuntimeError, "at least 2 dimensions"),
    error("tril_indices", (-2, 3), RuntimeError, "row must be non-negative"),
    error("triu_indices", (2, -3), RuntimeError, "col must be non-negative"),
]
