"""Rows of `wengert.ops.ctc`. PyTorch's derivative is that of a log_softmax before, so inputs are
normalised here, and derivatives are compared in tests/ops/test_functional.py."""

import numpy as np

from tests.ops.rows import ErrorRow, Row

NAME = "nn.functional.ctc_loss"
LABELS = np.array([[1, 2, 2], [3, 1, 0]])


def lengths(*values: int) -> np.ndarray:
    return np.array(values)


TIMES, SIZES = lengths(6, 5), lengths(3, 2)


def call(targets=LABELS, times=TIMES, sizes=SIZES, batch: bool = True):
    def make(rng):
        x = rng.standard_normal((6, 2, 4))
        x -= np.log(np.exp(x).sum(2, keepdims=True))
        return x if batch else x[:, 0], targets, times, sizes

    return make


ROWS = [
    *[Row(NAME, call(), {"reduction": r}, tag=r, grad=False) for r in ("none", "sum", "mean")],
    Row(NAME, call(np.array([1, 2, 2, 3, 1])), tag="row", grad=False),
    Row(
        NAME,
        call(np.array([1, 0, 2]), lengths(6), lengths(3), batch=False),
        {"blank": 3},
        tag="single",
        grad=False,
    ),
    Row(NAME, call(sizes=lengths(3, 0)), {"reduction": "none"}, tag="empty", grad=False),
    Row(
        NAME,
        call(times=lengths(6, 0), sizes=lengths(3, 0)),
        {"reduction": "none"},
        tag="nothing",
        grad=False,
    ),
    Row(NAME, call(times=lengths(3, 3)), {"reduction": "none"}, tag="impossible", grad=False),
    Row(NAME, call(times=lengths(3, 3)), {"zero_infinity": True}, tag="zero", grad=False),
]

ERRORS = [
    ErrorRow(NAME, call(), RuntimeError, "blank must be in label range", {"blank": 4}),
    ErrorRow(NAME, call(times=lengths(6, 7)), RuntimeError, "at most 6, but got value 7"),
    ErrorRow(NAME, call(times=lengths(6, -1)), RuntimeError, "at least 0", tag="negative"),
    ErrorRow(NAME, call(times=lengths(6)), RuntimeError, "batch_size", tag="batch"),
    ErrorRow(NAME, call(times=np.array([6.0, 6.0])), RuntimeError, "integral", tag="dtype"),
    ErrorRow(NAME, call(sizes=lengths(3, 4)), RuntimeError, "at least 4", tag="targets"),
    ErrorRow(NAME, call(np.array([1, 2])), RuntimeError, "to have size 5", tag="row"),
    ErrorRow(NAME, call(), ValueError, "not a valid value", {"reduction": "foo"}),
]
