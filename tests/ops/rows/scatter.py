"""Rows of `wengert.ops.scatter` and `wengert.ops.index_writes`."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.ops.rows import Rng, Row
from tests.ops.rows.gathering import BOOL, MASK, I, error, with_index

# Places that come twice only where the result is defined.
ONCE, TWICE = I([[0, 3], [2, 1]]), I([[0, 0, 3], [1, 1, 1]])


def reducing(shape: tuple[int, ...], source: tuple[int, ...]) -> Any:
    """Arguments of scatter_reduce up to `src`, without ties."""

    def make(rng: Rng) -> tuple[Any, ...]:
        values = rng.permutation(int(np.prod(shape) + np.prod(source))) / 3 - 2.1
        cut = int(np.prod(shape))
        return values[:cut].reshape(shape), 1, np.array(TWICE.value), values[cut:].reshape(source)

    return make


def reduce_rows() -> list[Row]:
    """Every reduction, with and without the input's own elements."""
    rows = []
    for how, own in product(("sum", "prod", "mean", "amax", "amin"), (True, False)):
        make = reducing((2, 4), (2, 3))
        rows.append(
            Row(
                "scatter_reduce",
                lambda rng, make=make, how=how: (*make(rng), how),
                {"include_self": own},
                f"{how}-{'own' if own else 'alone'}",
                dtypes=("float32", "int64"),
            )
        )
    return rows


def with_zeros(*zeros: int) -> Any:
    """Arguments of a product reduction with zeros among the factors of one place."""

    def make(rng: Rng) -> tuple[Any, ...]:
        src = rng.uniform(1, 2, 4)
        src[list(zeros)] = 0
        return rng.uniform(1, 2, 2), 0, np.array([0, 0, 0, 1]), src, "prod"

    return make


def reduced(how: str) -> Any:
    """Arguments of index_reduce, without ties."""

    def make(rng: Rng) -> tuple[Any, ...]:
        values = rng.permutation(21) / 3 + 0.1
        return values[:12].reshape(3, 4), 1, np.array([0, 2, 2]), values[12:].reshape(3, 3), how

    return make


REDUCTIONS = [
    (how, {"include_self": own}, f"{how}-{'own' if own else 'alone'}")
    for how, own in product(("prod", "mean", "amax", "amin"), (True, False))
]

ROWS = [
    Row("scatter", with_index((3, 4), 1, ONCE, source=(2, 2)), dtypes=("float32", "int64")),
    Row("scatter", with_index((3, 4), 1, ONCE, source=(3, 3)), tag="larger", grad=False),
    Row("scatter", with_index((3, 4), 1, ONCE, 2.5), tag="number"),
    Row("scatter", with_index((3, 4), 0, I([[1, 2, 0]])), {"value": 3}, "value"),
    Row("scatter", with_index((), 0, I(0), source=()), tag="0d"),
    Row("scatter", with_index((3, 4), 1, TWICE, 2.0), {"reduce": "add"}, "add", grad=False),
    Row("scatter", with_index((3, 4), 1, TWICE, 2.0), {"reduce": "multiply"}, "multiply",
        grad=False),
    Row("scatter_add", with_index((3, 4), 1, TWICE, source=(2, 3)), dtypes=("float32", "int64")),
    Row("scatter_add", with_index((3, 4), 0, I([[2, 2, 0]], np.int32), source=(2, 4)),
        tag="larger", grad=False),
    *reduce_rows(),
    Row("scatter_reduce", with_zeros(1), tag="zero", second=False),
    Row("scatter_reduce", with_zeros(0, 1), tag="zeros", second=False),
    Row("Tensor.scatter_", with_index((3, 4), 1, ONCE, source=(2, 2))),
    Row("Tensor.scatter_add_", with_index((3, 4), 1, TWICE, source=(2, 3))),
    Row("index_add", with_index((3, 4), 1, I([0, 2, 2]), source=(3, 3))),
    Row("index_add", with_index((3, 4), 0, I(1), source=(1, 4)), {"alpha": -2.5}, "alpha"),
    Row("index_add", with_index((), 0, I(0), source=()), tag="0d"),
    Row("index_copy", with_index((3, 4), 0, I([2, 0]), source=(2, 4))),
    Row("index_copy", with_index((3, 4), -1, I([1]), source=(3, 1)), tag="last"),
    Row("index_fill", with_index((3, 4), 1, I([0, -1, 3]), 2.5)),
    Row("index_fill", with_index((3, 4), 1, I([0, 3]), source=()), tag="tensor"),
    Row("masked_scatter", with_index((2, 3), I(MASK, BOOL), source=(2, 2))),
    Row("masked_scatter", with_index((3,), I(MASK, BOOL), source=(4,)), tag="broadcast"),
    *(Row("index_reduce", reduced(how), own, tag,
          dtypes=("float32", "int64"))
      for how, own, tag in REDUCTIONS),
    Row("diagonal_scatter", with_index((3, 4), source=(3,))),
    Row("diagonal_scatter", lambda rng: (rng.standard_normal((2, 3, 4)),
        rng.standard_normal((3, 1)), -1, 0, 2), tag="dims"),
    Row("as_strided_scatter", lambda rng: (rng.standard_normal((3, 4)),
        rng.standard_normal((2, 2)), (2, 2), (5, 1), 1), grad=False),
    Row("Tensor.index_reduce_", lambda rng: (rng.standard_normal((3, 4)), 0, np.array([2, 2]),
        rng.standard_normal((2, 4)), "amax")),
    Row("Tensor.index_add_", with_index((3, 4), 0, I([2, 2]), source=(2, 4))),
    Row("Tensor.index_copy_", with_index((3, 4), 0, I([2]), source=(1, 4))),
    Row("Tensor.index_fill_", with_index((3, 4), 0, I([2]), 1.5)),
    Row("Tensor.masked_scatter_", with_index((2, 3), I(MASK, BOOL), source=(4,))),
]  # fmt: skip

BOUNDS = "is out of bounds for dimension"
ROW = I([[0]])

ERRORS = [
    error("scatter", (1, I([[0, 7]]), {(1, 2)}), RuntimeError, f"index 7 {BOUNDS}"),
    error("scatter", (1, I([[-1]]), 1.0), RuntimeError, f"index -1 {BOUNDS}", "negative"),
    error("scatter", (1, I([[0, 1]]), {(1, 1)}), RuntimeError, "no larger size than src", "src"),
    error("scatter", (1, ROW, I([[1]])), RuntimeError, "self.dtype to be equal to src", "dtype"),
    error("scatter", (1, I([[0]] * 3), 1.0), RuntimeError, r"no\s+larger than self", "size"),
    error("scatter", (1, ROW, 1.0), RuntimeError, "add or multiply", "reduce", reduce="foo"),
    error("scatter", (1, ROW, {(1,)}), IndexError, "same number of dimensions"),
    error("scatter_add", (1, ROW, I([[1]])), RuntimeError, "self.dtype to be equal to src"),
    error("scatter_reduce", (1, ROW, {(1, 1)}, "foo"), RuntimeError, "amax or amin, got foo"),
    error("index_add", (0, I([-1]), {(1, 3)}), RuntimeError, f"index -1 {BOUNDS}"),
    error("index_add", (0, I([0]), {(2, 3)}), RuntimeError, "should be equal to source", "rows"),
    error("index_add", (0, I([0]), I([[1, 1, 1]])), RuntimeError, "same scalar type", "dtype"),
    error("index_add", (0, I([0]), {(1, 4)}), RuntimeError, "shape must match self", "shape"),
    error("index_copy", (0, I([5]), {(1, 3)}), IndexError, f"index 5 {BOUNDS}"),
    error("index_copy", (0, I([0]), {(2, 3)}), IndexError, "should be equal to source", "rows"),
    error("index_copy", (0, I([0]), {(3,)}), IndexError, "dimensionality must match", "rank"),
    error("index_copy", (0, I([0]), I([[1, 1, 1]])), RuntimeError, "to have the same dtype"),
    error("index_copy", (0, I([0], np.int32), {(1, 3)}), RuntimeError, "Expected a long", "long"),
    error("index_copy", (0, I([0]), {(1, 4)}), RuntimeError, "same slice shapes", "shape"),
    error("index_fill", (1, I([4]), 7), IndexError, f"index 4 {BOUNDS}"),
    error("index_fill", (1, I([0], np.int32), 7), IndexError, "dtype int64 for index", "long"),
    error("index_fill", (1, I([0]), {(1,)}), RuntimeError, "0-dimensional value tensor"),
    error("index_fill", (1, I([0]), 7j), RuntimeError, "complex Scalar", "complex"),
    error("index_fill", (1, I([[0]]), 7), RuntimeError, "vector/scalar", "rank"),
    error("index_reduce", (0, I([0]), {(1, 3)}, "sum"), RuntimeError, "amin but got sum", "sum"),
    error("index_reduce", (0, I([7]), {(1, 3)}, "prod"), IndexError, "index out of range in self"),
    error("index_reduce", (0, I([0]), {(2, 3)}, "prod"), RuntimeError, "be equal to", "rows"),
    error("index_reduce", (0, I([[0]]), {(1, 3)}, "prod"), IndexError, "be a vector", "rank"),
    error("index_reduce", (0, I([0], np.int16), {(1, 3)}, "prod"), RuntimeError, "Short", "kind"),
    error("index_reduce", (0, I([0]), I([[1, 1, 1]]), "prod"), RuntimeError, "same scalar", "d"),
    error("index_reduce", (0, I([0]), {(1, 2)}, "prod"), RuntimeError, "shape must match", "s"),
    error("diagonal_scatter", ({(3,)},), RuntimeError, r"slice size = \[2\]"),
    error("diagonal_scatter", ({(2,)}, 0, 1, 1), RuntimeError, "cannot be identical", "dims"),
    error("as_strided_scatter", ({(3,)}, (2,), (2,)), RuntimeError, r"slice size = \[2\]"),
    error("as_strided_scatter", ({(2,)}, (2,), (20,)), RuntimeError, "out of bounds", "bounds"),
    error("as_strided_scatter", ({(2,)}, (2,), (0,)), RuntimeError, "more than one element", "o"),
    error("masked_scatter", (I(MASK, BOOL), {(2,)}), RuntimeError, "Number of elements of source"),
    error("masked_scatter", ({(2, 3)}, {(6,)}), RuntimeError, "only supports boolean", "mask"),
    error("masked_scatter", (I(MASK, BOOL), I([1] * 6)), RuntimeError, "same dtypes", "dtype"),
]
