"""Values are computed where they are to lie."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from tests.replay.harness import compare
from wengert import compiler
from wengert.kernels import copies, jit
from wengert.replay import placing, segments
from wengert.replay.emitting import F32, Call, Scalar, dense

pytestmark = pytest.mark.skipif(not jit.available(), reason="no kernels")


def copy(source, out, total, width, step=None, to_step=None):
    """The call of a copy of rows."""
    arguments = source, out, step or width, to_step or width, width
    return Call(copies.copy_rows.f32, arguments, total, 1)


def reading(*views):
    """A call of another kernel."""
    return Call(None, views, 1, 1)


def placed(calls, fixed=(), changed=()):
    return placing.placed(calls, lambda root: 4 * SIZES[root], fixed, changed)


SIZES = {1: 6, 2: 6, 3: 12, 4: 24}
ONE, TWO, BOTH, ALL = (dense(k, (n // 3, 3), F32) for k, n in SIZES.items())


def test_rows_are_computed_in_their_part_of_the_whole():
    calls = [reading(ONE), reading(TWO, Scalar(ONE)), copy(ONE, BOTH, 1, 6)]
    calls += [copy(TWO, BOTH._replace(offset=6), 2, 3), reading(BOTH, TWO)]
    there = ONE._replace(root=3), TWO._replace(root=3, offset=6)
    assert placed(calls) == [
        reading(there[0]), reading(there[1], Scalar(there[0])), reading(BOTH, there[1])
    ]  # fmt: skip


def test_parts_of_parts():
    calls = [reading(ONE), copy(ONE, BOTH._replace(offset=6), 1, 6)]
    calls += [copy(BOTH, ALL._replace(offset=12), 1, 12), reading(ONE, BOTH, ALL)]
    one, both = ONE._replace(root=4, offset=18), BOTH._replace(root=4, offset=12)
    assert placed(calls) == [reading(one), reading(one, both, ALL)]


@pytest.mark.parametrize(
    ("call", "fixed"),
    [
        (copy(ONE, BOTH, 1, 6), {1}),
        (copy(ONE._replace(shape=(1, 3)), BOTH, 1, 3), ()),
        (copy(ONE._replace(offset=3, shape=(1, 3)), BOTH, 1, 3), ()),
        (copy(ONE, BOTH, 2, 3, to_step=6), ()),
        (copy(ONE._replace(strides=(1, 2)), BOTH, 2, 3), ()),
        (copy(ONE._replace(dtype=np.dtype(np.int64)), BOTH, 1, 6), ()),
        (copy(ONE, ONE, 1, 6), ()),
    ],
)
def test_other_copies_stay(call, fixed):
    calls = [reading(ONE), call, reading(BOTH)]
    assert placed(calls, fixed) == calls


def test_a_whole_that_is_filled_first_stays():
    calls = [reading(ONE), reading(BOTH), copy(ONE, BOTH, 1, 6), copy(TWO, ALL, 1, 6)]
    assert placed(calls) == [*calls[:3]]


def test_a_value_stays_beside_what_changes_later():
    calls = [reading(ONE), copy(ONE, BOTH, 1, 6), reading(BOTH), reading(ONE)]
    assert placed(calls, changed={3}) == calls


@pytest.mark.parametrize("name", ["index_add", "scatter_add"])
def test_what_was_added_to_is_read_as_it_was(name):
    index = wengert.zeros(1, dtype=wengert.int64)
    index = index if name == "index_add" else index.expand(4, 5).contiguous()

    def adding(wrap, log):
        @wrap
        def step(x):
            first = getattr(x, name)(0, index, x[:1] if name == "index_add" else x)
            second = getattr(first, name)(0, index, x[:1] if name == "index_add" else x)
            return first * 2, second, first.tanh()

        for k in range(5):
            log += step(wengert.full((4, 5), 0.5 + k))

    compare(adding)


def test_a_value_is_placed_once():
    calls = [reading(ONE), copy(ONE, BOTH, 1, 6), copy(ONE, ALL, 1, 6), reading(BOTH, ALL)]
    there = ONE._replace(root=3)
    assert placed(calls) == [reading(there), copy(there, ALL, 1, 6), reading(BOTH, ALL)]


def test_programs_are_as_before(monkeypatch):
    removed = []

    def watched(calls, *args):
        found = placing.placed(calls, *args)
        removed.append(len(calls) - len(found))
        return found

    monkeypatch.setattr(segments, "placed", watched)

    def training(wrap, log):
        wengert.manual_seed(0)
        w = wengert.randn(4, 4, requires_grad=True)

        @wrap
        def step(xs):
            w.grad = None
            h, all_h = wengert.zeros(2, 4), []
            for x in xs:
                h = (h @ w + x).tanh()
                all_h.append(h)
            joined = wengert.cat(all_h)
            again = wengert.cat([joined.exp(), all_h[0], joined])
            (again.square().mean() + h.sum()).backward()
            return joined, h, again

        for k in range(5):
            log += [*step([wengert.full((2, 4), 0.1 * (k + j)) for j in range(4)]), w.grad]

    compare(training)
    assert sum(removed) > 4


def test_what_is_read_outside_has_its_own_memory():
    @compiler.compile
    def step(x):
        parts = [x.exp(), x.tanh()]
        return wengert.cat(parts), parts[0]

    x = wengert.randn(3, 4)
    for _ in range(5):
        joined, first = step(x)
        expected = np.exp(x.numpy())
        np.testing.assert_allclose(first.numpy(), expected, rtol=1e-5)
        joined.zero_()
        np.testing.assert_allclose(first.numpy(), expected, rtol=1e-5)
