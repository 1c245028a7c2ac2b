"""Rewrites that run until nothing changes, and those that walk graphs."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from wengert.symbolic import gof
from wengert.symbolic import tensor as T
from wengert.symbolic.gof.opt import EquilibriumOptimizer, NavigatorOptimizer, OpKeyOptimizer


def _graph() -> Any:
    x = T.dscalar("x")
    return gof.FunctionGraph([x], [T.exp(T.sin(T.exp(x)))])


def _ops(graph: Any) -> list[str]:
    return [node.op.scalar_op.name for node in graph.toposort()]


def _turn(old: Any, new: Any) -> Any:
    return gof.PatternSub((old, "a"), (new, "a"))


def test_rewrites_run_until_nothing_changes() -> None:
    graph = _graph()
    rules = [_turn(T.cos, T.tanh), _turn(T.exp, T.sin), _turn(T.sin, T.cos)]
    EquilibriumOptimizer(rules, max_use_ratio=10).optimize(graph)
    assert _ops(graph) == ["tanh", "tanh", "tanh"]


def test_rewrites_that_go_round_in_circles_are_stopped(caplog: pytest.LogCaptureFixture) -> None:
    graph = _graph()
    rules = [_turn(T.exp, T.sin), _turn(T.sin, T.exp)]
    with caplog.at_level(logging.ERROR, "theano.gof.opt"):
        EquilibriumOptimizer(rules, max_use_ratio=2).optimize(graph)
    assert "max'ed out" in caplog.text


def test_rewrites_of_whole_graphs_take_part() -> None:
    @gof.optimizer
    def sines(fgraph: Any) -> None:
        for node in fgraph.toposort():
            if node.op == T.sin:
                fgraph.replace(node.outputs[0], T.cos(node.inputs[0]))

    graph = _graph()
    EquilibriumOptimizer([sines, _turn(T.exp, T.sin)], max_use_ratio=10).optimize(graph)
    assert _ops(graph) == ["cos", "cos", "cos"]
    last = _graph()
    EquilibriumOptimizer([_turn(T.exp, T.tanh)], None, final_optimizers=[sines]).optimize(last)
    assert _ops(last) == ["tanh", "cos", "tanh"]


def test_rewrites_of_one_operation_follow_what_they_make() -> None:
    class Unwrap(gof.LocalOptimizer):
        def op_key(self) -> Any:
            return T.exp

        def transform(self, node: Any) -> Any:
            return [T.exp(T.sqr(node.inputs[0]))] if node.inputs[0].owner is None else False

    for ignore, expected in ((True, ["sqr", "exp", "sin", "exp"]),
                             (False, ["sqr", "exp", "sin", "exp"])):  # fmt: skip
        graph = _graph()
        OpKeyOptimizer(Unwrap(), ignore_newtrees=ignore).optimize(graph)
        assert _ops(graph) == expected


def test_the_rewrites_of_the_library_say_for_which_operation_they_are() -> None:
    pattern = {"pattern": (T.exp, "a"), "constraint": lambda v: True}
    for own in (gof.PatternSub(pattern, (T.cos, "a")), gof.OpSub(T.exp, T.cos)):
        graph = _graph()
        OpKeyOptimizer(own).optimize(graph)
        assert _ops(graph) == ["cos", "sin", "cos"]
    bare = _graph()
    OpKeyOptimizer(gof.OpRemove(T.exp)).optimize(bare)
    assert _ops(bare) == ["sin"]


def test_failures_are_raised_or_passed_on() -> None:
    class Wrong(gof.LocalOptimizer):
        def transform(self, node: Any) -> Any:
            raise ValueError("no")

    graph = _graph()
    with pytest.raises(ValueError, match="no"):
        NavigatorOptimizer(Wrong()).process_node(graph, graph.toposort()[0])
    seen: list[Any] = []
    walker = NavigatorOptimizer(Wrong(), failure_callback=lambda *failure: seen.append(failure))
    assert not walker.process_node(graph, graph.toposort()[0])
    assert str(seen[0][0]) == "no"
