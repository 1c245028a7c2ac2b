"""Rows of `wengert.ops.normalization`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."


def batch(shape: tuple[int, ...], affine: bool = True):
    """Input without running statistics, and weight and bias."""

    def make(rng):
        n = shape[1]
        extra = (rng.standard_normal(n), rng.standard_normal(n)) if affine else ()
        return rng.standard_normal(shape), None, None, *extra

    return make


ROWS = [
    Row(F + "batch_norm", batch((4, 3, 2, 5)), {"training": True}),
    Row(F + "batch_norm", batch((6, 3)), {"training": True, "eps": 0.1}, tag="vectors"),
    Row(F + "batch_norm", batch((4, 3, 9), affine=False), {"training": True}, tag="plain"),
    Row(
        F + "layer_norm",
        lambda rng: (
            rng.standard_normal((4, 5, 6)),
            (6,),
            rng.standard_normal(6),
            rng.standard_normal(6),
        ),
    ),
    Row(F + "layer_norm", lambda rng: (rng.standard_normal((4, 9)), [9]), tag="plain"),
    Row(
        F + "layer_norm",
        lambda rng: (rng.standard_normal((2, 3, 4, 5)), (4, 5), rng.standard_normal((4, 5))),
        {"eps": 0.1},
        tag="two",
    ),
    Row(F + "layer_norm", lambda rng: (rng.standard_normal((0, 3)), (3,)), tag="empty"),
    Row(F + "rms_norm", lambda rng: (rng.standard_normal((4, 5, 9)), (9,), rng.standard_normal(9))),
    Row(
        F + "rms_norm",
        lambda rng: (rng.standard_normal((4, 5, 3)), (5, 3)),
        {"eps": 0.1},
        tag="plain",
    ),
    Row(
        F + "group_norm",
        lambda rng: (
            rng.standard_normal((2, 6, 3, 4)),
            3,
            rng.standard_normal(6),
            rng.standard_normal(6),
        ),
    ),
    Row(F + "group_norm", lambda rng: (rng.standard_normal((4, 6)), 2), tag="plain"),
    Row(
        F + "instance_norm",
        lambda rng: (
            rng.standard_normal((2, 3, 4, 5)),
            None,
            None,
            rng.standard_normal(3),
            rng.standard_normal(3),
        ),
    ),
    Row(F + "instance_norm", inputs((2, 3, 7)), tag="plain"),
    Row(F + "local_response_norm", inputs((2, 5, 3)), {"size": 3, "alpha": 0.5}),
    Row(
        F + "local_response_norm",
        inputs((2, 5, 3, 2)),
        {"size": 2, "alpha": 0.5, "k": 2.0},
        tag="even",
    ),
    Row(F + "normalize", inputs((3, 4))),
    Row(F + "normalize", inputs((3, 4, 2)), {"p": 3.0, "dim": -1}, tag="cubic"),
]


def of(shape: tuple[int, ...], *args):
    return lambda rng: (np.zeros(shape), *args)


def single(n: int) -> np.ndarray:
    return np.zeros(n, np.float32)


ERRORS = [
    ErrorRow(
        F + "batch_norm", of((2, 3), None, None), RuntimeError, "running_mean must be defined"
    ),
    ErrorRow(
        F + "batch_norm",
        of((2, 3), np.zeros(4), np.zeros(3)),
        RuntimeError,
        "running_mean should contain 3 elements not 4",
        tag="mean",
    ),
    ErrorRow(
        F + "batch_norm",
        of((2, 3), np.zeros(3), np.zeros(3), np.zeros(4)),
        RuntimeError,
        "weight should contain 3 elements not 4",
        tag="weight",
    ),
    ErrorRow(
        F + "batch_norm",
        of((1, 3), np.zeros(3), np.zeros(3)),
        ValueError,
        "Expected more than 1 value per channel",
        {"training": True},
    ),
    ErrorRow(
        F + "batch_norm",
        of((2, 3), np.zeros(3), None),
        ValueError,
        "both be None",
        {"training": True},
        tag="half",
    ),
    ErrorRow(
        F + "batch_norm", of((2, 3), single(3), single(3)), RuntimeError, "mixed dtype", tag="dtype"
    ),
    ErrorRow(
        F + "layer_norm", of((2, 3), (4,)), RuntimeError, r"expected input with shape \[\*, 4\]"
    ),
    ErrorRow(
        F + "layer_norm",
        of((2, 3), (3,), np.zeros(4)),
        RuntimeError,
        "weight to be of same",
        tag="weight",
    ),
    ErrorRow(F + "layer_norm", of((2, 3), ()), RuntimeError, "at least 1-dimensional", tag="none"),
    ErrorRow(F + "layer_norm", of((2, 3), 3), TypeError, "normalized_shape"),
    ErrorRow(
        F + "layer_norm", of((2, 3), (3,), single(3)), RuntimeError, "mixed dtype", tag="dtype"
    ),
    ErrorRow(
        F + "layer_norm", lambda rng: (np.zeros((2, 3), int), (3,)), NotImplementedError, "Long"
    ),
    ErrorRow(F + "rms_norm", of((2, 3), (4,)), RuntimeError, "expected input with shape"),
    ErrorRow(F + "rms_norm", of((3,), (2, 3)), ValueError, "at least 2 dimensions", tag="rank"),
    ErrorRow(F + "group_norm", of((2, 3), 2), RuntimeError, "divisible by num_groups"),
    ErrorRow(F + "group_norm", of((2, 3), -1), RuntimeError, "greater than 0", tag="none"),
    ErrorRow(
        F + "group_norm", of((2, 4), 2, np.zeros(3)), RuntimeError, "vector of size", tag="weight"
    ),
    ErrorRow(F + "group_norm", of((4,), 2), RuntimeError, "at least 2 dimensions", tag="rank"),
    ErrorRow(F + "group_norm", of((1, 2), 2), ValueError, "more than 1 value"),
    ErrorRow(F + "group_norm", of((2, 4), 0), ZeroDivisionError, "zero"),
    ErrorRow(F + "instance_norm", of((2, 3, 1)), ValueError, "more than 1 spatial element"),
    ErrorRow(
        F + "instance_norm",
        of((2, 3, 2)),
        RuntimeError,
        "use_input_stats is false",
        {"use_input_stats": False},
    ),
    ErrorRow(F + "local_response_norm", of((2, 3), 2), ValueError, "3D or higher"),
    ErrorRow(F + "normalize", of((2, 3)), IndexError, "out of range", {"dim": 5}),
]
