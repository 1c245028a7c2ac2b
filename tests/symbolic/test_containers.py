"""What holds the values of inputs between calls, and how inputs are declared."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T


def test_storage_of_inputs_between_calls() -> None:
    x, scale = T.dscalars("x", "scale")
    w = theano.shared(2.0, "w")
    f = theano.function([x, theano.In(scale, value=3.0)], x * scale * w)
    assert [s.data for s in f.input_storage] == [None, 3.0, 2.0]
    f.input_storage[1].value = 10
    f.input_storage[2].data = 1.0
    assert f(1.0) == 10.0
    assert w.get_value() == 1.0
    with pytest.raises(TypeError):
        f.input_storage[1].data = "ten"
    assert [i.variable for i in f.maker.inputs] == [x, scale, w]
    assert (scale in f.container, T.dscalar() in f, "scale" in f.value) == (True, False, True)
    # Functions share what holds a value; a copy has its own, of the value at the time.
    g = theano.function([theano.In(scale, value=f.container[scale])], scale + 1)
    f[scale] = 5.0
    h = copy.copy(f)
    f[scale] = 6.0
    assert (float(g()), float(h[scale])) == (7.0, 5.0)
    both = copy.deepcopy([f, g])
    both[0]["scale"] = 2.0
    assert (float(both[1]()), float(g())) == (3.0, 7.0)


def test_declarations_of_inputs_are_checked() -> None:
    x, s = T.dscalar("x"), theano.shared(1.0, "s")
    with pytest.raises(TypeError, match="name must be a string"):
        theano.In(x, name=["x"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"the update of x must have its type.*vector"):
        theano.In(x, update=T.dvector())
    with pytest.raises(TypeError, match="Cannot use a shared variable"):
        theano.function([theano.In(s, update=s + 1)])
    with pytest.raises(TypeError, match="no constructor takes"):
        theano.shared(7, bad_kw=False)


def test_what_is_borrowed_is_not_what_was_passed_unless_that_is_borrowed_too() -> None:
    x, value = T.dmatrix("x"), np.ones((2, 2))
    for borrow in (False, True):
        f = theano.function([theano.In(x, borrow=borrow)], theano.Out(x[0], borrow=True))
        assert np.may_share_memory(f(value), value) == borrow


def test_only_default_takes_none() -> None:
    x, y = T.dscalar("x"), T.dscalar("y")
    f = theano.function([x, y], T.default(x, y))
    assert [float(f(None, 2.0)), float(f(x=1.0, y=2.0))] == [2.0, 1.0]
    with pytest.raises(TypeError, match="Missing required input: x"):
        f(y=2.0)
    for g in (
        theano.function([x, y], T.default(x, y) + x),
        theano.function([x, y], [T.default(x, y), x]),
    ):
        with pytest.raises(TypeError, match="Bad input argument"):
            g(None, 2.0)
