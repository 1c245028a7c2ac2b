"""Rows of `wengert.ops.reduction`, with extrema and statistics."""

from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Rng, Row, inputs

FLOATS = ("float32", "float16", "bfloat16")
NUMBERS = (*FLOATS, "int64", "int32")
NAN, INF = float("nan"), float("inf")


def transposed(*shape: int) -> Any:
    """A maker of a non-contiguous array of this shape."""
    return lambda rng: (rng.standard_normal(shape[::-1]).T,)


def complexes(*shape: int) -> Any:
    return lambda rng: (rng.standard_normal(shape) + 1j * rng.standard_normal(shape),)


def with_zeros(rng: Rng) -> tuple[np.ndarray]:
    x = rng.standard_normal((4, 3))
    x[1, 0] = x[2, 1] = x[3, 1] = 0
    return (x,)


def ints(*shape: int) -> Any:
    return lambda rng: (rng.integers(-3, 5, shape),)


def bools(*shape: int) -> Any:
    return lambda rng: (rng.integers(0, 2, shape).astype(bool),)


def holes(rng: Rng) -> tuple[np.ndarray]:
    x = rng.standard_normal((3, 4))
    x[0, 1] = x[2, 3] = NAN
    return (x,)


def ties(rng: Rng) -> tuple[np.ndarray]:
    return (np.array([[3.0, 1.0, 3.0], [1.0, 3.0, 2.0]]),)


def also(*values: Any) -> Any:
    """A maker of one 3x4 array and further positional arguments."""
    return lambda rng: (rng.standard_normal((3, 4)), *values)


SUMS = [
    row
    for name in ("sum", "mean", "nansum", "nanmean")
    for row in (
        Row(name, inputs((3, 4)), dtypes=FLOATS),
        Row(name, inputs((3, 4, 2)), {"dim": 1}, "dim", dtypes=FLOATS),
        Row(name, inputs((3, 4, 2)), {"dim": (0, -1), "keepdim": True}, "dims"),
        Row(name, inputs((3, 4)), {"dim": ()}, "no-dims"),
        Row(name, transposed(3, 4), {"dim": -1}, "strided"),
        Row(name, inputs((0, 3)), {"dim": 1}, "empty", second=False),
        Row(name, inputs(()), {"dim": 0}, "scalar"),
        Row(f"Tensor.{name}", also(0, True), tag="method"),
    )
]

PRODUCTS = [
    Row("prod", inputs((2, 3), low=0.5, high=2), dtypes=("float32", "int64")),
    Row("prod", inputs((2, 3, 2)), {"dim": 1}, "dim"),
    Row("prod", inputs((2, 3)), {"dim": -1, "keepdim": True}, "keepdim"),
    Row("prod", with_zeros, {"dim": 0}, "zeros"),
    Row("prod", with_zeros, tag="all-zeros"),
    Row("prod", inputs(()), tag="scalar"),
    Row("prod", inputs((0,)), tag="empty", second=False),
    Row("prod", bools(2, 3), {"dim": 0}, "bool", grad=False),
    Row("prod", ints(2, 3), {"dtype": "torch.float64"}, "dtype", grad=False),
    Row("prod", complexes(2, 3), {"dim": 0}, "complex", second=False, dtypes=()),
]

SPREADS = [
    row
    for name in ("var", "std", "var_mean", "std_mean")
    for row in (
        Row(name, inputs((3, 4)), dtypes=("float32", "float16")),
        Row(name, also(1), tag="dim"),
        Row(name, also(True), tag="unbiased", rtol=1e-9),
        Row(name, also(0, False, True), tag="biased"),
        Row(name, inputs((3, 4, 2)), {"dim": (0, 2), "correction": 0}, "correction"),
        Row(name, transposed(3, 4), {"dim": 0, "keepdim": True}, "strided"),
    )
] + [
    Row("var", complexes(3, 4), {"dim": 0}, "complex", second=False, dtypes=()),
    Row("std", lambda rng: (np.ones((2, 3)),), tag="constant", second=False, dtypes=()),
    Row("std_mean", inputs((5,)), {"dim": 0}, "vector"),
]

NORMS = [
    row
    for p in (1, 2, 3, 1.5, 0.5, -1, INF, -INF)
    for row in (
        Row("norm", also(p), tag=f"{p}", dtypes=("float32",)),
        Row("norm", also(p, 1, True), tag=f"{p}-dim"),
    )
] + [
    Row("norm", inputs((3, 4)), dtypes=FLOATS),
    Row("norm", inputs((2, 3, 4)), {"dim": (0, 2)}, "dims"),
    Row("norm", also(0), tag="0", grad=False),
    Row("norm", transposed(3, 4), tag="strided"),
    Row("norm", inputs((0,)), tag="empty", second=False),
    Row("norm", complexes(3, 2), {"dim": 0}, "complex", second=False, dtypes=("complex64",)),
    Row(
        "norm",
        lambda rng: (rng.standard_normal(3).astype(np.float32),),
        {"dtype": "torch.float64"},
        "dtype",
        grad=False,
    ),
    Row("Tensor.norm", also(2, 0), tag="method"),
    Row("dist", inputs((3, 4), (4,))),
    Row("dist", lambda rng: (rng.standard_normal(3), rng.standard_normal(3), 3), tag="3"),
]

EXTREMA = (
    [
        row
        for name in ("amax", "amin")
        for row in (
            Row(name, inputs((3, 4)), dtypes=NUMBERS),
            Row(name, also(1, True), tag="keepdim"),
            Row(name, also((0, -1)), tag="dims"),
            Row(name, holes, {"dim": 0}, "nan", grad=False),
            Row(name, inputs((0, 3)), {"dim": 1}, "empty", second=False),
            Row(name, bools(3, 4), {"dim": 0}, "bool", grad=False),
        )
    ]
    + [
        row
        for name in ("max", "min")
        for row in (
            Row(name, inputs((3, 4)), dtypes=NUMBERS),
            Row(name, also(1), tag="dim"),
            Row(name, inputs((2, 3, 4)), {"dim": -2, "keepdim": True}, "keepdim", dtypes=FLOATS),
            Row(name, ties, {"dim": 1}, "dim-ties", grad=False),
            Row(name, transposed(3, 4), {"dim": 0}, "strided"),
            Row(name, holes, {"dim": 1}, "nan", grad=False),
            Row(name, inputs(()), {"dim": 0}, "scalar"),
            Row(name, inputs((2, 0)), {"dim": 0}, "empty", second=False),
            Row(name, bools(3, 4), {"dim": 0}, "bool", grad=False),
            Row(name, inputs((3, 4), (4,)), tag="two"),
            Row(f"Tensor.{name}", also(0), tag="method"),
        )
    ]
    + [
        row
        for name in ("argmax", "argmin")
        for row in (
            Row(name, inputs((3, 4)), grad=False, dtypes=NUMBERS),
            Row(name, also(1), tag="dim", grad=False),
            Row(name, also(-2, True), tag="keepdim", grad=False),
            Row(name, inputs((3, 4)), {"keepdim": True}, "all-keepdim", grad=False),
            Row(name, ties, {"dim": 1}, "ties", grad=False),
            Row(name, holes, tag="nan", grad=False),
            Row(name, inputs(()), tag="scalar", grad=False),
        )
    ]
    + [
        Row("aminmax", inputs((3, 4)), dtypes=NUMBERS),
        Row("aminmax", inputs((3, 4)), {"dim": 1, "keepdim": True}, "dim"),
    ]
)

ORDER = [
    row
    for name in ("median", "nanmedian")
    for row in (
        Row(name, inputs((3, 4)), dtypes=("float32", "int64")),
        Row(name, also(1), tag="dim"),
        Row(name, inputs((3, 5)), {"dim": 0, "keepdim": True}, "keepdim"),
        Row(name, holes, tag="nan", grad=False),
        Row(name, holes, {"dim": 1}, "nan-dim", grad=False),
        Row(name, inputs(()), tag="scalar"),
        Row(name, inputs((0,)), tag="empty", grad=False),
        *(
            Row(name, lambda rng, kind=kind: (np.zeros(0, kind),), tag=f"empty-{kind}", grad=False)
            for kind in ("int64", "uint8", "bool")
        ),
    )
] + [
    Row("mode", ints(3, 9), grad=False),
    Row("mode", ints(7, 3), {"dim": 0, "keepdim": True}, "keepdim", grad=False),
    Row("mode", inputs((3, 4)), tag="distinct"),
    Row("mode", inputs(()), tag="scalar"),
] + [
    row
    for name in ("quantile", "nanquantile")
    for row in (
        Row(name, also(0.3)),
        Row(name, also(np.array([0.0, 0.35, 1.0])), tag="several", grad=False),
        Row(name, inputs((3, 4)), {"q": 0.6, "dim": 1}, "dim"),
        Row(name, inputs((3, 4)), {"q": 0.6, "dim": 0, "keepdim": True}, "keepdim"),
        Row(name, also(np.array([0.25, 0.5]), -1), tag="several-dim", grad=False),
        Row(name, also(np.array([0.25, 0.5]), -1, True), tag="several-keepdim", grad=False),
        Row(name, lambda rng: (*holes(rng), 0.4, 1), tag="nan", grad=False),
        *(
            Row(name, also(0.4, 1), {"interpolation": how}, how)
            for how in ("lower", "higher", "midpoint", "nearest")
        ),
    )
] + [
    Row("cov", inputs((3, 5))),
    Row("cov", inputs((5,)), {"correction": 0}, "vector"),
    Row("cov", inputs((2, 3)), {"fweights": np.array([1, 2, 1])}, "fweights", grad=False),
    Row("cov", inputs((2, 3)), {"aweights": np.array([0.5, 2.0, 1.0])}, "aweights", grad=False,
        dtypes=()),
    Row("corrcoef", inputs((3, 5)), second=False),
    Row("corrcoef", inputs((5,)), tag="vector", second=False),
]  # fmt: skip

TRUTH = [
    row
    for name in ("all", "any")
    for row in (
        Row(name, bools(3, 4), grad=False),
        Row(name, ints(3, 4), {"dim": 1}, "dim", grad=False),
        Row(name, inputs((3, 4)), {"dim": (0, 1), "keepdim": True}, "dims", grad=False,
            dtypes=FLOATS),
        Row(name, lambda rng: (np.array([0, 2], np.uint8),), tag="uint8", grad=False),
        Row(name, inputs((0, 2)), tag="empty", grad=False),
        Row(name, bools(3, 4), {"dim": ()}, "no-dims", grad=False),
    )
] + [
    Row("count_nonzero", ints(3, 4), grad=False),
    Row("count_nonzero", with_zeros, {"dim": (0, 1)}, "dims", grad=False, dtypes=NUMBERS),
    Row("count_nonzero", with_zeros, {"dim": 0}, "dim", grad=False),
    Row("hash_tensor", inputs((3, 4)), grad=False, dtypes=(*FLOATS, "int8", "uint8", "int64")),
    Row("hash_tensor", ints(3, 4), {"dim": 1, "keepdim": True}, "dim", grad=False),
    Row("hash_tensor", bools(3, 4), {"dim": (0, 1)}, "dims", grad=False),
]  # fmt: skip

WIDE = [
    *(
        Row(name, ints(3, 4), {"dtype": "torch.float64"}, "dtype", grad=False)
        for name in ("sum", "mean", "nansum")
    ),
    *(
        Row(
            name,
            lambda rng: (np.array([100, 100, 3]),),
            {"dtype": f"torch.{dtype}"},
            dtype,
            grad=False,
        )
        for name in ("sum", "nansum", "prod")
        for dtype in ("int8", "uint8", "int32", "bool")
    ),
    *(
        Row(name, ints(3, 4), {"dtype": float}, "python-type", grad=False)
        for name in ("sum", "mean", "nansum", "prod")
    ),
    Row("linalg.vector_norm", inputs((3, 4)), {"dtype": float}, "python-type", dtypes=FLOATS[:1]),
    Row("sum", bools(3, 4), {"dim": 0}, "bool", grad=False),
    Row("sum", ints(3, 4), {"dim": 0}, "int", grad=False, dtypes=("int32", "uint8")),
    Row("sum", lambda rng: (np.arange(12, dtype=np.int32).reshape(3, 4),), tag="int32", grad=False),
    Row("sum", complexes(3, 4), {"dim": 1}, "complex", second=False, dtypes=("complex64",)),
    Row("sum", lambda rng: (rng.uniform(0, 1, (1000, 3)),), {"dim": 0}, "long", second=False),
    Row("mean", lambda rng: (rng.uniform(0, 1, (3000,)),), tag="long", second=False, dtypes=FLOATS),
    Row("mean", inputs((0,)), tag="nothing", grad=False),
    Row("nansum", holes, {"dim": 1}, "nan", grad=False, dtypes=FLOATS),
    Row("nanmean", holes, {"dim": 0}, "nan", grad=False, dtypes=FLOATS),
]

ROWS = [*SUMS, *PRODUCTS, *SPREADS, *NORMS, *EXTREMA, *ORDER, *TRUTH, *WIDE]

X = np.arange(6.0).reshape(2, 3)
EMPTY = np.zeros((0, 3))


def error(
    name: str, args: tuple[Any, ...], kind: type[Exception], match: str, tag: str = "", **kw: Any
) -> ErrorRow:
    return ErrorRow(name, lambda rng: args, kind, match, kw, tag)


ERRORS = [
    error("hash_tensor", (X.astype(complex),), NotImplementedError, "xor_sum_cpu"),
    error("hash_tensor", (X[:0],), RuntimeError, "Expected reduction dim to be specified"),
    error("hash_tensor", (X[:0], 0), IndexError, "non-zero size"),
    error("sum", (X, 2), IndexError, "Dimension out of range"),
    error("sum", (X, (0, 0)), RuntimeError, "appears multiple times"),
    error("sum", (X, 0.5), TypeError, "dim"),
    error("sum", ([1, 2],), TypeError, "must be Tensor"),
    error("sum", (X,), TypeError, "dtype", "dtype", dtype=3),
    error("mean", (X.astype(int),), RuntimeError, "could not infer output dtype"),
    error("nanmean", (X.astype(int),), RuntimeError, "floating point"),
    error("prod", (X, (0, 1)), TypeError, "dim"),
    error("var", (X.astype(int),), RuntimeError, "only support floating point"),
    error("std", (X, 3), IndexError, "Dimension out of range"),
    error("norm", (X.astype(int),), RuntimeError, "floating point"),
    error("norm", (np.zeros(0), INF), RuntimeError, "identity"),
    error("amax", (EMPTY,), RuntimeError, "Expected reduction dim"),
    error("amin", (EMPTY, 0), IndexError, "non-zero size"),
    error("max", (EMPTY,), RuntimeError, "Expected reduction dim"),
    error("max", (EMPTY, 0), IndexError, "non-zero size", "dim"),
    error("min", (X, 5), IndexError, "Dimension out of range"),
    error("argmax", (EMPTY,), IndexError, "Expected reduction dim"),
    error("argmax", (X > 1,), RuntimeError, "bool"),
    error("argmin", (EMPTY, 0), IndexError, "non-zero size"),
    error("aminmax", (np.zeros(0),), RuntimeError, "identity"),
    error("median", (EMPTY, 0), IndexError, "non-zero size"),
    error("median", (X > 1,), NotImplementedError, "median"),
    error("mode", (EMPTY, 0), IndexError, "non-zero size"),
    error("quantile", (X, 1.5), RuntimeError, "range"),
    error("quantile", (X.astype(int), 0.5), RuntimeError, "float or double", "int"),
    error("quantile", (X, 0.5), RuntimeError, "interpolation", "how", interpolation="cubic"),
    error("quantile", (np.zeros(0), 0.5), RuntimeError, "non-empty", "empty"),
    error("cov", (np.zeros((2, 2, 2)),), RuntimeError, "two or fewer dimensions"),
]
