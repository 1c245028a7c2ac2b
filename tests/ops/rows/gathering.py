"""Rows of `wengert.ops.gathering`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Rng, Row


def with_index(
    shape: tuple[int, ...], *rest: Any, source: tuple[int, ...] | None = None
) -> Callable[[Rng], tuple[Any, ...]]:
    """A normal array, further arguments (lists in sets of one become int64 arrays), a source."""

    def make(rng: Rng) -> tuple[Any, ...]:
        args = [np.asarray(rng.standard_normal(shape))]
        args += [as_index(a) for a in rest]
        if source is not None:
            args.append(np.asarray(rng.standard_normal(source)))
        return tuple(args)

    return make


class I:  # noqa: E742
    """An index array, made when the row is (rows are compared and hashed by pytest)."""

    def __init__(self, value: Any, dtype: Any = np.int64) -> None:
        self.value, self.dtype = value, dtype


def as_index(value: Any) -> Any:
    """The array that an `I` stands for."""
    if isinstance(value, I):
        return np.array(value.value, value.dtype)
    if isinstance(value, tuple | list):
        return type(value)(as_index(v) for v in value)
    return value


MASK = [[True, False, True], [False, False, True]]
BOOL = np.bool_

ROWS = [
    Row("gather", with_index((3, 4), 1, I([[0, 3], [1, 1]])), dtypes=("float32", "int64")),
    Row("gather", with_index((3, 4), 0, I([[2, 0, 1, 2]])), tag="rows"),
    Row("gather", with_index((3, 4), -1, I([[0], [2]], np.int32)), tag="int32"),
    Row("gather", with_index((), 0, I(0)), tag="0d"),
    Row("gather", with_index((3,), 0, I([])), tag="empty", grad=False),
    Row("index_select", with_index((3, 4), 1, I([0, 2, 2]))),
    Row("index_select", with_index((3, 4), 0, I(1)), tag="0d-index"),
    Row("index_select", with_index((3, 2, 4), -1, I([3, 1], np.int32)), tag="int32"),
    Row("index_select", with_index((), 0, I([0])), tag="0d"),
    Row("take", with_index((2, 3), I([[0, -1], [2, 2]]))),
    Row("take_along_dim", with_index((2, 3), I([[0], [-1]]), 1)),
    Row("take_along_dim", with_index((1, 3), I([[0], [1]]), 1), tag="broadcast"),
    Row("take_along_dim", with_index((2, 3), I([5, 0])), tag="flat"),
    Row("masked_select", with_index((2, 3), I(MASK, BOOL))),
    Row("masked_select", with_index((2, 3), I([True, False, True], BOOL)), tag="broadcast"),
    Row("masked_select", with_index((3,), I(MASK, BOOL)), tag="repeated"),
    Row("nonzero", lambda rng: (np.array(MASK),), grad=False, dtypes=()),
    Row("nonzero", lambda rng: (np.array(2.0),), tag="0d", grad=False),
    Row("nonzero", lambda rng: (np.array(MASK),), {"as_tuple": True}, "tuple", grad=False,
        dtypes=()),
    Row("argwhere", lambda rng: (np.array([[0, 2], [3, 0]]),), grad=False, dtypes=()),
    Row("index_put", with_index((3, 4), (I([0, 2]), I([1, 1])), source=(2,))),
    Row("index_put", with_index((3, 4), (I([0, 0]),), source=(4,)), {"accumulate": True},
        tag="accumulate"),
    Row("index_put", with_index((2, 3), (I(MASK, BOOL),), source=()), tag="mask"),
    Row("Tensor.index_put_", with_index((3, 4), (I([0, -1]),), source=(2, 4))),
    Row("put", with_index((2, 3), I([0, -1]), source=(2,))),
    Row("put", with_index((2, 3), I([0, 0]), source=(2,)), {"accumulate": True}, "accumulate"),
    Row("Tensor.put_", with_index((2, 3), I([1, 4]), source=(2,))),
]  # fmt: skip


def error(
    name: str,
    rest: tuple[Any, ...],
    kind: type[Exception],
    match: str,
    tag: str = "",
    shape: tuple[int, ...] = (2, 3),
    **kwargs: Any,
) -> ErrorRow:
    """A call with zeros of a shape and further arguments; shapes in sets stand for zeros."""

    def make(rng: Rng) -> tuple[Any, ...]:
        values = [np.zeros(next(iter(a))) if isinstance(a, set) else as_index(a) for a in rest]
        return np.zeros(shape), *values

    return ErrorRow(name, make, kind, match, kwargs, tag)


BOUNDS = "is out of bounds for dimension 1 with size 3"

ERRORS = [
    error("gather", (1, I([[0, 3]])), RuntimeError, f"index 3 {BOUNDS}"),
    error("gather", (1, I([[-1]])), RuntimeError, f"index -1 {BOUNDS}", "negative"),
    error("gather", (1, I([[1]], np.float64)), RuntimeError, "Expected dtype int32/int64", "kind"),
    error("gather", (1, I([1])), RuntimeError, "same number of dimensions", "rank"),
    error("gather", (1, I([[0]] * 3)), RuntimeError, "Size does not match at dimension 0", "size"),
    error("gather", (2, I([[0]])), IndexError, "Dimension out of range"),
    error("gather", (1, [[0]]), TypeError, "must be Tensor, not list"),
    error("index_select", (1, I([3])), RuntimeError, "out of DATA bounds, id=3"),
    error("index_select", (1, I([-1])), RuntimeError, "out of DATA bounds, id=-1", "negative"),
    error("index_select", (1, I([[0]])), IndexError, "supposed to be a vector"),
    error("index_select", (1, I([0], np.int16)), RuntimeError, "Expected dtype int32 or", "kind"),
    error("index_select", (0, I([0, 0])), RuntimeError, "can have only 1 value", "0d", ()),
    error("take", (I([6]),), IndexError, "tried to access index 6 on a tensor of 6 elements"),
    error("take", (I([0], np.int32),), RuntimeError, "Expected a long tensor for index"),
    error("take", (I([0]),), IndexError, "take from an empty tensor", "empty", (0,)),
    error("take_along_dim", (I([0]), 1), RuntimeError, "same number of dimensions"),
    error("take_along_dim", (I([[0]], np.int32), 1), RuntimeError, "should be Long", "kind"),
    error("masked_select", ({(2, 3)},), RuntimeError, "expected BoolTensor for mask"),
    error("masked_select", (I([True, False], BOOL),), RuntimeError, "must match the size", "size"),
    error("index_put", ((I([5]),), {()}), IndexError, "index 5 is out of bounds for dimension 0"),
    error("index_put", ((I([0]),), I(1)), RuntimeError, "source and destination dtypes match"),
    error("index_put", ((I([0]),), {(4,)}), RuntimeError, "shape mismatch: value tensor", "shape"),
    error("index_put", ((I([0]),) * 3, {()}), IndexError, "too many indices", "many"),
    error("index_put", (I([0]), {()}), TypeError, "must be tuple of Tensors, not Tensor"),
    error("index_put", ((None,), {()}), TypeError, "expected Tensor as element 0", "none"),
    error("index_put", ((I([0]),), 1.0), TypeError, "must be Tensor, not float", "value"),
    error("put", (I([7]), {(1,)}), IndexError, "tried to access index 7"),
    error("put", (I([0, 1]), {(1,)}), IndexError, "same number of elements", "size"),
    error("put", (I([0]), I([9])), RuntimeError, "expected to have the same dtype"),
]
