"""Rows of `wengert.ops.expansion`."""

import numpy as np

from tests.ops.rows import Row, inputs
from tests.ops.rows.shape import OUT_OF_RANGE, M, S, V, error, of

INDEXING = {"indexing": "xy"}

ROWS = [
    Row("Tensor.expand", of((2, 1), 3, 2, 4), dtypes=("float32", "int64")),
    Row("Tensor.expand", of((2, 1), -1, 4), tag="kept"),
    Row("Tensor.expand", of((2, 3), (1, 2, 3)), tag="nothing"),
    Row("Tensor.expand", of((), 2), tag="0d"),
    Row("Tensor.expand_as", inputs((1, 3), (2, 3))),
    Row("broadcast_to", of((3,), (2, 3))),
    Row("broadcast_shapes", lambda rng: ((2, 1), (3,), 1), grad=False, dtypes=()),
    Row("broadcast_tensors", inputs((2, 1), (3,), ())),
    Row("Tensor.repeat", of((2, 3), 2, 1, 3)),
    Row("Tensor.repeat", of((2,), 0), tag="none", grad=False),
    Row("Tensor.repeat", of((), 2, 2), tag="0d"),
    Row("tile", of((2, 3), (2,))),
    Row("tile", of((2, 3), (2, 1, 2)), tag="more"),
    Row("Tensor.tile", of((2, 3), 2, 2)),
    Row("repeat_interleave", of((2, 3), 2)),
    Row("repeat_interleave", of((2, 3), 2, 1), tag="dim"),
    Row("repeat_interleave", lambda rng: (rng.standard_normal((3, 2)), np.array([2, 0, 1]), 0),
        tag="each"),
    Row("repeat_interleave", lambda rng: (np.array([2, 0, 1]),), tag="counts", grad=False,
        dtypes=()),
    Row("flip", of((2, 3), (0, 1))),
    Row("flip", of((2, 3), (-1,)), tag="last"),
    Row("Tensor.flip", of((2, 3), 0)),
    Row("fliplr", of((2, 3))),
    Row("flipud", of((3,))),
    Row("roll", of((2, 3), 1)),
    Row("roll", of((), 1), tag="number"),
    Row("roll", of((2, 3), (1, -2), (0, 1)), tag="dims"),
    Row("roll", of((2, 3), (1, 2), (0, 0)), tag="twice"),
    Row("rot90", of((2, 3))),
    Row("rot90", of((2, 3, 2), 2, (1, 2)), tag="half"),
    Row("rot90", of((2, 3), -1, (0, 1)), tag="back"),
    Row("rot90", of((2, 3), 4), tag="full"),
    Row("meshgrid", inputs((2,), (3,), ()), {"indexing": "ij"}),
    Row("meshgrid", inputs((2,), (3,), (4,)), INDEXING, tag="xy"),
    Row("meshgrid", inputs((2,)), INDEXING, tag="one"),
    Row("cartesian_prod", inputs((2,))),
    Row("combinations", of((4,))),
    Row("combinations", of((3,), 2, True), tag="replacement"),
    Row("combinations", of((2,), 3), tag="none", grad=False),
]  # fmt: skip

FULL = RuntimeError

ERRORS = [
    error("Tensor.expand", (M, 3, 3), FULL, r"expanded size of the tensor \(3\) must match"),
    error("Tensor.expand", (M, 3), FULL, r"number of sizes provided \(1\)", "few"),
    error("Tensor.expand", (M, -1, 2, 3), FULL, "isn't allowed in a leading", "lead"),
    error("Tensor.expand", (M, -2, 3), FULL, r"expanded size of the tensor \(-2\)", "negative"),
    error("broadcast_shapes", ((2, 3), (4,)), FULL, "broadcast a dimension of length 4"),
    error("broadcast_tensors", (M, {(4,)}), FULL, "must match the size"),
    error("Tensor.repeat", (M, 2), FULL, "can not be smaller than number of dimensions"),
    error("Tensor.repeat", (M, -1, 2), FULL, "negative dimension -2", "negative"),
    error("Tensor.repeat", (M,), TypeError, "missing 1 required"),
    error("repeat_interleave", (M, -1), FULL, "repeats can not be negative"),
    error("repeat_interleave", (M, np.array([1, 2, 3]), 0), FULL, "must have the same size", "n"),
    error("repeat_interleave", (V, V, 0), NotImplementedError, "not implemented"),
    error("flip", (M, (0, 0)), FULL, "dim 0 appears multiple times"),
    error("flip", (M, (3,)), IndexError, OUT_OF_RANGE),
    error("fliplr", (V,), FULL, "Input must be >= 2-d"),
    error("flipud", (S,), FULL, "Input must be >= 1-d"),
    error("roll", (M, (1, 2)), FULL, "shifts and dimensions must align"),
    error("roll", (M, 1, 5), IndexError, OUT_OF_RANGE),
    error("roll", (M, (), ()), FULL, "shifts` required"),
    error("rot90", (M, 1, [0, 0]), FULL, "rotation dims to be different"),
    error("rot90", (M, 1, [0]), FULL, "total rotation dims == 2", "one"),
    error("rot90", (V,), FULL, "total dims >= 2", "vector"),
    error("rot90", (M, 1, [0, 5]), IndexError, OUT_OF_RANGE),
    error("meshgrid", (), FULL, "non-empty TensorList", "none"),
    error("cartesian_prod", (M,), FULL, "Expect a 1D vector"),
    error("combinations", (M,), FULL, "Expect a 1D vector"),
]
