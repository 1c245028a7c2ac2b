"""Branches of choices, which run where they are taken."""

from __future__ import annotations

import numpy as np

import wengert.symbolic as theano
from wengert.symbolic import tensor as T
from wengert.symbolic.ifelse import ifelse


def test_what_a_branch_reads_is_there_when_it_is_taken() -> None:
    c, x = T.lscalar("c"), T.dmatrix("x")
    square = T.dot(x, x)
    cube = T.dot(square, x)  # computed in any case, after the branch's own product is in order
    f = theano.function([c, x], [ifelse(c, T.dot(x, square) + 1, cube), cube])
    value = np.array([[2.0, 1.0], [0.0, 1.0]])
    for condition in (0, 1):
        chosen, always = f(condition, value)
        np.testing.assert_array_equal(always, value @ value @ value)
        np.testing.assert_array_equal(chosen, always + condition)


def test_what_a_branch_reads_is_there_in_choices_within_choices() -> None:
    c, x = T.lscalar("c"), T.dmatrix("x")
    square = T.dot(x, x)
    cube = T.dot(square, x)
    inner = ifelse(T.eq(c, 1), T.dot(x, square) + 1, T.dot(cube, x))
    f = theano.function([c, x], [ifelse(c, inner, cube), cube, T.dot(cube, cube)])
    value = np.array([[2.0, 1.0], [0.0, 1.0]])
    cubed = value @ value @ value
    for condition, expected in enumerate((cubed, cubed + 1, cubed @ value)):
        np.testing.assert_array_equal(f(condition, value)[0], expected)
