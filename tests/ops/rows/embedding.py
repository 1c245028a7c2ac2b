"""Rows of `wengert.ops.embedding`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row

F = "nn.functional."
INDEX = np.array([[1, 0, 3], [1, 1, 4]])
BAGS = np.array([0, 2, 2, 5])


def table(*args):
    return lambda rng: (args[0], rng.standard_normal((5, 3)), *args[1:])


def weighed(rng):
    return (INDEX, rng.standard_normal((5, 3)), None, None, 2.0, False, "sum", False,
            rng.standard_normal((2, 3)))  # fmt: skip


ROWS = [
    Row(F + "embedding", table(INDEX)),
    Row(F + "embedding", table(np.array(2, np.int32)), tag="scalar"),
    Row(F + "embedding", table(np.zeros((0, 2), int)), tag="nothing"),
    Row(F + "embedding_bag", table(INDEX)),
    Row(F + "embedding_bag", table(INDEX.ravel(), BAGS), {"mode": "sum"}, tag="offsets"),
    Row(F + "embedding_bag", table(INDEX.ravel(), BAGS), {"mode": "max"}, tag="max"),
    Row(F + "embedding_bag", table(INDEX.ravel(), BAGS), {"padding_idx": 1}, tag="padding"),
    Row(
        F + "embedding_bag",
        table(INDEX.ravel(), np.append(BAGS, 6)),
        {"include_last_offset": True, "mode": "sum"},
        tag="last",
    ),
    Row(F + "embedding_bag", weighed, tag="weights"),
    Row(F + "one_hot", lambda rng: (INDEX,), grad=False),
    Row(F + "one_hot", lambda rng: (INDEX, 7), grad=False, tag="classes"),
    Row(F + "one_hot", lambda rng: (np.zeros((2, 0), int), 3), grad=False, tag="nothing"),
]

ERRORS = [
    ErrorRow(F + "embedding", table(np.array([5])), IndexError, "index out of range in self"),
    ErrorRow(F + "embedding", table(np.array([-1])), IndexError, "out of range", tag="negative"),
    ErrorRow(F + "embedding", table(np.zeros(2)), RuntimeError, "Long, Int; but got Double"),
    ErrorRow(
        F + "embedding", lambda rng: (INDEX, np.zeros(3)), RuntimeError, "must be 2-D", tag="1d"
    ),
    ErrorRow(F + "embedding", table(INDEX), AssertionError, "Padding_idx", {"padding_idx": 5}),
    ErrorRow(F + "embedding", lambda rng: ([1, 2], np.zeros((5, 3))), TypeError, "indices"),
    ErrorRow(F + "embedding_bag", table(INDEX.ravel()), ValueError, "1D Tensor but got None"),
    ErrorRow(
        F + "embedding_bag", table(INDEX, BAGS), ValueError, "offsets has to be None", tag="2d"
    ),
    ErrorRow(
        F + "embedding_bag", table(INDEX.ravel(), np.array([1, 2])), RuntimeError, "has to be 0"
    ),
    ErrorRow(
        F + "embedding_bag",
        table(INDEX.ravel(), np.array([0, 9])),
        RuntimeError,
        "greater than input's length",
        tag="long",
    ),
    ErrorRow(
        F + "embedding_bag", table(INDEX), ValueError, "mode has to be", {"mode": "foo"}, tag="mode"
    ),
    ErrorRow(F + "one_hot", lambda rng: (INDEX, 3), RuntimeError, "smaller than num_classes"),
    ErrorRow(F + "one_hot", lambda rng: (-INDEX,), RuntimeError, "non-negative", tag="negative"),
    ErrorRow(F + "one_hot", lambda rng: (np.zeros(2),), RuntimeError, "LongTensor", tag="dtype"),
    ErrorRow(F + "one_hot", lambda rng: (np.zeros(0, int),), RuntimeError, "empty", tag="empty"),
]
