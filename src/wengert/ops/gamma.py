"""The incomplete and the multivariate gamma functions."""

from __future__ import annotations

import math
from typing import Any

from wengert import kernels
from wengert.core.tensor import Tensor
from wengert.ops.checks import require_int, require_kind
from wengert.ops.declare import Value, elementwise
from wengert.ops.exponential import exp, log
from wengert.ops.outputs import write_out
from wengert.ops.shape import contiguous
from wengert.ops.special import lgamma
from wengert.ops.variadic import require_tensor


def refused(derivative: str) -> Any:
    """A placeholder for a derivative that has no closed form."""
    raise NotImplementedError(f"the derivative for {derivative} is not implemented")


def _density(input: Value, other: Value) -> Value:
    """The density at `other` of the gamma distribution of shape `input`."""
    return exp((input - 1.0) * log(other) - other - lgamma(input))


@elementwise(
    tensors=("input", "other"),
    input=lambda g: refused("igamma: input"),
    other=lambda g, input, other: g * _density(input, other),
)
def igamma(input: Value, other: Value) -> Value:
    """The regularised lower incomplete gamma function of shape `input` up to `other`.

    Differentiable with respect to `other`.

    >>> import wengert
    >>> wengert.igamma(wengert.tensor([1.0]), wengert.tensor([1.0]))
    tensor([0.6321])
    """
    require_kind("igamma", input, "f")
    return kernels.scipy_special.by_scipy("gammainc", input, other)


@elementwise(
    tensors=("input", "other"),
    input=lambda g: refused("igammac: input"),
    other=lambda g, input, other: -(g * _density(input, other)),
)
def igammac(input: Value, other: Value) -> Value:
    """``1 - igamma(input, other)``, accurate where that is small.

    >>> import wengert
    >>> wengert.igammac(wengert.tensor([1.0]), wengert.tensor([1.0]))
    tensor([0.3679])
    """
    require_kind("igammac", input, "f")
    return kernels.scipy_special.by_scipy("gammaincc", input, other)


def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function of `p` dimensions.

    >>> import wengert
    >>> wengert.mvlgamma(wengert.tensor([2.0]), 2)
    tensor([0.4516])
    """
    if out is not None:
        return write_out(mvlgamma, out, input, p)
    require_tensor("mvlgamma", "input", input)
    require_int("mvlgamma", "p", p, 2)
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1; mvlgamma() got p={p}")
    total = lgamma(input)
    for j in range(1, p):
        total = total + lgamma(input - 0.5 * j)
    return contiguous(total + p * (p - 1) / 4 * math.log(math.pi))


__all__ = ["igamma", "igammac", "mvlgamma"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("igamma", "igammac", "mvlgamma")
INPLACE = METHODS
