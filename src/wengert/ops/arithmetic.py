"""Sums, products, quotients and powers."""

from __future__ import annotations

import numpy as np

from wengert.ops._declare import elementwise


@elementwise(np.add, input=lambda g: g, other=lambda g: g)
def add(input, other):
    """Sum of two tensors, element by element."""


@elementwise(np.multiply, input=lambda g, other: g * other, other=lambda g, input: g * input)
def mul(input, other):
    """Product."""


@elementwise(np.tanh, floats=True, input=lambda g, out: g * (1.0 - out * out))
def tanh(input):
    """Hyperbolic tangent of each element."""


@elementwise(np.subtract, input=lambda g: g, other=lambda g: -g)
def sub(input, other):
    """Diff"""

@elementwise(np.negative, input=lambda g: -g)
def neg(input):
    """Neg"""

__all__ = ["add", "mul", "neg", "sub", "tanh"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("add", "mul", "neg", "sub", "tanh")
INPLACE = ("add", "mul", "neg", "sub")
