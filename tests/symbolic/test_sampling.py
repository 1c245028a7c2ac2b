"""Shapes of random numbers, and distributions that programs name themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T
from wengert.symbolic.tensor import raw_random


def numbers(draw: Any) -> np.ndarray:
    state = theano.shared(np.random.RandomState(3))
    return theano.function([], draw(state)[1])()


def test_lengths_of_minus_one_are_those_of_parameters() -> None:
    out = numbers(lambda r: raw_random.uniform(r, (2, -1), [[0.0, 1.0, 2.0]], 5.0))
    expected = np.random.RandomState(3).uniform([[0.0, 1.0, 2.0]], 5.0, (2, 3))
    np.testing.assert_array_equal(out, expected)
    counts = np.full((2, 3), 5)
    out = numbers(lambda r: raw_random.multinomial(r, (2, -1), counts, np.full((2, 3, 4), 0.25)))
    assert out.shape == (2, 3, 4)
    assert (out.sum(-1) == 5).all()
    with pytest.raises(ValueError, match="do not say what -1 is"):
        numbers(lambda r: raw_random.uniform(r, (-1, 2), 0.0, 1.0))


def test_distributions_are_named_by_programs() -> None:
    for fn in ("uniform", np.random.RandomState.uniform):
        op = raw_random.RandomFunction(fn, T.dvector)
        out = numbers(lambda r, op=op: op(r, (4,), 0.0, 2.0))
        np.testing.assert_array_equal(out, np.random.RandomState(3).uniform(0, 2, 4))
    assert op == raw_random.RandomFunction(fn, T.dvector)
    with pytest.raises(TypeError, match="a variable of a generator comes first"):
        op(T.dvector(), (4,), 0.0, 1.0)


def test_shapes_and_parameters_fit() -> None:
    for size, ndim in (((2, 3), 1), ((2, 3), 3)):
        with pytest.raises(ValueError, match=f"ndim should be equal to .* but ndim = {ndim}"):
            numbers(lambda r, size=size, ndim=ndim: raw_random.uniform(r, size, ndim=ndim))
    with pytest.raises(ValueError, match="1 dimensions, and parameters of 2"):
        numbers(lambda r: raw_random.normal(r, (2,), [[1.0, 2.0]]))
    with pytest.raises(TypeError, match="a shape is needed"):
        T.shared_randomstreams.RandomStreams(5).choice(a=6)


def test_choices_without_probabilities() -> None:
    out = numbers(lambda r: raw_random.choice(r, (4,), 10, 1, 0))
    np.testing.assert_array_equal(out, np.random.RandomState(3).choice(10, (4,)))


def test_probabilities_have_no_gradient() -> None:
    from wengert.symbolic.differentiation import NullTypeGradError
    from wengert.symbolic.sandbox.rng_mrg import MRG_RandomStreams

    p, streams = T.dscalar("p"), MRG_RandomStreams(1)
    chances = [T.as_tensor_variable([p, 0.2, 0.3])]
    for drawn in (streams.multinomial(pvals=chances), streams.binomial((2,), p=p),
                  streams.choice(size=1, p=chances, replace=False)):  # fmt: skip
        with pytest.raises(NullTypeGradError, match="undefined"):
            T.grad(drawn.sum(), p)


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64])
def test_the_generator_that_is_passed_on_goes_on_as_the_one_before(bits: Any) -> None:
    given, own = (np.random.RandomState(bits(3)) for _ in range(2))
    assert given.normal() == own.normal()  # which leaves another number for the next call
    state = theano.shared(given)
    after, numbers = raw_random.RandomFunction("normal", T.dvector)(state, (3,), 0.0, 1.0)
    f = theano.function([], numbers, updates=[(state, after)])
    for _ in range(3):
        np.testing.assert_array_equal(f(), own.normal(0.0, 1.0, 3))
