"""Copies of generators go on as the ones they were made of, which stay as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import generators
from wengert.symbolic import tensor as T
from wengert.symbolic.tensor.shared_randomstreams import RandomStreams


def new(seed: int, bits: Any = np.random.MT19937) -> np.random.RandomState:
    return np.random.RandomState(bits(seed)) if bits is not None else np.random.RandomState(seed)


DRAWS = [
    lambda r: r.uniform(size=3), lambda r: r.normal(size=3), lambda r: r.normal(),
    lambda r: r.randint(0, 1 << 40, 2), lambda r: r.gamma(0.5, size=2), lambda r: r.normal(),
]  # fmt: skip


def test_numpys_generators_lie_as_expected() -> None:
    assert generators._normal_at()


@pytest.mark.parametrize("bits", [None, np.random.MT19937, np.random.PCG64])
@pytest.mark.parametrize("known", [True, False])
def test_copies_go_on_as_their_originals(
    bits: Any, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not known:
        monkeypatch.setattr(generators, "_normal_at", lambda: 0)
    copies, state, expected = generators.Copies(), new(5, bits), new(5, bits)
    for draw in DRAWS * 3:
        before = state
        state = copies.copied(state)
        assert state is not before
        np.testing.assert_array_equal(draw(state), draw(expected))
        again = copies.copied(before)  # the one before is as it was
        np.testing.assert_array_equal(draw(again), draw(generators.Copies().copied(before)))


def test_a_generator_that_somebody_has_is_not_used_again() -> None:
    copies, kept = generators.Copies(), []
    state = new(1)
    for _ in range(5):
        state = copies.copied(state)
        kept.append((state, state.uniform(), state.get_state()[1].copy()))
    assert len({id(x) for x, *_ in kept}) == 5
    assert all((x.get_state()[1] == words).all() for x, _, words in kept)


def test_two_take_turns_where_nobody_has_them() -> None:
    copies, state, seen = generators.Copies(), new(1), set()
    for _ in range(12):
        state = copies.copied(state)
        seen.add(id(state))
    assert len(seen) <= 3


def test_a_function_that_fails_leaves_its_generators_as_they_were() -> None:
    streams = RandomStreams(3)
    x, n = T.dvector(), T.lscalar()
    first, second = streams.normal((2,)), streams.uniform((n,))
    again = theano.function([x, n], first + second + x)
    found = []
    for _ in range(3):
        with pytest.raises(ValueError, match=r"mismatch|broadcast|shape"):
            again(np.zeros(3), 2)
        found.append(again(np.zeros(2), 2))
    fresh = RandomStreams(3)
    first, second = fresh.normal((2,)), fresh.uniform((n,))
    known = theano.function([x, n], first + second + x)
    np.testing.assert_array_equal(found, [known(np.zeros(2), 2) for _ in range(3)])


def test_a_borrowed_generator_stays_as_it_was() -> None:
    state = theano.shared(np.random.RandomState(7))
    new_state, out = T.raw_random.uniform(state, (2,))
    f = theano.function([], out, updates=[(state, new_state)])
    f()
    borrowed = state.get_value(borrow=True)
    words = borrowed.get_state()[1].copy(), borrowed.get_state()[2]
    later = [f() for _ in range(4)]
    assert (borrowed.get_state()[1] == words[0]).all()
    assert borrowed.get_state()[2] == words[1]
    np.testing.assert_array_equal(np.ravel(later), borrowed.uniform(size=8))


def test_draws_in_a_loop_are_numpys() -> None:
    streams = RandomStreams(11)
    steps, updates = theano.scan(lambda: streams.normal((3,)), n_steps=5)
    f = theano.function([], steps, updates=updates)
    seed = np.random.RandomState(11).randint(2**30)
    expected = np.random.RandomState(seed)
    for _ in range(3):
        np.testing.assert_array_equal(f(), [expected.normal(size=3) for _ in range(5)])
