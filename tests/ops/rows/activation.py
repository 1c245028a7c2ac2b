"""Rows of `wengert.ops.activation`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

FLOATS = ("float32", "float16", "bfloat16")
SPECIAL = np.array([0.0, -0.0, 3.0, -3.0, 6.0, 1.0, -1.0, 0.5, -0.5, 25.0, -25.0, 100.0, -800.0,
                    np.inf, -np.inf, np.nan])  # fmt: skip
F = "nn.functional."
# Functions with `inplace`, and their other arguments in three forms.
INPLACE = {
    "relu": ({},), "relu6": ({},), "leaky_relu": ({}, {"negative_slope": 0.2}),
    "elu": ({}, {"alpha": 1.7}), "selu": ({},), "celu": ({}, {"alpha": 0.7}), "silu": ({},),
    "mish": ({},), "hardtanh": ({}, {"min_val": -0.5, "max_val": 0.3}), "hardswish": ({},),
    "hardsigmoid": ({},), "threshold": ({"threshold": 0.1, "value": 5.0},), "rrelu": ({},),
}  # fmt: skip
OTHERS = {
    "gelu": ({}, {"approximate": "tanh"}), "softplus": ({}, {"beta": 2.0, "threshold": 1.0}),
    "softsign": ({},), "logsigmoid": ({},), "tanhshrink": ({},),
    "softshrink": ({}, {"lambd": 0.1}), "hardshrink": ({}, {"lambd": 0.1}), "sigmoid": ({},),
    "tanh": ({},),
}  # fmt: skip
CALLS = [(F + n, k) for n, forms in (INPLACE | OTHERS).items() for k in forms]
UNDERSCORED = ("relu_", "leaky_relu_", "elu_", "selu_", "celu_", "hardtanh_", "rrelu_")


def tag(kwargs):
    return "-".join(map(str, kwargs.values()))


# Where PyTorch's own constants (1 / alpha, 1 / 6) are single precision.
SINGLE = {F + "celu": 1e-7, F + "hardsigmoid": 1e-7}
ROWS = [
    *(Row(n, inputs((3, 4)), k, tag=tag(k), dtypes=FLOATS, rtol=SINGLE.get(n, 1e-10))
      for n, k in CALLS),
    *(Row(n, lambda rng: (SPECIAL,), k, tag=f"{tag(k)}special", grad=False, dtypes=())
      for n, k in CALLS),
    *(Row(n, lambda rng: (np.array(0.7),), k, tag=f"{tag(k)}0d", rtol=SINGLE.get(n, 1e-10))
      for n, k in CALLS),
    *(Row(F + n, inputs((3, 4)), k | {"inplace": True}, tag=f"{tag(k)}inplace", grad=False)
      for n, forms in INPLACE.items() for k in forms),
    *(Row(F + n, inputs((3, 4))) for n in UNDERSCORED),
    Row(F + "threshold_", lambda rng: (rng.standard_normal((3, 4)), 0.1, 5.0)),
    *(Row(F + n, lambda rng: (np.array([-9, 0, 1, 7, 9]),), tag="int", grad=False)
      for n in ("relu", "relu6", "hardtanh", "softsign", "tanhshrink")),
    *(Row(n, inputs((3, 4))) for n in ("relu", "selu", "celu", "rrelu", "hardshrink",
                                       "Tensor.relu", "Tensor.relu_", "Tensor.hardshrink")),
    Row("threshold", lambda rng: (rng.standard_normal((3, 4)), 0.1, 5.0)),
    Row(F + "silu", lambda rng: (rng.standard_normal(4) + 1j * rng.standard_normal(4),),
        tag="complex", grad=False),
    Row("prelu", lambda rng: (rng.standard_normal((2, 3, 4)), rng.standard_normal(3)),
        dtypes=("float32",)),
    Row("prelu", lambda rng: (rng.standard_normal((2, 3)), rng.standard_normal(1)), tag="one"),
    Row("prelu", lambda rng: (rng.standard_normal(4), np.array(0.2)), tag="0d-weight"),
    Row("prelu", lambda rng: (np.array(-0.7), rng.standard_normal(1)), tag="0d"),
    Row("Tensor.prelu", lambda rng: (rng.standard_normal((2, 3)), rng.standard_normal(3))),
    Row(F + "glu", inputs((3, 4)), dtypes=("float32",)),
    Row(F + "glu", inputs((4, 3)), {"dim": 0}, tag="dim"),
]  # fmt: skip

ERRORS = [
    *(ErrorRow(F + n, lambda rng: (np.arange(3),), NotImplementedError, "not implemented")
      for n in ("leaky_relu", "elu", "selu", "gelu", "silu", "mish", "softplus", "hardswish",
                "hardsigmoid", "logsigmoid", "softshrink", "hardshrink")),
    ErrorRow(F + "relu", lambda rng: (np.array([True]),), RuntimeError, "not supported for relu"),
    ErrorRow("prelu", lambda rng: (np.ones(2), np.ones(1, np.float32)), RuntimeError,
             "Got Double and Float", tag="dtypes"),
    ErrorRow(F + "gelu", lambda rng: (np.ones(2),), RuntimeError, "approximate",
             {"approximate": "erf"}, tag="approximate"),
    ErrorRow(F + "celu", lambda rng: (np.ones(2), 0.0), RuntimeError, "alpha cannot be 0"),
    ErrorRow(F + "hardtanh", lambda rng: (np.ones(2), 2.0, 1.0), ValueError, "min_val"),
    ErrorRow(F + "hardtanh", lambda rng: (np.ones(2, "u1"),), RuntimeError, "unsigned"),
    ErrorRow(F + "softshrink", lambda rng: (np.ones(2), -1.0), RuntimeError, "lambda"),
    ErrorRow(F + "rrelu", lambda rng: (np.ones(2), 2.0, 1.0), RuntimeError, "Lower bound"),
    ErrorRow(F + "prelu", lambda rng: (np.ones((2, 3)), np.ones(2)), RuntimeError, "Mismatch"),
    ErrorRow(F + "prelu", lambda rng: (np.ones((2, 3)), np.ones((1, 3))), RuntimeError,
             "scalar or 1D", tag="rank"),
    ErrorRow(F + "glu", lambda rng: (np.ones(3),), RuntimeError, "must be even"),
    ErrorRow(F + "glu", lambda rng: (np.array(1.0),), RuntimeError, "scalars", tag="0d"),
    ErrorRow(F + "glu", lambda rng: (np.arange(4),), NotImplementedError, "not implemented",
             tag="ints"),
    ErrorRow(F + "glu", lambda rng: (np.ones(4), 3), IndexError, "Dimension out of range"),
]  # fmt: skip
