"""Loops: test values, what steps may read, and what is computed before them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from wengert import symbolic
from wengert.symbolic import tensor as T
from wengert.symbolic.programs.assembly import MissingInputError
from wengert.symbolic.settings import config


@pytest.fixture
def test_values() -> Iterator[None]:
    with config.change_flags(compute_test_value="raise"):
        yield


def test_steps_and_their_gradients_have_test_values(test_values: None) -> None:
    x = T.dvector("x")
    x.tag.test_value = np.array([0.1, 0.2, 0.3])
    factor = T.exp(x).sum()
    out, _ = symbolic.scan(
        lambda s, h, f: T.tanh(s * h + f),
        sequences=x, outputs_info=T.zeros_like(x[0]), non_sequences=factor,
    )  # fmt: skip
    gradient = T.grad(out.sum(), x)
    f = symbolic.function([x], [out, gradient])
    values, slopes = f(x.tag.test_value)
    np.testing.assert_allclose(out.tag.test_value, values)
    np.testing.assert_allclose(gradient.tag.test_value, slopes)


def test_what_is_computed_before_the_loop_is_computed_once() -> None:
    x, calls = T.dvector("x"), []

    class Counted(symbolic.Op):
        def make_node(self, value):  # type: ignore[no-untyped-def]
            return symbolic.Apply(self, [value], [value.type()])

        def perform(self, node, inputs, outputs):  # type: ignore[no-untyped-def]
            calls.append(None)
            outputs[0][0] = inputs[0] * 2

    twice = Counted()(x)
    out, _ = symbolic.scan(
        lambda i, t: t.sum() + i, sequences=T.arange(5), non_sequences=twice
    )  # fmt: skip
    assert symbolic.function([x], out)([1.0, 2.0]).tolist() == [6.0, 7.0, 8.0, 9.0, 10.0]
    assert len(calls) == 1


def test_strict_steps_read_only_what_they_are_given() -> None:
    w = symbolic.shared(np.eye(3))
    with pytest.raises(MissingInputError, match="is not among the non_sequences"):
        symbolic.scan(lambda s: T.dot(w, s), sequences=T.eye(3), strict=True)
    out, _ = symbolic.scan(
        lambda s, w: T.dot(w, s), sequences=T.eye(3), non_sequences=w, strict=True
    )
    assert symbolic.function([], out)().tolist() == np.eye(3).tolist()
    pair = T.concatenate([w, w], axis=1)  # a non-sequence that is computed of shared variables
    out, _ = symbolic.scan(
        lambda s, p: T.dot(s, p), sequences=T.eye(3), non_sequences=pair, strict=True
    )
    assert symbolic.function([], out)().shape == (3, 6)


def test_taps_are_different() -> None:
    with pytest.raises(ValueError, match="All the taps must be different"):
        symbolic.scan(
            lambda a, b: a + b, outputs_info={"initial": T.ones(3), "taps": [-1, -1]}, n_steps=3
        )
