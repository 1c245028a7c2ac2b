"""Products of Householder's reflections, as `geqrf` leaves them."""

from __future__ import annotations

import numpy as np

from wengert.core.tensor import Tensor
from wengert.ops.matrices import by_columns, check_inexact, check_matrix, instead, mH
from wengert.ops.outputs import write_out
from wengert.ops.shape import dtype_of


def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of reflections, as `geqrf` leaves them.

    >>> import wengert
    >>> wengert.linalg.householder_product(*wengert.geqrf(wengert.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    if out is not None:
        return write_out(householder_product, out, input, tau)
    name = "linalg.householder_product"
    check_matrix(name, input, "input")
    m, n = input.shape[-2:]
    k = tau.shape[-1] if tau.ndim else 0
    if m < n:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1], but got"
            f" {m} and {n}"
        )
    if tau.ndim != input.ndim - 1 or k > n or tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise RuntimeError(
            f"{name}: tau of shape {list(tau.shape)} does not fit input of shape"
            f" {list(input.shape)}"
        )
    if tau.dtype != input.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype} does not match {input.dtype}")
    check_inexact(name, input, "householder_product_cpu")
    ones = np.eye(m, dtype=dtype_of(input))
    vectors = input.tril(-1) + ones[:, :n]
    product = instead(ones[:, :n], input)
    for i in reversed(range(k)):
        v = vectors[..., i : i + 1]
        product = product - tau[..., i, None, None] * (v @ (mH(v) @ product))
    return by_columns(product)


def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `linalg.householder_product`.

    >>> import wengert
    >>> wengert.orgqr(*wengert.geqrf(wengert.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    return householder_product(input, input2, out=out)


def ormqr(
    input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False,
    *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The product of an orthogonal matrix, a product of reflections, and another matrix.

    Args:
        input: the reflections, as `geqrf` leaves them: of shape ``(*, rows, k)``.
        input2: their factors, of shape ``(*, k)``.
        input3: a matrix of as many rows, or of as many columns if not `left`.
        left: whether the orthogonal matrix stands on the left.
        transpose: multiply by its conjugate transpose instead.
        out: where the result is written.

    RuntimeError for shapes and dtypes that do not fit.

    >>> import wengert
    >>> a = wengert.tensor([[3.0], [4.0]])
    >>> reflections, tau = wengert.geqrf(a)
    >>> wengert.ormqr(reflections, tau, a, transpose=True).round()
    tensor([[-5.],
            [ 0.]])
    """
    if out is not None:
        return write_out(ormqr, out, input, input2, input3, left, transpose)
    tau, other = input2, input3
    _check_operands(input, tau, other, left)
    product = other if left else mH(other)
    order = range(tau.shape[-1])
    ones = np.eye(input.shape[-2], dtype=dtype_of(input))
    vectors = input.tril(-1) + ones[:, : input.shape[-1]]
    for i in order if transpose is left else reversed(order):
        v, factor = vectors[..., i : i + 1], tau[..., i, None, None]
        product = product - (factor.conj() if transpose is left else factor) * (
            v @ (mH(v) @ product)
        )
    return by_columns(product if left else mH(product))


def _check_operands(input: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    for argument, matrix in (("input", input), ("input3", other)):
        check_matrix("torch.ormqr", matrix, argument)
    check_inexact("torch.ormqr", input, "ormqr_cpu")
    side = -2 if left else -1
    problem = ""
    if other.shape[side] != input.shape[-2]:
        problem = f"input3.shape[{side}] must be equal to input.shape[-2]"
    elif not tau.ndim or tau.shape[-1] != min(other.shape[side], input.shape[-1]):
        problem = f"input2.shape[-1] must be equal to min(input3.shape[{side}], input.shape[-1])"
    elif input.ndim - tau.ndim != 1 or input.ndim != other.ndim:
        problem = "input and input3 must have the same number of dimensions, and input2 one less"
    elif not input.shape[:-2] == tau.shape[:-1] == other.shape[:-2]:
        problem = "batch dimensions of input, input2 and input3 must be equal"
    elif not input.dtype == tau.dtype == other.dtype:
        problem = f"dtypes must be the same: {input.dtype}, {tau.dtype} and {other.dtype}"
    if problem:
        shapes = ", ".join(str(list(x.shape)) for x in (input, tau, other))
        raise RuntimeError(f"torch.ormqr: {problem}; got shapes {shapes}")


__all__ = ["orgqr", "ormqr"]
FUNCTIONAL: list[str] = []
METHODS = ["orgqr", "ormqr"]
INPLACE: list[str] = []
