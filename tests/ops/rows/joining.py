"""Rows of `wengert.ops.joining`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Rng, Row


def several(*shapes: tuple[int, ...], dim: int | None = None) -> Any:
    """A list of normal arrays, and perhaps a dimension."""

    def make(rng: Rng) -> tuple[Any, ...]:
        arrays = [np.asarray(rng.standard_normal(s)) for s in shapes]
        return (arrays,) if dim is None else (arrays, dim)

    return make


def mixed(rng: Rng) -> tuple[Any, ...]:
    """Arrays of three dtypes, one of them an integer."""
    return ([rng.standard_normal(2), rng.standard_normal(1).astype(np.float32), np.array([3])],)


ROWS = [
    Row("cat", several((2, 3), (1, 3)), dtypes=("float32", "int64", "bool", "complex64")),
    Row("cat", several((2, 3), (2, 1), (2, 0), dim=-1), tag="dim"),
    Row("cat", several((0,), (2, 3), dim=1), tag="legacy"),
    Row("cat", several((0,), (0,)), tag="empty", grad=False),
    Row("cat", several((2, 3), (0, 3)), tag="no-rows"),
    Row("cat", mixed, tag="mixed", second=False, dtypes=()),
    Row("concat", several((2,), (3,))),
    Row("concatenate", several((2, 2), (3, 2))),
    Row("concatenate", several((2, 2), (2, 1)), {"axis": 1}, tag="axis"),
    Row("stack", several((2, 3), (2, 3))),
    Row("stack", several((2, 3), (2, 3), dim=-1), tag="last"),
    Row("stack", several((), ()), tag="0d"),
    Row("stack", lambda rng: ([rng.standard_normal(2), np.array([1, 2])],), tag="mixed"),
    Row("hstack", several((), (2,))),
    Row("hstack", several((2, 1), (2, 2)), tag="matrices"),
    Row("vstack", several((3,), (2, 3))),
    Row("row_stack", several((3,), (3,))),
    Row("dstack", several((2,), (2,))),
    Row("dstack", several((2, 2, 1), (2, 2)), tag="more"),
    Row("column_stack", several((2,), (2, 2))),
    Row("column_stack", several((), ()), tag="0d"),
    Row("block_diag", lambda rng: (rng.standard_normal((2, 3)), np.asarray(rng.standard_normal()),
                                   rng.standard_normal(2))),
]  # fmt: skip


def error(
    name: str, arrays: Any, kind: type[Exception], match: str, tag: str = "", dim: int = 0
) -> ErrorRow:
    """A call with zeros of the shapes in a list, or with what else was given."""

    def make(rng: Rng) -> tuple[Any, ...]:
        given = arrays
        if isinstance(arrays, list):
            given = [np.zeros(a) if isinstance(a, tuple) else a for a in arrays]
        return (given,) if name[-5:] == "stack" and name != "stack" else (given, dim)

    return ErrorRow(name, make, kind, match, tag=tag)


MATCH = "Sizes of tensors must match except in dimension 0"

ERRORS = [
    error("cat", [()], RuntimeError, r"zero-dimensional tensor \(at position 0\)"),
    error("cat", [], ValueError, "expected a non-empty list of Tensors"),
    error("cat", np.zeros(2), TypeError, "must be tuple of Tensors, not Tensor"),
    error("cat", [(2,), 3], TypeError, "expected Tensor as element 1 in argument 0", "element"),
    error("cat", [(2, 3), (2, 4)], RuntimeError, MATCH, "sizes"),
    error("cat", [(2, 3), (3,)], RuntimeError, "must have same number of dimensions", "rank"),
    error("cat", [(2, 3)], IndexError, "Dimension out of range", dim=3),
    error("stack", [(2, 3), (2,)], RuntimeError, "stack expects each tensor to be equal size"),
    error("stack", [], RuntimeError, "stack expects a non-empty TensorList", "empty"),
    error("stack", [(2,)], IndexError, "Dimension out of range", dim=4),
    error("stack", np.zeros(2), TypeError, "must be tuple of Tensors, not Tensor"),
    error("hstack", [], RuntimeError, "hstack expects a non-empty TensorList"),
    error("hstack", np.zeros(2), TypeError, "must be tuple of Tensors, not Tensor"),
    error("vstack", [(2, 3), (4,)], RuntimeError, MATCH),
    error("dstack", [(2,), 1], TypeError, "expected Tensor as element 1"),
    ErrorRow("block_diag", lambda rng: (np.zeros((1, 1, 1)),), RuntimeError, "2 or fewer"),
]
