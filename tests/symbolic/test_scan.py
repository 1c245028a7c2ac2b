"""Loops: test values, what steps may read, and what is computed before them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from wengert import symbolic
from wengert.symbolic import function, grad, scan
from wengert.symbolic import tensor as T
from wengert.symbolic.programs.assembly import MissingInputError
from wengert.symbolic.scan_module.scan_op import Scan
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


def test_inputs_that_steps_were_given_count_as_used() -> None:
    x, y = T.dvector("x"), T.dvector("y")
    out, _ = scan(lambda a, y: a * 2, sequences=x, non_sequences=y)
    assert function([x, y], out)([1.0], [2.0]).tolist() == [2.0]


def test_a_scan_of_one_step_is_the_step() -> None:
    x, k = T.ivector("x"), T.dscalar("k")
    total, _ = scan(lambda a, before: before + a, sequences=x, outputs_info=0, n_steps=1)
    assert total.dtype == "int32"
    assert function([x], total)([3, 4]).tolist() == [3]
    last, updates = scan(lambda a, b: (b, a), outputs_info=[k, k + 1], n_steps=-1)
    assert not updates
    assert [v.tolist() for v in function([k], last)(1.0)] == [[2.0], [1.0]]


def test_equal_loops_run_once() -> None:
    x = T.dvector("x")
    first, second = (scan(lambda a: T.exp(a) + 1, sequences=x)[0] for _ in range(2))
    other = scan(lambda a: T.exp(a) + 2, sequences=x)[0]
    assert first.owner.op == second.owner.op != other.owner.op
    f = function([x], [first, second, other])
    assert sum(isinstance(node.op, Scan) for node in f.maker.fgraph.toposort()) == 2
    np.testing.assert_allclose(f([0.0, 1.0])[1], np.exp([0.0, 1.0]) + 1)


def test_a_loop_connects_what_its_steps_connect() -> None:
    a, b, c = T.dvector("a"), T.dvector("b"), T.dvector("c")
    (x, y, z), _ = scan(lambda x, y, z: (x**2, y, x + 1), outputs_info=[a, b, c], n_steps=3)
    cost = (x + y + z).sum()
    values = function([a, b, c], grad(cost, [a, b]))(*[[1.0, 2.0]] * 3)
    # x is a**2, a**4, a**8; z is 1 more than the x before it.
    expected = [2 * v + 4 * v**3 + 8 * v**7 + 1 + 2 * v + 4 * v**3 for v in np.array([1.0, 2.0])]
    np.testing.assert_allclose(values, [expected, [3.0, 3.0]])
    for unconnected, of in ((c, cost), (b, x.sum())):
        with pytest.raises(ValueError, match="not part"):
            grad(of, unconnected)


def test_values_of_tests_are_not_asked_for_where_functions_are_compiled(test_values: None) -> None:
    x, y = T.dvector("x"), T.dvector("y")
    x.tag.test_value, y.tag.test_value = np.ones(2), np.ones(2)
    out, _ = scan(lambda a, b: T.sqr(a * 2 + b) + 1, sequences=[x, y])
    f = function([x, y], T.exp(grad(out.sum(), x) * 2 + x))
    assert f([0.0, 0.0], [0.0, 0.0]).tolist() == [1.0, 1.0]


def test_copies_of_inputs_share_the_values_of_shared_variables() -> None:
    x, y, s = T.dscalar("x"), T.dscalar("y"), symbolic.shared(2.0, "s")
    copied = symbolic.clone(x * s, replace={x: y + 1}, share_inputs=False)
    free = [v for v in symbolic.gof.graph.inputs([copied]) if not isinstance(v, symbolic.Constant)]
    assert [v.name for v in free] == ["y", "s"]
    assert not {x, y, s} & set(free)
    f = function(free[:1], copied)
    s.set_value(5.0)
    assert f(1.0) == 10.0


@pytest.mark.parametrize("steps", [4, 5, 6])
def test_checkpoints_are_states_of_the_whole_loop(steps: int) -> None:
    x, k, a = T.dvector("x"), T.iscalar("k"), T.dscalar("a")

    def step(v: Any, total: Any, product: Any, a: Any) -> list[Any]:
        return [total * a + v, product * v]

    loop: dict[str, Any] = {
        "sequences": [x], "outputs_info": [T.zeros_like(a), T.ones_like(a)],
        "non_sequences": [a], "n_steps": k,
    }  # fmt: skip
    plain, _ = symbolic.scan(step, **loop)
    kept, _ = symbolic.scan_checkpoints(step, **loop, save_every_N=2)
    slopes = [grad(v[0][-1] * v[1][-1], [x, a]) for v in (plain, kept)]
    f = function([x, k, a], [*plain, *kept, *slopes[0], *slopes[1]])
    found = f(np.arange(1.0, 8.0), steps, 0.5)
    ends = [*range(1, steps, 2), steps - 1] if steps % 2 else range(1, steps, 2)
    for whole, some in ((found[0], found[2]), (found[1], found[3])):
        assert some.tolist() == whole[list(ends)].tolist()
    for one, other in ((found[4], found[6]), (found[5], found[7])):
        np.testing.assert_allclose(one, other, 1e-12)


def test_checkpoints_without_padding_and_without_taps() -> None:
    x = T.dvector("x")
    doubled, _ = symbolic.scan_checkpoints(lambda v: v * 2, [x], save_every_N=2, padding=False)
    assert function([x], doubled)([1.0, 2.0, 3.0, 4.0]).tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="taps"):
        symbolic.scan_checkpoints(lambda p: p, [], {"initial": x, "taps": [-2]})
    with pytest.raises(RuntimeError, match="n_steps is needed"):
        symbolic.scan_checkpoints(lambda p: p, [], T.zeros(()))
