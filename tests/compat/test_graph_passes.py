"""Passes over graphs, as packages have them of PyTorch, and its other names beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wengert
from tests.cli.process import good, python
from tests.cli.process import wengert as run
from wengert import nn
from wengert.compat._private.decompositions import get_decompositions, register_decomposition
from wengert.compat._private.functorch_compile import draw_graph, ts_compile
from wengert.compat._private.graph_passes import PassManager, pass_result_wrapper
from wengert.compat._private.graph_passes import this_before_that_pass_constraint as before
from wengert.compat._private.guards import TracingContext, tracing
from wengert.fx import symbolic_trace

PROGRAM = Path(__file__).with_name("graph_passes.py")


@pytest.mark.torch
def test_passes_give_what_they_give_in_pytorch(torch: Any) -> None:
    ours = good(run("run", "--quiet", str(PROGRAM))).splitlines()
    assert ours == good(python(str(PROGRAM))).splitlines()
    assert len(ours) > 20


def test_constraints_put_passes_in_order() -> None:
    seen: list[str] = []
    first = pass_result_wrapper(lambda gm: seen.append("first"))
    second = pass_result_wrapper(lambda gm: seen.append("second"))
    manager = PassManager([second, first], [before(first, second)])
    assert manager(symbolic_trace(nn.Tanh())).modified
    assert seen == ["first", "second"]
    manager.add_constraint(before(second, first))
    with pytest.raises(RuntimeError, match="Circular dependency"):
        manager(symbolic_trace(nn.Tanh()))
    with pytest.raises(TypeError, match="expected a PassResult"):
        PassManager([lambda gm: 3])(symbolic_trace(nn.Tanh()))


def test_pictures_need_pydot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pydot", None)
    with pytest.raises(ImportError, match="pydot"):
        draw_graph(symbolic_trace(nn.Tanh()), "graph.svg")


def test_decompositions_are_those_that_users_register() -> None:
    register_decomposition(["a", "b"])(len)
    try:
        assert get_decompositions(["a", "c"]) == {"a": len}
        with pytest.raises(RuntimeError, match="duplicate registrations"):
            register_decomposition("a")(len)
    finally:
        table = register_decomposition.__globals__["decomposition_table"]
        table.clear()


def test_tracing_contexts_and_traced_graphs() -> None:
    with pytest.raises(RuntimeError, match="ongoing trace"):
        TracingContext.get()
    with tracing(TracingContext()) as context:
        assert TracingContext.get() is context
    x = wengert.ones(2)
    assert wengert.equal(ts_compile(symbolic_trace(lambda x: x.exp() + 1), [x])(x), x.exp() + 1)
