"""``theano.tensor.xlogx``: products with logarithms that are 0 where the factor is 0."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions.special import xlogy0 as xlogy0
from wengert.symbolic.expressions.type import as_tensor_variable


def xlogx(x: Any) -> Any:
    """``x * log(x)``, and 0 where `x` is 0.

    >>> from wengert.symbolic.tensor.xlogx import xlogx
    >>> xlogx([0.0, 1.0]).eval()
    array([0., 0.])
    """
    x = as_tensor_variable(x)
    return xlogy0(x, x)
