"""Rows of `wengert.ops.shape` and of the views in `wengert.ops.strided`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Rng, Row, inputs


def of(shape: tuple[int, ...], *rest: Any) -> Callable[[Rng], tuple[Any, ...]]:
    """One normal array and further arguments."""
    return lambda rng: (np.asarray(rng.standard_normal(shape)), *rest)


def transposed(shape: tuple[int, ...], *rest: Any) -> Callable[[Rng], tuple[Any, ...]]:
    """A normal matrix whose memory lies in column order, and further arguments."""
    return lambda rng: (rng.standard_normal(shape).T, *rest)


ROWS = [
    Row("reshape", of((2, 6), (3, -1)), dtypes=("float32", "int64", "complex64")),
    Row("reshape", transposed((2, 6), (3, 4)), tag="copies"),
    Row("reshape", of((), (1, 1)), tag="0d"),
    Row("reshape", of((0, 3), (3, 0)), tag="empty", grad=False),
    Row("Tensor.reshape", of((2, 6), 4, -1)),
    Row("Tensor.reshape", of((2, 6), [4, 3]), tag="list"),
    Row("Tensor.view", of((2, 6), -1)),
    Row("Tensor.view", of((2, 6), (3, 2, 2)), tag="tuple"),
    Row("Tensor.view", of((), ()), tag="0d"),
    Row("Tensor.view_as", inputs((2, 3), (3, 2))),
    Row("Tensor.reshape_as", inputs((2, 3), (3, 2))),
    Row("flatten", of((2, 3, 4))),
    Row("flatten", of((2, 3, 4), 1), tag="from"),
    Row("flatten", of((2, 3, 4), -3, -2), tag="to"),
    Row("flatten", of(()), tag="0d"),
    Row("ravel", of((2, 3))),
    Row("unflatten", of((2, 6), 1, (3, -1))),
    Row("unflatten", of((2, 6), -1, [2, 3]), tag="list"),
    Row("squeeze", of((1, 3, 1))),
    Row("squeeze", of((1, 3, 1), 0), tag="dim"),
    Row("squeeze", of((1, 3, 1), 1), tag="kept"),
    Row("squeeze", of((1, 3, 1), (0, -1)), tag="dims"),
    Row("squeeze", of((), 0), tag="0d"),
    Row("Tensor.squeeze", of((1, 3, 1), 0, 2)),
    Row("unsqueeze", of((2, 3), 1)),
    Row("unsqueeze", of((2, 3), -1), tag="last"),
    Row("unsqueeze", of((), 0), tag="0d"),
    Row("transpose", of((2, 3, 4), 0, -1)),
    Row("transpose", of((), 0, -1), tag="0d"),
    Row("swapaxes", of((2, 3, 4), 0, 1)),
    Row("swapdims", of((2, 3, 4), 0, 1)),
    Row("t", of((2, 3))),
    Row("t", of((3,)), tag="vector"),
    Row("permute", of((2, 3, 4), (2, 0, 1))),
    Row("permute", of((2, 3, 4), (-1, 0, 1)), tag="negative"),
    Row("Tensor.permute", of((2, 3, 4), 2, 0, 1)),
    Row("movedim", of((2, 3, 4), 0, 2)),
    Row("movedim", of((2, 3, 4), (0, 1), (-1, 0)), tag="several"),
    Row("moveaxis", of((2, 3, 4), 2, 0)),
    Row("adjoint", of((2, 3, 4))),
    Row("clone", of((2, 3)), dtypes=("float32", "bool", "int8")),
    Row("Tensor.contiguous", transposed((2, 3))),
    Row("atleast_1d", of(())),
    Row("atleast_1d", inputs((), (2,)), tag="several"),
    Row("atleast_2d", of((3,))),
    Row("atleast_2d", inputs((), (2,), (1, 2)), tag="several"),
    Row("atleast_3d", of((3,))),
    Row("atleast_3d", inputs((), (2, 3), (1, 2, 3)), tag="several"),
    Row("as_strided", of((3, 4), (2, 3), (4, 1))),
    Row("as_strided", of((3, 4), (2, 3), (4, 1), 1), tag="offset"),
    Row("as_strided", of((6,), (4, 3), (1, 1)), tag="overlapping"),
    Row("as_strided", of((6,), (3, 2), (0, 1)), tag="repeating"),
    Row("Tensor.as_strided", transposed((3, 4), (2, 3), (1, 4), 1), tag="columns"),
    Row("Tensor.unfold", of((2, 7), 1, 3, 2)),
    Row("Tensor.unfold", of((5, 2), 0, 2, 1), tag="overlapping"),
    Row("Tensor.unfold", of((5, 2), 0, 2, 4), tag="gaps"),
    Row("Tensor.unfold", of((2, 58), 1, 37, 16), tag="long, overlapping"),
    Row("Tensor.unfold", of((40, 2), 0, 3, 17), tag="long, gaps"),
    Row("Tensor.unfold", of((), 0, 1, 1), tag="0d"),
]


def error(name: str, args: Any, kind: type[Exception], match: str, tag: str = "") -> ErrorRow:
    """A call with float arrays of zeros where `args` has shapes in a set."""
    return ErrorRow(name, lambda rng: tuple(zeros(a) for a in args), kind, match, tag=tag)


def zeros(value: Any) -> Any:
    """``{(2, 3)}`` stands for zeros of that shape; other values stand for themselves."""
    return np.zeros(next(iter(value))) if isinstance(value, set) else value


M, V, S, C = {(2, 3)}, {(3,)}, {()}, {(1, 2, 3)}
OUT_OF_RANGE = "Dimension out of range"

ERRORS = [
    error("reshape", (M, (4, 2)), RuntimeError, r"shape '\[4, 2\]' is invalid for input of size 6"),
    error("reshape", (M, (-2, 3)), RuntimeError, "invalid shape dimension -2", "negative"),
    error("reshape", (M, (-1, -1)), RuntimeError, "only one dimension can be inferred", "two"),
    error("reshape", ({(0,)}, (0, -1)), RuntimeError, "is ambiguous", "empty"),
    error("Tensor.reshape", (M,), TypeError, "missing 1 required"),
    error("Tensor.view", (M, 5), RuntimeError, "is invalid for input of size 6"),
    error("flatten", (M, 1, 0), RuntimeError, "start_dim cannot come after end_dim"),
    error("flatten", (M, 0, 5), IndexError, OUT_OF_RANGE),
    error("unflatten", (M, 1, (2, 2)), RuntimeError, "don't multiply up to the size of dim 1"),
    error("unflatten", (M, 1, ()), RuntimeError, "sizes must be non-empty", "none"),
    error("squeeze", (M, 3), IndexError, OUT_OF_RANGE),
    error("squeeze", (C, (0, -3)), RuntimeError, "dim 0 appears multiple times"),
    error("unsqueeze", (M, np.zeros(2)), TypeError, "must be int", "a vector"),
    error("unsqueeze", (M, 4), IndexError, r"Dimension out of range .* \[-3, 2\], but got 4"),
    error("transpose", (M, 0, 3), IndexError, OUT_OF_RANGE),
    error("t", (C,), RuntimeError, r"t\(\) expects a tensor with <= 2 dimensions"),
    error("permute", (M, (0,)), RuntimeError, "number of dimensions in the tensor input"),
    error("permute", (M, (0, 0)), RuntimeError, "duplicate dims are not allowed", "twice"),
    error("permute", (M, (0, 2)), IndexError, OUT_OF_RANGE),
    error("movedim", (M, (0, 1), (1,)), RuntimeError, "Invalid source or destination dims"),
    error("movedim", (M, (0, 0), (1, 0)), RuntimeError, "repeated dim in `source`", "twice"),
    error("adjoint", (V,), RuntimeError, "only supported on matrices"),
    error("as_strided", (M, (3, 3), (2, 1), 1), RuntimeError, "out of bounds for storage"),
    error("as_strided", (M, (2, 2), (1,)), RuntimeError, "mismatch in length", "length"),
    error("as_strided", (M, (2,), (-1,)), RuntimeError, "Negative strides", "negative"),
    error("as_strided", (M, (2,), (1,), -1), RuntimeError, "invalid storage offset", "offset"),
    error("Tensor.unfold", (M, 1, 4, 1), RuntimeError, "maximum size for tensor at dimension 1"),
    error("Tensor.unfold", (M, 1, 2, 0), RuntimeError, "step is 0 but must be > 0", "step"),
    error("Tensor.unfold", (M, 1, -1, 1), RuntimeError, "size is -1 but must be >= 0", "size"),
    error("Tensor.unfold", (M, 2, 1, 1), IndexError, OUT_OF_RANGE),
]
