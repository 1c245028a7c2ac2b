"""``theano.tensor.blas``: products with sums, under the names that BLAS has for them.

Functions compile ``b * z + a * T.dot(x, y)`` equally well; these are for programs that name the
operations. Whether ``inplace`` is asked for or not, no value of a variable is written to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.symbolic.dtypes import COMPLEX, CONTINUOUS
from wengert.symbolic.expressions.arithmetic import mul
from wengert.symbolic.expressions.elemwise import expanded
from wengert.symbolic.expressions.products import BatchedDot as BatchedDot
from wengert.symbolic.expressions.products import Dot, dot
from wengert.symbolic.expressions.products import batched_dot as batched_dot
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.structure import transpose
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation


class InconsistencyError(Exception):
    """An operation is asked to write to what it reads."""


def _typed(name: str, inputs: Sequence[Any], ndims: Sequence[int]) -> list[Any]:
    """Inputs as variables of these numbers of dimensions and one dtype, a floating one."""
    if len(inputs) != len(ndims):
        raise TypeError(
            f"Wrong number of inputs for {name} (expected {len(ndims)}, got {len(inputs)})"
        )
    variables = [as_tensor_variable(x) for x in inputs]
    for k, (x, ndim) in enumerate(zip(variables, ndims, strict=True)):
        if x.ndim != ndim:
            raise TypeError(f"{name}: input {k} has to have {ndim} dimensions, and {x} is {x.type}")
    dtypes = [x.dtype for x in variables]
    if len(set(dtypes)) > 1:
        raise TypeError(f"{name} requires matching dtypes, got {dtypes}")
    if dtypes[0] not in CONTINUOUS:
        raise TypeError(f"{name} requires floating-point dtypes, got {dtypes[0]}")
    return variables


def _conjugate(x: Any) -> Any:
    if x.dtype in COMPLEX:
        raise NotImplementedError(f"gradients of products of {x.dtype}")
    return x


class Gemm(Operation):
    """``gemm(z, a, x, y, b)`` is ``b * z + a * dot(x, y)`` of matrices.

    >>> from wengert.symbolic import tensor as T
    >>> x = T.dmatrix("x")
    >>> out = T.blas.gemm_no_inplace(x, T.constant(2.0, dtype="float64"), x, x, T.constant(1.0,
    ...     dtype="float64"))
    >>> out.eval({x: [[1.0, 1.0], [0.0, 1.0]]})
    array([[3., 5.],
           [0., 3.]])
    """

    __props__ = ("inplace",)

    def __init__(self, inplace: bool) -> None:
        self.inplace = inplace

    def make_node(self, *inputs: Any) -> Apply:
        """Matrices `z`, `x` and `y`, numbers `a` and `b`, all of one dtype."""
        z, a, x, y, b = _typed(str(self), inputs, (2, 0, 2, 2, 0))
        if self.inplace and (z is x or z is y):
            raise InconsistencyError("argument z aliased to x or y", z)
        return Apply(self, [z, a, x, y, b], [TensorType(z.dtype, z.broadcastable)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of `z`."""
        return [shapes[0]]

    def compute(self, z: Any, a: Any, x: Any, y: Any, b: Any) -> np.ndarray:
        """NumPy's product; ValueError where shapes differ."""
        product = x @ y
        if product.shape != z.shape:
            raise ValueError(f"{self}: z has shape {z.shape}, dot(x, y) {product.shape}")
        return np.asarray(b * z + a * product)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Products as well."""
        (z, a, x, y, b), g = inputs, _conjugate(output_gradients[0])
        scaled = mul(a, g)
        return [
            mul(b, g), sum_over(mul(g, dot(x, y))), dot(scaled, transpose(y)),
            dot(transpose(x), scaled), sum_over(mul(g, z)),
        ]  # fmt: skip

    def __str__(self) -> str:
        return "gemm_inplace" if self.inplace else "gemm_no_inplace"


class Gemv(Operation):
    """``gemv(y, alpha, A, x, beta)`` is ``beta * y + alpha * dot(A, x)``, `A` a matrix."""

    __props__ = ("inplace",)

    def __init__(self, inplace: bool) -> None:
        self.inplace = inplace

    def make_node(self, *inputs: Any) -> Apply:
        """All of one dtype."""
        variables = _typed(str(self), inputs, (1, 0, 2, 1, 0))
        return Apply(self, variables, [variables[0].type()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of `y`."""
        return [shapes[0]]

    def compute(self, y: Any, alpha: Any, A: Any, x: Any, beta: Any) -> np.ndarray:  # noqa: N803
        """NumPy's product; ValueError where shapes differ."""
        if A.shape != (len(y), len(x)):
            raise ValueError(
                f"{self}: A has shape {A.shape}, y has {len(y)} elements and x has {len(x)}"
            )
        return np.asarray(beta * y + alpha * (A @ x))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Products as well."""
        (y, alpha, A, x, beta), g = inputs, _conjugate(output_gradients[0])  # noqa: N806
        scaled = mul(alpha, g)
        outer = mul(expanded(scaled, (1,)), expanded(x, (0,)))
        return [
            mul(beta, g), sum_over(mul(g, dot(A, x))), outer, dot(scaled, A), sum_over(mul(g, y)),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"Gemv{{{'inplace' if self.inplace else 'no_inplace'}}}"


class Ger(Operation):
    """``ger(A, alpha, x, y)`` is ``A + alpha * outer(x, y)``."""

    __props__ = ("destructive",)

    def __init__(self, destructive: bool) -> None:
        self.destructive = destructive

    def make_node(self, *inputs: Any) -> Apply:
        """All of one dtype."""
        variables = _typed(str(self), inputs, (2, 0, 1, 1))
        return Apply(self, variables, [variables[0].type()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of `A`."""
        return [shapes[0]]

    def compute(self, A: Any, alpha: Any, x: Any, y: Any) -> np.ndarray:  # noqa: N803
        """NumPy's outer product; ValueError where shapes differ."""
        if A.shape != (len(x), len(y)):
            raise ValueError(
                f"{self}: A has shape {A.shape}, x has {len(x)} elements and y has {len(y)}"
            )
        return np.asarray(A + alpha * np.outer(x, y))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Products with the vectors."""
        (_, alpha, x, y), g = inputs, _conjugate(output_gradients[0])
        of_x, of_y = dot(g, y), dot(x, g)
        return [g, sum_over(mul(of_x, x)), mul(alpha, of_x), mul(alpha, of_y)]

    def __str__(self) -> str:
        return f"Ger{{{'destructive' if self.destructive else 'non-destructive'}}}"


class Dot22(Dot):
    """``Dot22()(x, y)`` is the product of two matrices of one dtype.

    >>> from wengert.symbolic import tensor as T
    >>> x = T.dmatrix("x")
    >>> T.blas.Dot22()(x, x).eval({x: [[1.0, 1.0], [0.0, 1.0]]})
    array([[1., 2.],
           [0., 1.]])
    """

    def make_node(self, *inputs: Any) -> Apply:
        """TypeError for anything but two matrices of floats of one dtype."""
        return super().make_node(*_typed("_dot22", inputs, (2, 2)))


class Dot22Scalar(Operation):
    """``Dot22Scalar()(x, y, a)`` is the product of two matrices, times a number."""

    def make_node(self, *inputs: Any) -> Apply:
        """All of one dtype."""
        x, y, a = _typed("_dot22scalar", inputs, (2, 2, 0))
        pattern = (x.broadcastable[0], y.broadcastable[1])
        return Apply(self, [x, y, a], [TensorType(x.dtype, pattern)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the product."""
        return [(shapes[0][0], shapes[1][1])]

    def compute(self, x: Any, y: Any, a: Any) -> np.ndarray:
        """NumPy's product."""
        return np.asarray((x @ y) * a)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Products as well."""
        (x, y, a), g = inputs, _conjugate(output_gradients[0])
        scaled = mul(a, g)
        return [
            dot(scaled, transpose(y)), dot(transpose(x), scaled), sum_over(mul(g, dot(x, y))),
        ]  # fmt: skip


_dot22, _dot22scalar = Dot22(), Dot22Scalar()
gemm_inplace, gemm_no_inplace = Gemm(True), Gemm(False)
gemv_inplace, gemv_no_inplace = Gemv(True), Gemv(False)
ger, ger_destructive = Ger(False), Ger(True)
gemm, gemv = gemm_no_inplace, gemv_no_inplace
