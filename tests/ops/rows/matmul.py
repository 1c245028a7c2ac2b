"""Rows of `wengert.ops.matmul`."""

from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Rng, Row, inputs

DTYPES = ("float32", "float16", "bfloat16", "int64", "complex64")


def complexes(*shapes: tuple[int, ...]) -> Any:
    return lambda rng: tuple(rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in shapes)


def transposed(*shapes: tuple[int, ...]) -> Any:
    """A maker of non-contiguous arrays of these shapes."""
    return lambda rng: tuple(rng.standard_normal(s[::-1]).T for s in shapes)


def scalar_first(*shapes: tuple[int, ...]) -> Any:
    return lambda rng: tuple(np.asarray(rng.standard_normal(s)) for s in shapes)


PRODUCTS = [
    Row("matmul", inputs(a, b), tag=f"{len(a)}x{len(b)}-{k}", dtypes=DTYPES)
    for k, (a, b) in enumerate(
        [
            ((2, 3), (3, 4)),
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 4)),
            ((5, 2, 3), (5, 3, 4)),
            ((5, 2, 3), (3, 4)),
            ((2, 3), (5, 3, 4)),
            ((5, 2, 3), (3,)),
            ((3,), (5, 3, 4)),
            ((2, 1, 2, 3), (5, 3, 4)),
            ((1, 2, 3), (4, 3, 2)),
            ((6, 1, 2, 3), (3,)),
        ]
    )
] + [
    Row("matmul", transposed((2, 3), (3, 4)), tag="strided"),
    Row("matmul", transposed((4, 2, 3), (4, 3, 5)), tag="strided-batch"),
    Row("matmul", inputs((0, 3), (3, 4)), tag="empty", second=False),
    Row("matmul", inputs((2, 0), (0, 4)), tag="empty-sum", second=False),
    Row("matmul", inputs((0, 2, 3), (3, 4)), tag="empty-batch", second=False),
    Row("matmul", complexes((2, 3), (3, 4)), tag="complex", second=False, dtypes=()),
    Row("matmul", complexes((3,), (2, 3, 4)), tag="complex-batch", second=False, dtypes=()),
    Row("Tensor.matmul", inputs((2, 3), (3, 2))),
    Row("Tensor.__matmul__", inputs((2, 3), (3, 2))),
    Row("mm", inputs((2, 3), (3, 4)), dtypes=DTYPES),
    Row("mm", complexes((2, 3), (3, 4)), tag="complex", second=False, dtypes=()),
    Row("bmm", inputs((5, 2, 3), (5, 3, 4)), dtypes=DTYPES),
    Row("mv", inputs((2, 3), (3,)), dtypes=DTYPES),
    Row("dot", inputs((3,), (3,)), dtypes=DTYPES),
    Row("dot", inputs((0,), (0,)), tag="empty", second=False),
    Row("vdot", inputs((3,), (3,))),
    Row("vdot", complexes((3,), (3,)), tag="complex", second=False, dtypes=()),
    Row("inner", inputs((2, 3), (4, 3))),
    Row("inner", inputs((3,), (2, 4, 3)), tag="vector"),
    Row("inner", scalar_first((), (2, 3)), tag="scalar"),
    Row("outer", inputs((2,), (3,)), dtypes=DTYPES),
    Row("outer", complexes((2,), (3,)), tag="complex", second=False, dtypes=()),
    Row("ger", inputs((2,), (3,))),
]

SUMMED = [
    Row("addmm", inputs((2, 4), (2, 3), (3, 4)), dtypes=DTYPES),
    Row("addmm", inputs((4,), (2, 3), (3, 4)), {"beta": 0.5, "alpha": 2}, "scaled"),
    Row("addmm", inputs((2, 1), (2, 3), (3, 4)), tag="column"),
    Row("addmm", inputs((), (2, 3), (3, 4)), tag="scalar"),
    Row("addmm", lambda rng: (np.full(4, np.nan), *inputs((2, 3), (3, 4))(rng)), {"beta": 0},
        "without", grad=False),
    Row("addmm", lambda rng: tuple(rng.integers(0, 5, s) for s in ((2, 2), (2, 3), (3, 2))),
        {"beta": 2.5, "alpha": 1.7}, "int", grad=False),
    Row("addmv", inputs((2,), (2, 3), (3,))),
    Row("addmv", inputs((), (2, 3), (3,)), {"beta": 3, "alpha": 0.5}, "scaled"),
    Row("addr", inputs((2, 3), (2,), (3,))),
    Row("addr", inputs((3,), (2,), (3,)), {"beta": 3, "alpha": 0.5}, "scaled"),
    Row("baddbmm", inputs((5, 2, 4), (5, 2, 3), (5, 3, 4)), dtypes=DTYPES),
    Row("baddbmm", inputs((1, 4), (5, 2, 3), (5, 3, 4)), {"beta": 3, "alpha": 0.5}, "scaled"),
    Row("addbmm", inputs((2, 4), (5, 2, 3), (5, 3, 4))),
    Row("addbmm", inputs((4,), (5, 2, 3), (5, 3, 4)), {"beta": 3, "alpha": 0.5}, "scaled"),
    Row("Tensor.addmm_", inputs((2, 4), (2, 3), (3, 4))),
    Row("Tensor.addmv_", inputs((2,), (2, 3), (3,))),
    Row("Tensor.addr_", inputs((2, 3), (2,), (3,))),
    Row("Tensor.baddbmm_", inputs((5, 2, 4), (5, 2, 3), (5, 3, 4))),
    Row("Tensor.addbmm_", inputs((2, 4), (5, 2, 3), (5, 3, 4))),
]  # fmt: skip


def pairs(rng: Rng) -> tuple[Any, ...]:
    return rng.standard_normal((2, 3, 4)), rng.standard_normal((4, 5, 3)), ([1, 2], [2, 0])


OTHERS = [
    Row("tensordot", inputs((2, 3, 4), (3, 4, 5))),
    Row("tensordot", inputs((2, 3), (3, 4)), {"dims": 1}, "one"),
    Row("tensordot", inputs((2,), (3,)), {"dims": 0}, "none"),
    Row("tensordot", pairs, tag="pairs", dtypes=("float32", "int64")),
    Row("tensordot", inputs((2, 3), (1, 4)), {"dims": ([1], [0])}, "broadcast"),
    Row("kron", inputs((2, 3), (3, 2))),
    Row("kron", inputs((2,), (3, 2)), tag="ranks"),
    Row("cross", inputs((2, 3), (2, 3)), {"dim": 1}, dtypes=("float32", "int64")),
    Row("cross", inputs((3, 4), (3, 1)), {"dim": 0}, "broadcast"),
    Row("trace", inputs((3, 3)), dtypes=("float32", "int64", "int32")),
    Row("trace", inputs((2, 3)), tag="wide"),
]

ROWS = [*PRODUCTS, *SUMMED, *OTHERS]


def zeros(*shapes: tuple[int, ...]) -> Any:
    return lambda rng: tuple(np.zeros(s) for s in shapes)


def single(*shapes: tuple[int, ...]) -> Any:
    """The first in float64, the others in float32."""
    return lambda rng: (np.zeros(shapes[0]), *(np.zeros(s, np.float32) for s in shapes[1:]))


CANNOT = "mat1 and mat2 shapes cannot be multiplied"
ERRORS = [
    ErrorRow("matmul", zeros((2, 3), (4, 5)), RuntimeError, CANNOT + r" \(2x3 and 4x5\)"),
    ErrorRow("matmul", zeros((2, 3), (4,)), RuntimeError, "size mismatch", tag="vector"),
    ErrorRow("matmul", zeros((3,), (4,)), RuntimeError, "inconsistent tensor size", tag="dot"),
    ErrorRow("matmul", zeros((2, 3), ()), RuntimeError, "at least 1D", tag="scalar"),
    ErrorRow("matmul", zeros((2, 2, 3), (5, 3, 3)), RuntimeError, "must match the size",
             tag="batch"),
    ErrorRow("matmul", single((2, 3), (3, 4)), RuntimeError,
             "expected m1 and m2 to have the same dtype, but got: double != float", tag="dtype"),
    ErrorRow("matmul", lambda rng: (np.ones((2, 2)), 2.0), TypeError, "must be Tensor",
             tag="number"),
    ErrorRow("matmul", lambda rng: (np.ones((2, 2)) > 0,) * 2, NotImplementedError, "Bool"),
    ErrorRow("mm", zeros((2, 3), (4, 5)), RuntimeError, CANNOT),
    ErrorRow("mm", zeros((2, 3), (3,)), RuntimeError, "mat2 must be a matrix", tag="vector"),
    ErrorRow("mm", single((2, 3), (3, 2)), RuntimeError, "same dtype", tag="dtype"),
    ErrorRow("bmm", zeros((2, 3, 4), (3, 4, 5)), RuntimeError, "batch2"),
    ErrorRow("bmm", zeros((2, 3, 4), (4, 5)), RuntimeError, "3D", tag="rank"),
    ErrorRow("mv", zeros((2, 3), (4,)), RuntimeError, "size mismatch"),
    ErrorRow("mv", zeros((3,), (3,)), RuntimeError, "2-D", tag="rank"),
    ErrorRow("dot", zeros((3,), (4,)), RuntimeError, "inconsistent tensor size"),
    ErrorRow("dot", zeros((2, 3), (3,)), RuntimeError, "1D tensors expected", tag="rank"),
    ErrorRow("dot", single((3,), (3,)), RuntimeError, "same dtype", tag="dtype"),
    ErrorRow("inner", zeros((2, 3), (4, 5)), RuntimeError, "last dimension must match"),
    ErrorRow("outer", zeros((2, 3), (3,)), RuntimeError, "1-D"),
    ErrorRow("addmm", zeros((3,), (2, 3), (2, 3)), RuntimeError, CANNOT),
    ErrorRow("addmm", zeros((2, 2), (2, 3), (3, 3)), RuntimeError, "must match", tag="input"),
    ErrorRow("addmm", single((3,), (2, 3), (3, 3)), RuntimeError, "same dtype", tag="dtype"),
    ErrorRow("addmv", zeros((3,), (2, 3), (3,)), RuntimeError, "size mismatch"),
    ErrorRow("addr", zeros((2, 3), (3,), (3,)), RuntimeError, "must match"),
    ErrorRow("baddbmm", zeros((3, 3), (2, 2, 3), (2, 3, 2)), RuntimeError, "must match"),
    ErrorRow("addbmm", zeros((3, 3), (3, 3), (3, 3)), IndexError, "3-D"),
    ErrorRow("tensordot", zeros((2, 3), (4, 5)), RuntimeError, "need to match", {"dims": 1}),
    ErrorRow("tensordot", zeros((2, 3), (2, 3)), RuntimeError, "same length",
             {"dims": ([0], [0, 1])}, "lists"),
    ErrorRow("tensordot", zeros((2, 3), (2, 3)), RuntimeError, "dims >= 0", {"dims": -1}, "count"),
    ErrorRow("cross", zeros((4, 5), (4, 5)), RuntimeError, "no dimension of size 3"),
    ErrorRow("cross", zeros((2, 3), (2, 3)), RuntimeError, "length 3", {"dim": 0}, "dim"),
    ErrorRow("trace", zeros((3,)), RuntimeError, "expected a matrix"),
]  # fmt: skip
