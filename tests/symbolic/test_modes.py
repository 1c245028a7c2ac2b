"""Helpers of modes that watch values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import gof
from wengert.symbolic import tensor as T
from wengert.symbolic.compile import debugmode
from wengert.symbolic.compile import mode as modes_of_theano


def test_monitors_and_guards_have_helpers(capsys: pytest.CaptureFixture[str]) -> None:
    from wengert.symbolic import modes, monitoring

    assert modes.flatten([1, (2, {3}), [[4]]]) == [1, 2, 3, 4]
    numbers = [np.array([1.0, np.nan]), np.array([-np.inf]), np.array([1]), "text"]
    assert [modes.contains_nan(v) for v in numbers] == [True, False, False, False]
    assert [modes.contains_inf(v) for v in numbers] == [False, True, False, False]
    x = T.dvector("x")
    mode = theano.compile.MonitorMode(post_func=monitoring.detect_nan)
    f = theano.function([x], T.log(x), mode=mode)
    f([1.0])
    assert capsys.readouterr().out == ""
    f([-1.0, 1.0])
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0], *lines[-2:]] == [
        "*** NaN detected ***", "Inputs : [array([-1.,  1.])]", "Outputs: [array([nan,  0.])]"
    ]  # fmt: skip


def test_debug_mode_looks_for_values_that_are_not_finite() -> None:
    x = T.dvector("x")
    f = theano.function([x], T.log(x) * 2, mode="DEBUG_MODE")
    assert f([1.0]) == [0.0]
    for bad in ([-1.0], [0.0], [np.inf], [np.nan]):
        with pytest.raises(debugmode.InvalidValueError, match="non-finite elements"):
            f(bad)
    mode = modes_of_theano.predefined_modes["DEBUG_MODE"]
    mode.check_isfinite = False  # type: ignore[attr-defined]
    try:
        assert f([0.0]) == [-np.inf]
    finally:
        mode.check_isfinite = True  # type: ignore[attr-defined]
    with theano.change_flags(**{"DebugMode.check_finite": False}):
        assert not theano.compile.DebugMode().check_isfinite
    assert theano.compile.DebugMode(check_isfinite=False, stability_patience=3) != mode


def checking(new: Callable[[Any], Any], name: str) -> theano.compile.DebugMode:
    """A mode with one rewrite, of products."""

    @gof.local_optimizer([T.mul])
    def rewrite(node: Any) -> Any:
        found = new(node)
        return found if found is None else [found]

    rules = gof.EquilibriumDB()
    rules.register(name, rewrite, f"only {name}")
    return theano.compile.DebugMode(rules.query(f"+only {name}"), stability_patience=4)


def test_debug_mode_compares_what_rewrites_put_in_place() -> None:
    x, y = T.dvectors("x", "y")
    product = x * y
    values = [1.0, 2.0], [3.0, 4.0]
    wrong = theano.function([x, y], product, mode=checking(lambda n: n.inputs[0] + y, "wrong"))
    with pytest.raises(gof.toolbox.BadOptimization, match="the rewrite wrong put") as caught:
        wrong(*values)
    error = caught.value
    assert (error.reason, error.old_r, error.new_r_val.tolist()) == ("wrong", product, [4, 6])
    joined = checking(lambda n: x + T.join(0, x, y), "joined")
    with pytest.raises(ValueError, match=r"An optimization \(probably joined\) inserted"):
        theano.function([x, y], product, mode=joined)(*values)
    right = checking(lambda n: x / (1 / y), "right")
    assert theano.function([x, y], product, mode=right)(*values).tolist() == [3, 8]


def test_debug_mode_checks_rewrites_when_a_function_is_compiled() -> None:
    x, y = T.dvectors("x", "y")
    narrow = checking(lambda n: n.outputs[0].astype("float32"), "narrow")
    with pytest.raises(debugmode.BadOptimization, match="the rewrite narrow put"):
        theano.function([x, y], x * y, mode=narrow)
    turns = iter([True, False] * 9)
    with pytest.raises(debugmode.StochasticOrder, match="the rewrite unstable"):
        theano.function([x, y], x * y, mode=checking(lambda n: x + y if next(turns) else None,
                                                     "unstable"))  # fmt: skip


def test_optimizers_of_modes_run_alone() -> None:
    x = T.dvector("x")

    class Swap(gof.Optimizer):
        def apply(self, fgraph: Any) -> None:
            for node in fgraph.toposort():
                if node.op == T.exp:
                    fgraph.replace_validate(node.outputs[0], T.log(node.inputs[0]))

    def names(optimizer: Any) -> list[str]:
        f = theano.function([x], T.exp(x) + T.exp(x), mode=theano.Mode("py", optimizer))
        return [node.op.name for node in f.maker.fgraph.toposort()]

    assert names(Swap()) == ["log", "log", "add"]
    modes_of_theano.register_optimizer("swapping", Swap())
    assert names("swapping") == ["log", "log", "add"]
    assert names(gof.SeqOptimizer(Swap(), gof.MergeOptimizer())) == ["log", "add"]
    stages = [modes_of_theano.OPT_FAST_COMPILE, modes_of_theano.OPT_NONE]
    assert [names(stage) for stage in stages] == [["exp", "add"], ["exp", "exp", "add"]]
    query = modes_of_theano.optdb.query(modes_of_theano.OPT_FAST_COMPILE)
    assert names(query) == ["exp", "add"]
    for register in (modes_of_theano.register_optimizer, modes_of_theano.register_linker):
        with pytest.raises(ValueError, match="name already taken"):
            register("fast_run" if register is modes_of_theano.register_optimizer else "py", None)


def test_modes_may_trust_assertions() -> None:
    x = T.dscalar("x")
    checked = T.opt.assert_op(x * 2, T.gt(x, 0))
    for tag in ("local_remove_all_assert", "unsafe"):
        mode = theano.compile.get_mode("FAST_RUN").including(tag)
        assert theano.function([x], checked, mode=mode)(-1.0) == -2.0
    with pytest.raises(AssertionError):
        theano.function([x], checked)(-1.0)


def test_gradients_of_logarithms_of_sums_stay_finite() -> None:
    x = T.dmatrix("x")
    total = T.log(T.sum(T.exp(x), axis=1))
    rest = T.log(T.erfc(x))
    f = theano.function([x], [T.grad(total.sum(), x), T.grad(rest.sum(), x), rest])
    of_total, of_rest, logarithm = f([[1000.0, 1000.0], [-1000.0, -2000.0]])
    np.testing.assert_allclose(of_total, [[0.5, 0.5], [1, 0]], 1e-12)
    np.testing.assert_allclose(of_rest, [[-2000.0, -2000.0], [0, 0]], 1e-6)
    np.testing.assert_allclose(logarithm[:, 0], [-1e6, np.log(2)], 1e-4)
    empty = theano.function([x], total)(np.full((1, 2), -np.inf))
    assert empty.tolist() == [-np.inf]
