"""Graphs copied with their shared variables, and functions called by `pfunc`."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import compile, gof
from wengert.symbolic import tensor as T
from wengert.symbolic.compile import rebuild_collect_shared


def test_copies_replace_and_collect() -> None:
    x, y = T.dscalars("x", "y")
    w = theano.shared(2.0, "w")
    w.default_update = w + 1
    outputs: Any = [x * w, compile.Out(x + 1, borrow=True)]
    free, outs, (copies, news, pairs, shareds) = rebuild_collect_shared(
        outputs, [x], replace={x: y * 3}
    )
    assert (outs[1].borrow, shareds, list(news)) == (True, [w], [w])
    assert [s for s, _ in pairs] == [w]
    f = theano.function([y], [outs[0], outs[1].variable, *pairs[0][1:]])
    assert f(1.0) == [6, 4, 3]
    assert copies[x] is free[0]
    assert rebuild_collect_shared(x * w, [x], no_default_updates=True)[2][1] == {}


def test_inputs_are_copied_if_asked() -> None:
    x = T.dscalar("x")
    free, out, _ = rebuild_collect_shared(x + 1, [x], copy_inputs_over=False)
    assert free[0] is not x
    assert theano.function(free, out)(2.0) == 3
    with pytest.raises(TypeError, match="outputs must be Variable or Out"):
        rebuild_collect_shared([3], [x])


def test_givens_of_another_type() -> None:
    v, m = T.ivector(), T.imatrix()
    data = np.ones((2, 2), np.int32)
    f = theano.function([m], v * 3, givens={v: m}, rebuild_strict=False)
    assert f(data).tolist() == [[3, 3], [3, 3]]
    with pytest.raises(TypeError, match="Cannot convert Type"):
        theano.function([m], v * 3, givens={v: m})


def test_pfunc_and_numbers_of_inputs() -> None:
    x, y = T.dscalars("x", "y")
    f = compile.pfunc(params=[x, theano.In(y, value=2.0)], outputs=x * y)
    assert (f(3.0), f[1], f["y"]) == (6, 2, 2)
    with pytest.raises(KeyError, match="Unknown input"):
        f[2]


def test_names_of_several_inputs_are_ambiguous() -> None:
    x, y = T.dscalar("x"), T.dscalar("x")
    f = theano.function([x, y], x + y)
    assert f(1.0, 2.0) == 3
    for use in (lambda: f(1.0, x=2.0), lambda: f["x"]):
        with pytest.raises(TypeError, match="Ambiguous name: x"):
            use()


@compile.as_op([T.dvector], [T.dvector])
def doubled(x: np.ndarray) -> np.ndarray:
    return x * 2


def test_operations_of_decorated_functions_are_pickled() -> None:
    x = T.dvector("x")
    assert pickle.loads(pickle.dumps(doubled)) == doubled
    f = pickle.loads(pickle.dumps(theano.function([x], doubled(x) + 1)))
    assert f([1.0]).tolist() == [3]


def test_containers_have_storage() -> None:
    for readonly in (False, True):
        c = gof.Container(T.dscalar("x"), [np.asarray(1.0)], readonly=readonly)
        assert copy.deepcopy(c).storage == [1]
    with pytest.raises(Exception, match="readonly storage: x"):
        c.data = 2.0


def test_types_of_programs_filter_values_alone() -> None:
    class Whole(theano.Type):
        def filter(self, value: Any) -> Any:  # type: ignore[override]
            return int(value)

    c = gof.Container(Whole()("x"))
    c.data = 2.0
    assert c.data == 2


def test_elementwise_functions_give_lists_if_asked() -> None:
    x = T.dvector("x")
    for out in (T.add(x, x, x, return_list=True), T.mul(x, x, return_list=True),
                T.add(x, return_list=True)):  # fmt: skip
        assert isinstance(out, list)
        assert len(out) == 1
