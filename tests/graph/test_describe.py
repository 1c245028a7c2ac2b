"""`describe`: bytes against what arrays hold, lines, modules, states, what a backward frees."""

from __future__ import annotations

import gc
import json
import os
from typing import Any

import pytest

import wengert
from wengert import nn
from wengert.core.storage import line_numbers, line_of, location_of
from wengert.graph import describe
from wengert.graph.formatting import text_table


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 10))


def ops(report: wengert.graph.GraphReport) -> list[str]:
    return [node.op for node in report.nodes if node.state != "leaf"]


def test_nodes_come_behind_their_inputs() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = x * 2
    report = describe((y.exp() + y).sum())
    assert ops(report) == ["mul", "exp", "add", "sum"]
    for node in report.nodes:
        assert all(k is None or k < node.index for k in node.inputs)
    assert report.nodes[report.roots[0]].op == "sum"


def test_bytes_are_those_of_the_arrays() -> None:
    model, x = network(), wengert.randn(32, 100)
    report = describe(model(x).sum())
    hidden, inputs, weight = 32 * 50 * 4, 32 * 100 * 4, 50 * 10 * 4
    assert report.nbytes == hidden + inputs  # the second layer's input is the ReLU's output
    assert report.leaf_bytes == weight  # the first one's is not read: x wants no gradient
    assert [n.nbytes for n in report.nodes if n.op == "relu"] == [hidden]


def test_a_storage_counts_once_and_whole() -> None:
    big = wengert.ones(1000).requires_grad_(False)
    w = wengert.ones(10, requires_grad=True)
    report = describe((w * big[:10] + w * big[10:20]).sum())
    assert report.nbytes == 4000
    assert [n.nbytes for n in report.nodes if n.op == "mul"] == [4000, 0]


def test_frees_what_nothing_else_holds() -> None:
    w = wengert.ones(100, requires_grad=True)
    hidden = w.exp()
    loss = hidden.sin().sum()
    assert describe(loss).nbytes == 400  # exp's result is sin's input: one storage
    assert describe(loss).frees == 0
    kept = hidden.detach()[:1]
    del hidden
    assert describe(loss).frees == 0  # a view keeps the memory
    del kept
    assert describe(loss).frees == 400


@pytest.mark.parametrize("n", [1, 5])
def test_frees_agrees_with_what_backward_gives_back(n: int) -> None:
    model = network()
    losses = [model(wengert.randn(32, 100)).square().mean() for _ in range(n)]
    expected = sum(describe(loss).frees for loss in losses)
    together = describe(*losses)
    assert together.frees == expected
    gc.disable()
    try:
        for loss in losses:
            loss.backward()
    finally:
        gc.enable()
    assert describe(*losses).nbytes == 0


def test_lines_and_modules() -> None:
    model = network()
    out = model(wengert.randn(4, 100))
    loss = out.sum()
    report = describe(loss)
    assert {g.name for g in report.by_module()} == {
        "Sequential.0", "Sequential.1", "Sequential.2", "(no module)",
    }  # fmt: skip
    lines = {g.text: g for g in report.by_line()}
    assert lines["out = model(wengert.randn(4, 100))"].nodes == 3
    assert lines["loss = out.sum()"].nodes == 1
    assert sum(g.nbytes for g in lines.values()) == report.nbytes
    assert all(n.where.startswith(__file__) for n in report.nodes if n.state != "leaf")


def test_released_nodes_say_by_whom() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    report = describe(y)
    assert "released by backward()" in report.nodes[0].state
    assert "y.sum().backward()" in report.nodes[0].state
    assert report.nbytes == 0
    assert report.by_line()[0].released == 1
    assert "keeps 0 B; backward frees 0 B; 1 is released" in str(report)


def test_what_hooks_packed_counts_by_its_elements() -> None:
    x = wengert.ones(3, requires_grad=True)
    with wengert.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), wengert.tensor):
        y = x.exp()
    (node,) = (n for n in describe(y).nodes if n.op == "exp")
    assert [(s.name, s.nbytes, s.storage) for s in node.saved] == [("result", 12, None)]


def test_plain_data() -> None:
    report = describe(network()(wengert.randn(2, 100)).sum())
    assert json.loads(report.to_json())["nbytes"] == report.nbytes
    assert report.to_dict()["nodes"][0]["state"] == "leaf"
    for by in ("node", "line", "module"):
        assert report.table(by).count("\n") >= 1
    assert "more" in report.table("node", rows=1)
    html = report._repr_html_()
    assert html.count("<table") == 3
    assert html.count("<details open>") == 1


def test_html_is_escaped() -> None:
    x = wengert.ones(1, requires_grad=True)
    y = x * 2 if 1 < 2 else x
    assert "1 &lt; 2" in describe(y)._repr_html_()
    assert "1 < 2" not in describe(y)._repr_html_()


def test_a_million_nodes_need_no_recursion() -> None:
    y = wengert.ones(1, requires_grad=True)
    for _ in range(20_000):
        y = y + 1
    assert len(describe(y).nodes) == 20_001


def test_what_has_no_graph_is_refused() -> None:
    with pytest.raises(RuntimeError, match="does not require grad"):
        describe(wengert.ones(1))
    with pytest.raises(TypeError, match="not int"):
        describe(3)
    with pytest.raises(TypeError, match="at least one"):
        describe()
    with pytest.raises(ValueError, match="'line', 'module' or 'node', and is 'op'"):
        describe(wengert.ones(1, requires_grad=True)).table("op")


def test_nodes_and_edges_are_roots_too() -> None:
    first, second = wengert.ones(4, requires_grad=True).exp().split(2)
    edge = wengert.autograd.graph.get_gradient_edge(second)
    assert ops(describe(edge)) == ops(describe(second))
    assert ops(describe(second.grad_fn)) == ops(describe(second))[:-1]  # not which output
    assert ops(describe(first, second))[0] == "exp"


def test_describing_holds_nothing() -> None:
    x = wengert.ones(100, requires_grad=True)
    y = x.exp()
    report = describe(y)
    frees = report.frees
    report = describe(y)
    assert report.frees == frees
    y.sum().backward()
    assert describe(y).nbytes == 0


def test_columns() -> None:
    assert text_table(["a", "n"], [["long", "1"], ["b", "10"]], {1}) == (
        "a      n\nlong   1\nb     10"
    )


def test_nodes_say_from_which_roots_a_backward_gets_to_them() -> None:
    x = wengert.ones(3, requires_grad=True)
    trunk = x * 2
    left, right = trunk.exp().sum(), trunk.sin().sum()
    report = describe(left, right, trunk)
    found = {node.op: node.roots for node in report.nodes if node.op != "sum"}
    assert found == {"AccumulateGrad": (0, 1, 2), "mul": (0, 1, 2), "exp": (0,), "sin": (1,)}
    assert [report.nodes[k].roots for k in report.roots] == [(0,), (1,), (0, 1, 2)]
    assert {node.roots for node in describe(left).nodes} == {(0,)}
    assert [node.roots for node in describe(x, x).nodes] == [(0, 1)]


def test_calls_of_a_module_are_told_apart() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.Tanh())
    x = wengert.ones(1, 2)
    report = describe(model(model(x)).sum())
    calls = [node.calls for node in report.nodes if node.state != "leaf"]
    names = [tuple(name for name, _ in c) for c in calls]
    assert names == [("Sequential", "0", "0"), ("Sequential", "1")] * 2 + [()]
    assert [node.module for node in report.nodes if node.op == "tanh"] == ["Sequential.1"] * 2
    outer = [c[0] for c in calls[:-1]]
    assert outer[0] == outer[1] != outer[2] == outer[3]
    assert len({number for c in calls for _, number in c}) == 2 * 4


def test_calls_are_one_while_somebody_watches_what_is_saved() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with wengert.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        report = describe(model(wengert.ones(1, 2)).sum())
    first, second = (n.calls for n in report.nodes if n.op in ("linear", "tanh"))
    assert first[0] == second[0]
    assert [name for name, _ in (first[1], second[1])] == ["0", "1"]


def test_parameters_have_the_names_of_their_module() -> None:
    model, free = nn.Sequential(nn.Linear(2, 2)), wengert.ones(2, requires_grad=True)
    report = describe((model(wengert.ones(1, 2)) * free).sum())
    leaves = {node.name: node.shape for node in report.nodes if node.state == "leaf"}
    assert leaves == {"0.weight": (2, 2), "0.bias": (2,), "": (2,)}


def test_tables_have_the_columns_that_say_something() -> None:
    x = wengert.ones(2, 3, requires_grad=True)
    report = describe((x * x).sum())
    where = report.nodes[1].where.removeprefix(f"{os.getcwd()}{os.sep}")
    assert report.table("node").splitlines() == [
        f"bytes  frees  forward  backward  op   shape   {'line'.ljust(len(where))}  saves",
        f"  0 B    0 B   6 FLOP   12 FLOP  mul  [2, 3]  {where}  other[2, 3] (leaf),"
        " self[2, 3] (leaf)",
        f"  0 B    0 B   6 FLOP    6 FLOP  sum  []      {where}",
    ]
    head, *rows = report.table().splitlines()
    assert head == "bytes  frees  forward  backward  nodes  line"
    assert rows == [f"  0 B    0 B  12 FLOP   18 FLOP      2  {where}  {report.nodes[1].text}"]
    assert describe(x.t()).table("module").splitlines()[0] == "bytes  frees  nodes  module"
    model = nn.Sequential(nn.Tanh(), nn.Tanh())
    loss = model(x).sum()
    loss.backward()
    report = describe(loss)
    assert report.table("module").splitlines()[0] == "bytes  frees  nodes  released  module"
    assert report.table("node").splitlines()[0].split() == [
        "bytes", "frees", "op", "shape", "line", "saves", "state",
    ]  # fmt: skip


def test_printed_it_is_by_line() -> None:
    x = wengert.ones(2, requires_grad=True)
    report = describe(x.exp().sum())
    assert str(report).splitlines() == [
        "2 operations over 1 leaf keep 8 B; backward frees 8 B; 4 FLOP forward, 4 FLOP backward",
        *report.table("line").splitlines(),
    ]
    assert str(describe(x)).startswith("0 operations over 1 leaf keep 0 B")


def test_which_output_a_node_stands_for() -> None:
    x = wengert.ones(4, 2, requires_grad=True)
    first, second = x.split(2)
    report = describe((first * second).sum())
    assert [(n.op, n.output) for n in report.nodes] == [
        ("AccumulateGrad", None), ("split", None), ("split", 0), ("split", 1), ("mul", None),
        ("sum", None),
    ]  # fmt: skip


def test_lines_of_long_code_are_those_of_each_instruction() -> None:
    body = "\n".join(f"    x = (x *\n        {k}.0).sin()" for k in range(50))
    names: dict[str, Any] = {}
    exec(compile(f"def f(x):\n{body}\n    return x\n", "long.py", "exec"), names)
    code = names["f"].__code__
    table = line_numbers(code)
    for at in range(0, len(code.co_code), 2):
        assert table.get(at, line_of(code, at)) == line_of(code, at)
    last = names["f"](wengert.ones(2, requires_grad=True))
    node = last.grad_fn
    assert describe(last).nodes[-1].where == location_of(node.code, node.lasti)
