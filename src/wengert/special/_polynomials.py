"""Orthogonal polynomials, by their three-term recurrences. As in PyTorch without derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.kernels.scipy_special import polynomial
from wengert.ops.checks import require_kind
from wengert.ops.declare import Value, elementwise
from wengert.ops.gamma import refused
from wengert.ops.outputs import write_out

Array = np.ndarray
# The polynomial of degree 1; that of degree k + 1, of those of degrees k (p) and k - 1 (q).
Family = tuple[Callable[[Array], Array], Callable[[int, Array, Array, Array], Array]]

_FAMILIES: dict[str, Family] = {
    "chebyshev_polynomial_t": (lambda x: x, lambda k, x, p, q: 2 * x * p - q),
    "chebyshev_polynomial_u": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - q),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, lambda k, x, p, q: 2 * x * p - q),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, lambda k, x, p, q: 2 * x * p - q),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda k, x, p, q: 2 * (x * p - k * q)),
    "hermite_polynomial_he": (lambda x: x, lambda k, x, p, q: x * p - k * q),
    "laguerre_polynomial_l": (
        lambda x: 1 - x,
        lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1),
    ),
    "legendre_polynomial_p": (
        lambda x: x,
        lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1),
    ),
    "shifted_chebyshev_polynomial_t": (lambda x: 2 * x - 1, lambda k, x, p, q: (4 * x - 2) * p - q),
    "shifted_chebyshev_polynomial_u": (lambda x: 4 * x - 2, lambda k, x, p, q: (4 * x - 2) * p - q),
    "shifted_chebyshev_polynomial_v": (lambda x: 4 * x - 3, lambda k, x, p, q: (4 * x - 2) * p - q),
    "shifted_chebyshev_polynomial_w": (lambda x: 4 * x - 1, lambda k, x, p, q: (4 * x - 2) * p - q),
}


@elementwise(
    floats=True,
    input=lambda g, family: refused(f"special_{family}: input"),
    n=lambda g, family: refused(f"special_{family}: n"),
    name="polynomial",
    layout=("input", "n"),
)
def _polynomial(input: Value, n: Value, family: str) -> Value:
    require_kind(f"{family}_cpu", input, "f")
    return polynomial(input, n, *_FAMILIES[family]).astype(input.dtype, copy=False)


def chebyshev_polynomial_t(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the first kind, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.chebyshev_polynomial_t(wengert.tensor([0.25, 0.5]), 2)
    tensor([-0.8750, -0.5000])
    """
    if out is not None:
        return write_out(chebyshev_polynomial_t, out, input, n)
    return _polynomial(input, n, "chebyshev_polynomial_t")


def chebyshev_polynomial_u(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the second kind, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.chebyshev_polynomial_u(wengert.tensor([0.25, 0.5]), 2)
    tensor([-0.7500,  0.0000])
    """
    if out is not None:
        return write_out(chebyshev_polynomial_u, out, input, n)
    return _polynomial(input, n, "chebyshev_polynomial_u")


def chebyshev_polynomial_v(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the third kind, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.chebyshev_polynomial_v(wengert.tensor([0.25, 0.5]), 2)
    tensor([-1.2500, -1.0000])
    """
    if out is not None:
        return write_out(chebyshev_polynomial_v, out, input, n)
    return _polynomial(input, n, "chebyshev_polynomial_v")


def chebyshev_polynomial_w(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the fourth kind, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.chebyshev_polynomial_w(wengert.tensor([0.25, 0.5]), 2)
    tensor([-0.2500,  1.0000])
    """
    if out is not None:
        return write_out(chebyshev_polynomial_w, out, input, n)
    return _polynomial(input, n, "chebyshev_polynomial_w")


def hermite_polynomial_h(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """The physicists' Hermite polynomial, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.hermite_polynomial_h(wengert.tensor([0.25, 0.5]), 2)
    tensor([-1.7500, -1.0000])
    """
    if out is not None:
        return write_out(hermite_polynomial_h, out, input, n)
    return _polynomial(input, n, "hermite_polynomial_h")


def hermite_polynomial_he(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """The probabilists' Hermite polynomial, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.hermite_polynomial_he(wengert.tensor([0.25, 0.5]), 2)
    tensor([-0.9375, -0.7500])
    """
    if out is not None:
        return write_out(hermite_polynomial_he, out, input, n)
    return _polynomial(input, n, "hermite_polynomial_he")


def laguerre_polynomial_l(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """Laguerre's polynomial, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.laguerre_polynomial_l(wengert.tensor([0.25, 0.5]), 2)
    tensor([0.5312, 0.1250])
    """
    if out is not None:
        return write_out(laguerre_polynomial_l, out, input, n)
    return _polynomial(input, n, "laguerre_polynomial_l")


def legendre_polynomial_p(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """Legendre's polynomial, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.legendre_polynomial_p(wengert.tensor([0.25, 0.5]), 2)
    tensor([-0.4062, -0.1250])
    """
    if out is not None:
        return write_out(legendre_polynomial_p, out, input, n)
    return _polynomial(input, n, "legendre_polynomial_p")


def shifted_chebyshev_polynomial_t(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_t` of ``2x - 1``, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.shifted_chebyshev_polynomial_t(wengert.tensor([0.25, 0.5]), 2)
    tensor([-0.5000, -1.0000])
    """
    if out is not None:
        return write_out(shifted_chebyshev_polynomial_t, out, input, n)
    return _polynomial(input, n, "shifted_chebyshev_polynomial_t")


def shifted_chebyshev_polynomial_u(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_u` of ``2x - 1``, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.shifted_chebyshev_polynomial_u(wengert.tensor([0.25, 0.5]), 2)
    tensor([ 0., -1.])
    """
    if out is not None:
        return write_out(shifted_chebyshev_polynomial_u, out, input, n)
    return _polynomial(input, n, "shifted_chebyshev_polynomial_u")


def shifted_chebyshev_polynomial_v(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_v` of ``2x - 1``, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.shifted_chebyshev_polynomial_v(wengert.tensor([0.25, 0.5]), 2)
    tensor([ 1., -1.])
    """
    if out is not None:
        return write_out(shifted_chebyshev_polynomial_v, out, input, n)
    return _polynomial(input, n, "shifted_chebyshev_polynomial_v")


def shifted_chebyshev_polynomial_w(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_w` of ``2x - 1``, of degree `n`; both may be tensors or numbers.

    >>> import wengert
    >>> wengert.special.shifted_chebyshev_polynomial_w(wengert.tensor([0.25, 0.5]), 2)
    tensor([-1., -1.])
    """
    if out is not None:
        return write_out(shifted_chebyshev_polynomial_w, out, input, n)
    return _polynomial(input, n, "shifted_chebyshev_polynomial_w")
