from __future__ import annotations

import numpy as np

from wengert.ops._declare import multilinear
from wengert.kernels.shapes import unbroadcast

@multilinear(input=lambda g, input_shape: expand_to(g, input_shape))
def sum_to_shape(input, shape):
    return unbroadcast(input, shape)

@multilinear(input=lambda g, input_shape: sum_to_shape(g, input_shape))
def expand_to(input, shape):
    return np.broadcast_to(input, shape)

@multilinear(input=lambda g, input_shape: expand_to(g, input_shape), label="SumBackward0")
def sum(input):
    return input.sum()

__all__ = ["sum"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("sum",)
INPLACE: tuple[str, ...] = ()
