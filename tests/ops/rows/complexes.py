"""Rows of `wengert.ops.complexes`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

# Not `conj`: PyTorch puts it off, and cannot show its result to NumPy.
PARTS = ("real", "imag", "conj_physical", "angle", "view_as_real")


def complexes(rng):
    return (rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4)),)


def transposed(rng):
    return (complexes(rng)[0].T,)


ROWS = [
    *(Row(n, complexes) for n in PARTS),
    *(Row(n, transposed, tag="transposed") for n in PARTS),
    *(Row(n, inputs((3, 4)), tag="real-input") for n in ("real", "conj", "conj_physical", "angle")),
    Row("angle", lambda rng: (np.array([0.0, -0.0, -1.0, np.nan, np.inf]),), tag="special",
        grad=False),
    Row("angle", lambda rng: (np.array([-1, 0, 2]),), tag="int", grad=False),
    Row("angle", lambda rng: (np.array([0j, 1j, -1 + 0j]),), tag="complex-special"),
    Row("complex", inputs((3, 4), (4,)), dtypes=("float32",)),
    Row("polar", inputs((3, 4), (4,), low=0.5, high=3.0), dtypes=("float32",)),
    Row("view_as_complex", inputs((3, 4, 2)), dtypes=("float32",)),
    Row("view_as_complex", inputs((2,)), tag="0d"),
    *(Row(n, make, tag=tag, grad=False) for n in ("is_complex", "is_floating_point")
      for tag, make in (("complex", complexes), ("real", inputs((2,))),
                        ("int", lambda rng: (np.arange(2),)))),
    Row("resolve_conj", complexes),
]  # fmt: skip

ERRORS = [
    ErrorRow("imag", lambda rng: (np.ones(2),), RuntimeError, "non-complex"),
    ErrorRow("view_as_real", lambda rng: (np.ones(2),), RuntimeError, "complex tensors"),
    ErrorRow("view_as_complex", lambda rng: (np.ones(3),), RuntimeError, "size 2"),
    ErrorRow("view_as_complex", lambda rng: (np.arange(2),), RuntimeError, "only supported"),
    *(ErrorRow(n, lambda rng: (np.ones(2), np.ones(2, "f4")), RuntimeError, "scalar type")
      for n in ("complex", "polar")),
    *(ErrorRow(n, lambda rng: (np.ones(2), np.arange(2)), RuntimeError, "Float or Double")
      for n in ("complex", "polar")),
    ErrorRow("is_complex", lambda rng: (1j,), TypeError, "must be Tensor"),
]  # fmt: skip
