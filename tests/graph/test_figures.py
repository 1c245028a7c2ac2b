"""All figures of the same graphs agree: with each other, and with the memory that there is.

Programs at random: graphs over shared data, parameters and each other's results, which are kept,
passed, retained and dropped.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wengert
from wengert import nn
from wengert.autograd.engine import running_walks
from wengert.autograd.graph import saved_tensors_hooks
from wengert.core.storage import owner
from wengert.core.tensor import Leaf, Node, memory_of, nodes_below
from wengert.graph import GraphReport, Recorder, Timeline, describe, held_by, live, profile, why
from wengert.graph._flops import summed
from wengert.graph.description import _arrays
from wengert.graph.drawing._boxes import boxes_of
from wengert.utils.checkpoint import checkpoint

STEPS = (
    "build", "build", "join", "scale", "backward", "retain", "grad", "drop", "other", "penalty",
    "checkpoint", "pack", "write", "part",
)  # fmt: skip
Memory = dict[int, int]  # bytes of storages by their addresses


class Net(nn.Module):
    """Parameters that several graphs share, and a result that does not always reach the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: wengert.Tensor) -> wengert.Tensor:
        return self.second(self.first(x).relu())


class Program:
    """A program that keeps what it likes, and the bytes that its graphs held at most.

    `peak` is the most at the beginning of a backward, and `in_between` after one that has made a
    graph: a recorder may look there, too.
    """

    def __init__(self) -> None:
        self.net = Net()
        self.data = wengert.randn(64, 8)
        self.inputs = wengert.randn(10, 8, requires_grad=True)
        self.kept: list[wengert.Tensor] = []
        self.peak = self.in_between = 0
        self.after: int | None = 0  # the last backward; None where that has made a graph

    def do(self, step: str, at: int) -> None:
        """One step; what it works on is chosen by a number."""
        rows = self.data[at % 60 : at % 60 + 4]
        some = self.kept[at % len(self.kept)] if self.kept else None
        if some is None or step in ("build", "other", "checkpoint", "pack"):
            self.kept.append(self.built(step, rows, at))
        elif step == "drop":
            del self.kept[at % len(self.kept)]
        elif step == "scale":
            self.kept.append((rows * some.detach().sum()) @ self.net.first.weight.t())
        elif not passable(some):
            pass
        elif step == "join":
            self.kept.append(some.reshape(-1)[:2] * self.net(rows).reshape(-1)[:2])
        elif step == "part":
            self.kept += some.reshape(-1).repeat(2).split(some.numel())
        elif step == "write":
            more = some * 1
            more.view(-1)[:2].mul_(rows[0, 0])
            self.kept.append(more.sin_())
        else:
            self.passed(step, some)

    def built(self, step: str, rows: wengert.Tensor, at: int) -> wengert.Tensor:
        """A graph of its own."""
        if step == "other":
            return (self.inputs * self.inputs).view(-1)[at % 8 : at % 8 + 32].sin()
        if step == "checkpoint":
            return checkpoint(self.net, rows, use_reentrant=False).tanh()
        with (
            saved_tensors_hooks(lambda t: t.half(), lambda t: t.float())
            if step == "pack"
            else (nullcontext())
        ):
            return self.net(rows).exp()

    def passed(self, step: str, some: wengert.Tensor) -> None:
        """A backward."""
        self.before()
        if step == "penalty":
            leaves = [self.net.first.weight, self.inputs]
            found = wengert.autograd.grad(some.sum(), leaves, create_graph=True, allow_unused=True)
            made = [g for g in found if g is not None]
            self.in_between = max(self.in_between, sum(held([*self.kept, *made]).values()))
            self.kept += [g.square() for g in made if g.requires_grad]
        elif step == "grad":
            wengert.autograd.grad(some.sum(), self.net.first.weight, allow_unused=True)
        else:
            some.sum().backward(retain_graph=step == "retain")
        self.after = None if step == "penalty" else sum(held(self.kept).values())

    def before(self) -> None:
        """A backward is about to begin; its own root keeps nothing."""
        self.peak = max(self.peak, sum(held(self.kept).values()))


def live_edge(tensor: wengert.Tensor) -> bool:
    return tensor._edge is not None and not released(tensor._edge)


def passable(tensor: wengert.Tensor) -> bool:
    return tensor._edge is not None and not any(map(released, nodes_below([tensor._edge])))


def released(node: Node) -> bool:
    return type(node) is not Leaf and node.state is not None and node.state.released is not None


def held(tensors: Iterable[wengert.Tensor]) -> Memory:
    """The memory behind what the graphs of tensors saved, without that of leaves."""
    nodes = nodes_below([t._edge for t in tensors if t._edge is not None])
    leaves = [n.tensor() for n in nodes if type(n) is Leaf]
    own = {address(memory_of(leaf)) for leaf in leaves if leaf is not None}
    found = {address(a): owner(a).nbytes for n in nodes if not released(n) for a in _arrays(n)}
    return {at: nbytes for at, nbytes in found.items() if at not in own}


def address(array: Any) -> int:
    at: int = owner(array).ctypes.data
    return at


def described(tensor: wengert.Tensor) -> GraphReport:
    """The report on a graph, whose parts sum up."""
    report = describe(tensor)
    nodes, whole = report.nodes, boxes_of(report, 60)[0][0]
    for groups in (report.by_line(), report.by_module(), nodes):
        assert sum(group.nbytes for group in groups) == report.nbytes
        assert sum(group.frees for group in groups) == report.frees
        assert summed(group.flops for group in groups) == report.flops == whole.flops
    operations = [node for node in nodes if node.state != "leaf"]
    for groups in (report.by_line(), report.by_module()):
        assert sum(group.nodes for group in groups) == len(operations)
        assert sum(group.released for group in groups) == sum(n.released for n in nodes)
    assert tensor._edge is not None
    both = held_by(nodes_below([tensor._edge]))
    assert (whole.nbytes, whole.leaf_bytes, whole.frees) == (
        report.nbytes, report.leaf_bytes, report.frees
    )  # fmt: skip
    assert (both.graph, both.leaves) == (report.nbytes, report.leaf_bytes)
    return report


def check_all(program: Program) -> None:
    """What all looks at the graphs say now."""
    everything = sum(held(program.kept).values())
    census = live()
    assert census.nbytes == everything
    assert sum(graph.nbytes for graph in census.graphs) >= everything
    for graph in census.graphs:
        assert graph.nbytes == sum(nbytes for _, nbytes in graph.storages) <= everything
        assert all(top.nbytes <= graph.nbytes for top in graph.tops)
    assert all(holder.nbytes <= everything for holder in census.holders)
    for leak in census.leaks(1):
        assert leak.nbytes <= everything
        assert leak.nodes <= sum(graph.nodes for graph in census.graphs)
    for tensor in program.kept[-2:]:
        if live_edge(tensor):
            report = described(tensor)
            assert report.nbytes == sum(held([tensor]).values())
            keepers = why(tensor).alive
            assert max(keeper.nbytes for keeper in keepers) == report.nbytes
            assert max(keeper.nodes for keeper in keepers) == sum(
                not node.released for node in report.nodes if node.state != "leaf"
            )


def check_timeline(timeline: Timeline, program: Program) -> None:
    """What a profile says at the end."""
    assert timeline.left_bytes == timeline.total[-1] == sum(held(program.kept).values())
    assert timeline.peak.nbytes == max(timeline.total) >= program.peak
    assert sum(node.nbytes for node in timeline.peak.nodes) == timeline.peak.nbytes
    for bands in (timeline.lines, timeline.modules):
        if bands:
            sums = [sum(at) for at in zip(*[band.values for band in bands], strict=True)]
            assert sums == list(timeline.total)
    for call in timeline.calls:
        assert call.after <= timeline.peak.nbytes
        assert call.before <= timeline.peak.nbytes


@pytest.fixture(scope="module", autouse=True)
def thawed() -> Iterator[None]:
    """What examples have set aside is the collector's again."""
    yield
    gc.unfreeze()


@settings(max_examples=40, deadline=None)
@example([  # the graph of gradients is the largest, when the walk that made it has ended
    ("checkpoint", 158), ("checkpoint", 6), ("build", 435), ("checkpoint", 525), ("pack", 183),
    ("penalty", 908), ("drop", 460),
])  # fmt: skip
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 1000)), min_size=3, max_size=25))
def test_figures_agree(steps: list[tuple[str, int]]) -> None:
    gc.collect()
    gc.freeze()  # what there was before
    running_walks.recent.clear()
    program, recorder = Program(), Recorder()
    recorder.start()
    with profile() as memory:
        for step, at in steps:
            program.do(step, at)
        check_all(program)
    recorder.stop()
    check_timeline(memory.timeline, program)
    program.before()  # the end
    found = recorder.report().memory
    assert program.peak <= found.peak <= max(program.peak, program.in_between)
    assert program.after in (None, found.after)
