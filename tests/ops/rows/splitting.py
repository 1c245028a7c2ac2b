"""Rows of `wengert.ops.splitting`."""

import numpy as np

from tests.ops.rows import Row
from tests.ops.rows.shape import OUT_OF_RANGE, M, S, V, error, of

ROWS = [
    *(
        Row(n, lambda rng, a=a: (rng.standard_normal((5, 2)), a))
        for n, a in (("unsafe_chunk", 2), ("unsafe_split", 2), ("unsafe_split_with_sizes", [2, 3]))
    ),
    Row("select", of((2, 3), 1, -1)),
    Row("select", of((3,), 0, 1), tag="vector"),
    Row("narrow", of((2, 5), 1, 1, 3)),
    Row("narrow", of((2, 5), -1, -2, 2), tag="negative"),
    Row("narrow", lambda rng: (rng.standard_normal(4), 0, np.array(1), 2), tag="tensor"),
    Row("split", of((5, 2), 2)),
    Row("split", of((5, 2), 9), tag="one"),
    Row("split", of((2, 5), [1, 0, 4], 1), tag="sizes"),
    Row("split", of((0, 2), 0), tag="empty", grad=False),
    Row("split_with_sizes", of((2, 5), [2, 3], -1)),
    Row("chunk", of((7,), 4)),
    Row("chunk", of((2, 6), 3, 1), tag="dim"),
    Row("chunk", of((0, 2), 3), tag="empty", grad=False),
    Row("tensor_split", of((7,), 3)),
    Row("tensor_split", of((7,), (1, 3, 9)), tag="indices"),
    Row("tensor_split", of((7,), (-3, 2)), tag="crossing"),
    Row("tensor_split", lambda rng: (rng.standard_normal(7), np.array([1, 3])), tag="tensor"),
    Row("hsplit", of((2, 4), 2)),
    Row("hsplit", of((4,), (1, 3)), tag="vector"),
    Row("vsplit", of((4, 2), 2)),
    Row("dsplit", of((1, 2, 4), (1,))),
    Row("unbind", of((3, 2))),
    Row("unbind", of((3, 2, 2), -1), tag="last"),
    Row("unbind", of((3,)), tag="vector"),
    Row("select_scatter", lambda rng: (rng.standard_normal((2, 3)), rng.standard_normal(2), 1, 0)),
    Row(
        "slice_scatter",
        lambda rng: (rng.standard_normal((2, 5)), rng.standard_normal((2, 2)), 1, 1, 4, 2),
    ),
]

WRONG = RuntimeError

ERRORS = [
    error("select", (M, np.zeros(2), 0), TypeError, "must be int", "a vector"),
    error("select", (M, np.array(0.0), 0), TypeError, "must be int", "a float"),
    error("select", (M, 0, 2), IndexError, "index 2 out of range for tensor of size"),
    error("select", (S, 0, 0), IndexError, "cannot be applied to a 0-dim tensor", "0d"),
    error("narrow", (M, 1, 2, 3), WRONG, r"start \(2\) \+ length \(3\) exceeds dimension size"),
    error("narrow", (M, 1, 0, -1), WRONG, "length must be non-negative", "length"),
    error("narrow", (M, 1, 5, 0), IndexError, "start out of range"),
    error("narrow", (S, 0, 0, 1), WRONG, "cannot be applied to a 0-dim tensor", "0d"),
    error("split", (M, 0), WRONG, "split_size can only be 0"),
    error("split", (M, -1), WRONG, "split_size be non-negative", "negative"),
    error("split", (S, 1), WRONG, "at least a 1-dimensional tensor", "0d"),
    error("split", (M, [1, 1], 1), WRONG, "sum exactly to 3", "sum"),
    error("split", (M, [-1, 4], 1), WRONG, "only non-negative entries", "entries"),
    error("split", (M, 1.5), TypeError, "must be tuple of ints, not float"),
    error("split", (M, 1, 2), IndexError, OUT_OF_RANGE),
    error("chunk", (M, 0), WRONG, "greater than 0, got: 0"),
    error("chunk", (S, 1), WRONG, "at least a 1-dimensional tensor", "0d"),
    error("tensor_split", (M, 0), WRONG, "larger than 0, got 0"),
    error("hsplit", (M, 2), WRONG, "not divisible by the split_size 2"),
    error("hsplit", (S, 1), WRONG, "at least 1 dimension", "0d"),
    error("vsplit", (V, 1), WRONG, "at least 2 dimension"),
    error("dsplit", (M, 1), WRONG, "at least 3 dimension"),
    error("unbind", (S,), IndexError, "tensor has no dimensions"),
    error("select_scatter", (M, V, 1, 0), WRONG, "src to have a size equal to the slice"),
    error("slice_scatter", (M, V, 0, 0, 1), WRONG, "src to have a size equal to the slice"),
]
