"""The census of live graphs: who holds them, how old they are, and which are leaks."""

from __future__ import annotations

import gc
import json
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

import wengert
from wengert import nn
from wengert.graph import Holder, LiveGraph, live

pytestmark = pytest.mark.usefixtures("alone")


def graph_of(size: int) -> wengert.Tensor:
    """A tensor with a graph of its own that keeps that many floats."""
    return wengert.ones(size, requires_grad=True).exp()


def found(size: int) -> LiveGraph:
    (graph,) = (g for g in live().graphs if g.nbytes == 4 * size)
    return graph


def paths(size: int) -> list[str]:
    return [holder.path for top in found(size).tops for holder in top.holders]


def scopes(size: int) -> list[str]:
    return [holder.scope for top in found(size).tops for holder in top.holders]


kept_globally = None


def test_a_local_variable() -> None:
    loss = graph_of(1001)
    graph = found(1001)
    (holder,) = graph.tops[0].holders
    assert (holder.path, holder.scope) == ("loss", "local of test_a_local_variable")
    assert holder.where.startswith(__file__)
    assert graph.nodes == 1
    assert "exp" in graph.tops[0].made
    assert loss.shape == graph.tops[0].shape


def test_a_global_variable() -> None:
    global kept_globally
    kept_globally = graph_of(1002)
    try:
        assert paths(1002) == ["kept_globally"]
        assert scopes(1002) == [f"global of {__name__}"]
    finally:
        kept_globally = None


def test_containers() -> None:
    losses = [0, graph_of(1003)]
    named = {"a": {"b": graph_of(1004)}}
    pairs = ((graph_of(1005),),)
    queue = deque([graph_of(1006)])
    several = {graph_of(1007)}
    assert paths(1003) == ["losses[1]"]
    assert found(1003).tops[0].holders[0].containers == ("list",)
    assert paths(1004) == ["named['a']['b']"]
    assert paths(1005) == ["pairs[0][0]"]
    assert paths(1006) == ["queue[0]"]
    assert paths(1007) == ["several (in the set)"]
    assert all((losses, named, pairs, queue, several))


class Slotted:
    __slots__ = ("state",)


@dataclass
class Trainer:
    history: dict[str, list[wengert.Tensor]] = field(default_factory=dict)


def test_attributes() -> None:
    trainer, slotted, plain = Trainer(), Slotted(), SimpleNamespace()
    trainer.history["loss"] = [graph_of(1008)]
    slotted.state = graph_of(1009)
    plain.inner = SimpleNamespace(y=graph_of(1010))
    assert paths(1008) == ["trainer.history['loss'][0]"]
    assert paths(1009) == ["slotted.state"]
    assert paths(1010) == ["plain.inner.y"]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = graph_of(1011)


def test_a_module_that_keeps_its_state() -> None:
    model = nn.Sequential(nn.ReLU(), Recurrent())
    (path,) = {p for p in paths(1011) if p.startswith("model")}
    assert path.endswith(".hidden")
    assert model


def test_functions_and_generators() -> None:
    def closure() -> object:
        y = graph_of(1012)
        return lambda: y

    def generator() -> Iterator[int]:
        z = graph_of(1013)
        yield 1
        assert z

    function, paused = closure(), generator()
    next(paused)
    assert {"function.y", "y"} == set(paths(1012))
    assert "kept by the function <lambda>" in scopes(1012)
    assert {"paused.z", "z"} == set(paths(1013))
    assert "kept by the generator generator" in scopes(1013)
    assert function


def test_another_thread() -> None:
    ready, done = threading.Event(), threading.Event()

    def work() -> None:
        mine = graph_of(1014)
        ready.set()
        done.wait(30)
        assert mine.shape == (1014,)

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(30)
    try:
        assert scopes(1014) == ["local of work"]
    finally:
        done.set()
        thread.join(30)


def test_a_node_without_a_tensor() -> None:
    node = graph_of(1015).grad_fn
    assert paths(1015) == ["node"]
    assert node is not None


def test_asking_keeps_nothing_alive() -> None:
    gc.disable()
    try:
        for _ in range(4):  # from the second time on, what was there after the first
            loss = graph_of(1016)
            live()
            del loss
            assert not [g for g in live().graphs if g.nbytes == 4 * 1016]
    finally:
        gc.enable()


def test_graphs_that_share_an_operation_are_one() -> None:
    trunk = graph_of(1017)
    one, two = trunk.sin(), trunk.cos()
    graph = found(1017)
    assert graph.nodes == 3
    assert len(graph.tops) == 2
    assert one.shape == two.shape


def test_age_counts_backward_calls() -> None:
    state = graph_of(1018)
    for _ in range(3):
        graph_of(2).sum().backward()
    later = state.sin()
    graph_of(2).sum().backward()
    (graph,) = (g for g in live().graphs if g.nodes == 2)
    assert (graph.age, graph.oldest) == (1, 4)
    assert later.shape == state.shape


def test_released_graphs_are_counted_apart() -> None:
    before = live().released
    loss = graph_of(1019).sum()
    loss.backward()
    assert live().released == before + 1
    assert not [g for g in live().graphs if g.nbytes == 4 * 1019]
    assert loss.shape == ()


def test_plain_data_and_text() -> None:
    loss = graph_of(1020)
    census = live()
    assert json.loads(census.to_json())["graphs"]
    assert "local of test_plain_data_and_text" in str(found(1020).tops[0].holders[0])
    assert "4.1 kB" in str(census)
    assert isinstance(found(1020).tops[0].holders[0], Holder)
    assert loss is not None


def test_holders_with_their_bytes() -> None:
    shared = wengert.ones(500, requires_grad=True).exp()
    losses = [shared.detach() * wengert.ones(500, requires_grad=True) for _ in range(3)]
    other = losses[0]
    (graphs,) = (h for h in live().holders if h.name == "losses[*]")
    assert (graphs.graphs, graphs.nodes, graphs.nbytes, graphs.oldest) == (3, 3, 2000, 0)
    assert graphs.text.startswith("losses = [shared.detach()")
    (one,) = (h for h in live().holders if h.name == "other")
    assert (one.graphs, one.nbytes, one.text) == (1, 2000, "other = losses[0]")
    assert shared.shape == other.shape


def test_each_storage_counts_once() -> None:
    before = live().nbytes
    data = wengert.ones(700)
    kept = [data * wengert.ones(700, requires_grad=True) for _ in range(2)]
    census = live()
    assert census.nbytes == before + 2800
    assert sum(g.nbytes for g in census.graphs if g.nbytes == 2800) == 5600
    assert kept


def test_tables() -> None:
    loss = graph_of(1021)
    census = live()
    assert census.table().splitlines()[0].split()[:4] == ["bytes", "nodes", "age", "oldest"]
    assert "loss, local of test_tables" in census.table("holder")
    assert "loss = graph_of(1021)" in census.table("holder")
    assert "loss" in census._repr_html_()
    with pytest.raises(ValueError, match="'graph' or 'holder', and is 'line'"):
        census.table("line")
    assert loss is not None


def test_a_graph_that_grows_is_known_by_what_carries_it_on() -> None:
    total = wengert.zeros(())
    for k in range(5):
        total = total + graph_of(2).sum()
        graph_of(2).sum().backward()
        mean = total / (k + 1)
    (graph,) = (g for g in live().graphs if g.grew == 6)
    assert [top.holders[0].path for top in graph.tops] == ["total", "mean"]
    assert (graph.passed, graph.severed, graph.oldest, graph.age) == (None, False, 5, 0)
    assert graph.tops[0].nodes == graph.nodes - 1
    assert mean.shape == ()


def test_who_uses_a_graph_and_what_cannot_be_used() -> None:
    trunk = graph_of(1022)
    trunk.sum().backward(retain_graph=True)
    graph_of(2).sum().backward()
    assert found(1022).passed == 1
    loss = graph_of(1023)
    after = loss * 2
    loss.sum().backward()
    (graph,) = (g for g in live().graphs if g.severed)
    assert (graph.nodes, graph.nbytes) == (1, 4)  # the factor
    assert after.shape == loss.shape
