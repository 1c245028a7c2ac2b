"""Rows of `wengert.ops.sort`."""

from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Rng, Row, inputs
from tests.ops.rows.reduction import bools, holes, ints, transposed

NUMBERS = ("float32", "float16", "bfloat16")


def along(*values: Any) -> Any:
    return lambda rng: (rng.standard_normal((3, 4)), *values)


def long(*values: Any) -> Any:
    return lambda rng: (rng.standard_normal((2, 600)), *values)


def ranks(rng: Rng) -> tuple[np.ndarray]:
    """Numbers with many ties, too long for the short path."""
    return (rng.integers(0, 40, (3, 500)).astype(np.float32),)


def long_holes(rng: Rng) -> tuple[np.ndarray]:
    x = rng.standard_normal((3, 500))
    x[0, 7] = x[0, 9] = x[2, 100] = np.nan
    return (x,)


SORTS = [
    row
    for name in ("sort", "argsort")
    for grad in (name == "sort",)
    for row in (
        Row(name, inputs((3, 4)), grad=grad, dtypes=NUMBERS),
        Row(name, along(0), tag="dim", grad=grad),
        Row(name, along(-1, True), tag="descending", grad=grad),
        Row(name, transposed(3, 4), {"dim": 0, "stable": True}, "strided", grad=grad),
        Row(name, ints(3, 9), {"descending": True, "stable": True}, "ties", grad=False),
        Row(name, ranks, {"stable": True}, "long-ties", grad=False, dtypes=()),
        Row(name, ranks, {"descending": True, "stable": True}, "long-down", grad=False, dtypes=()),
        Row(name, holes, {"descending": True, "stable": True}, "nan", grad=False),
        Row(name, long_holes, {"stable": True}, "long-nan", grad=False),
        Row(name, inputs(()), tag="scalar", grad=grad),
        Row(name, inputs((0, 3)), {"dim": 0}, "empty", grad=grad, second=False),
        Row(name, bools(3, 4), {"stable": True}, "bool", grad=False),
    )
]

RANKED = [
    Row("msort", inputs((3, 4))),
    Row("topk", along(2), dtypes=NUMBERS),
    Row("topk", along(2, 0, False), tag="smallest"),
    Row("topk", along(0), tag="none", second=False),
    Row("topk", long(3), tag="long"),
    Row("topk", long(3, 1, False), tag="long-smallest"),
    Row("topk", holes, {"k": 2}, "nan", grad=False),
    Row("topk", lambda rng: (rng.permutation(8).reshape(2, 4), 2), tag="int", grad=False),
    Row("topk", lambda rng: (rng.standard_normal(()), 1), tag="scalar"),
    Row("kthvalue", along(2), dtypes=NUMBERS),
    Row("kthvalue", along(3, 0, True), tag="keepdim"),
    Row("kthvalue", lambda rng: (rng.standard_normal(()), 1), tag="scalar"),
    Row("Tensor.sort", along(1), tag="method"),
    Row("Tensor.topk", along(2), tag="method"),
]

UNIQUE = [
    row
    for name in ("unique", "unique_consecutive")
    for everything in ({"return_inverse": True, "return_counts": True},)
    for row in (
        Row(name, ints(3, 9), grad=False),
        Row(name, ints(3, 9), everything, "all", grad=False),
        Row(name, lambda rng: (rng.integers(0, 2, (6, 2)),), everything | {"dim": 0}, "rows",
            grad=False),
        Row(name, lambda rng: (rng.integers(0, 2, (2, 6)),), everything | {"dim": -1}, "columns",
            grad=False),
        Row(name, inputs((3, 2)), {"return_counts": True}, "float", grad=False, dtypes=NUMBERS),
        Row(name, holes, {"return_counts": True}, "nan", grad=False),
        Row(name, bools(5), everything, "bool", grad=False),
        Row(name, inputs((0,)), everything, "empty", grad=False),
        Row(name, inputs(()), everything, "scalar", grad=False),
        Row(name, inputs((3, 0)), everything | {"dim": 1}, "no columns", grad=False),
    )
]  # fmt: skip

EDGES = np.array([[0.0, 1.0, 2.0], [0.5, 0.5, 3.0]])
SEARCH = [
    Row("searchsorted", lambda rng: (EDGES[0], rng.standard_normal((2, 4))), grad=False),
    Row("searchsorted", lambda rng: (EDGES, rng.standard_normal((2, 4))), tag="rows", grad=False),
    Row("searchsorted", lambda rng: (EDGES, EDGES), {"right": True}, "right", grad=False),
    Row("searchsorted", lambda rng: (EDGES, EDGES), {"side": "right", "out_int32": True}, "side",
        grad=False),
    Row("searchsorted", lambda rng: (EDGES[0], 1.5), tag="number", grad=False),
    Row("searchsorted", lambda rng: (np.array([3, 1, 2]), np.array([1, 3])),
        {"sorter": np.array([1, 2, 0])}, "sorter", grad=False),
    Row("bucketize", lambda rng: (rng.standard_normal((3, 4)), EDGES[0]), grad=False),
    Row("bucketize", lambda rng: (1, np.array([0, 1, 2])), {"right": True}, "number", grad=False),
    Row("bincount", lambda rng: (rng.integers(0, 5, 9),), grad=False),
    Row("bincount", lambda rng: (rng.integers(0, 5, 9), None, 8), tag="minlength", grad=False),
    Row("bincount", lambda rng: (rng.integers(0, 5, 9), rng.standard_normal(9)), tag="weights",
        grad=False),
    Row("bincount", lambda rng: (np.zeros(0, int),), tag="empty", grad=False),
    Row("histc", inputs((20,)), {"bins": 5}, grad=False),
    Row("histc", inputs((4, 5)), {"bins": 4, "min": -1, "max": 1}, "range", grad=False),
    Row("histc", lambda rng: (np.ones(3),), {"bins": 3}, "constant", grad=False),
    Row("isin", lambda rng: (rng.integers(0, 5, (3, 4)), np.array([1, 3])), grad=False),
    Row("isin", lambda rng: (rng.integers(0, 5, (3, 4)), 2), {"invert": True}, "number",
        grad=False),
    Row("isin", lambda rng: (2, rng.integers(0, 5, (3, 4))), tag="element", grad=False),
    Row("isin", lambda rng: (rng.integers(0, 500, (70,)), rng.integers(0, 500, (80,))), tag="many",
        grad=False),
]  # fmt: skip

ROWS = [*SORTS, *RANKED, *UNIQUE, *SEARCH]

X = np.zeros((2, 3))
N = np.arange(3)
ERRORS = [
    ErrorRow("sort", lambda rng: (X, 2), IndexError, "Dimension out of range"),
    ErrorRow("topk", lambda rng: (X, 4), RuntimeError, "out of range"),
    ErrorRow("topk", lambda rng: (X, -1), RuntimeError, "out of range", tag="negative"),
    ErrorRow("kthvalue", lambda rng: (X, 0), RuntimeError, "out of range"),
    ErrorRow("unique", lambda rng: (X,), IndexError, "Dimension out of range", {"dim": 4}),
    *(ErrorRow(name, lambda rng: (np.zeros((2, 0)),), RuntimeError, "0 sized dimensions",
               {"dim": 0}, "empty") for name in ("unique", "unique_consecutive")),
    *(ErrorRow(name, lambda rng: (np.zeros(()),), IndexError, "no dimensions", {"dim": 0},
               "scalar") for name in ("unique", "unique_consecutive")),
    ErrorRow("searchsorted", lambda rng: (X, np.zeros((3, 1))), RuntimeError, "must match"),
    ErrorRow("searchsorted", lambda rng: (X, X), RuntimeError, "side", {"side": "up"}, "side"),
    ErrorRow("searchsorted", lambda rng: (X, X), RuntimeError, "opposites",
             {"side": "left", "right": True}, "both"),
    ErrorRow("searchsorted", lambda rng: (N, N), RuntimeError, "out of range",
             {"sorter": np.array([0, 1, 5])}, "sorter"),
    ErrorRow("bucketize", lambda rng: (X, X), RuntimeError, "1 dimension"),
    ErrorRow("bincount", lambda rng: (np.array([-1]),), RuntimeError, "non-negative"),
    ErrorRow("bincount", lambda rng: (X,), NotImplementedError, "Double"),
    ErrorRow("bincount", lambda rng: (N, np.ones(2)), RuntimeError, "same length", tag="weights"),
    ErrorRow("bincount", lambda rng: (N,), RuntimeError, "minlength", {"minlength": -1}, "min"),
    ErrorRow("histc", lambda rng: (X, 0), RuntimeError, "bins must be > 0"),
    ErrorRow("histc", lambda rng: (X, 3, 5, 2), RuntimeError, "larger than min", tag="range"),
    ErrorRow("isin", lambda rng: (1, 2), TypeError, "must be a Tensor"),
]  # fmt: skip
