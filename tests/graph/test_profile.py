"""What a profile says that graphs held is what they held: counted by hand after each operation."""

from __future__ import annotations

import gc
import json

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.autograd import engine
from wengert.autograd.saved import packing
from wengert.core.tensor import Node, tick
from wengert.graph import held_by
from wengert.graph.timelines.replay import Replay
from wengert.utils.checkpoint import checkpoint


class Counting:
    """Counts what all live nodes hold, each time that it is called."""

    def __init__(self):
        self.counts = []

    def __call__(self, value=None):
        # Without a number: what stands in for a node while its values are unpacked.
        objects = gc.get_objects()
        nodes = [o for o in objects if issubclass(type(o), Node) and hasattr(o, "seq")]
        self.counts.append((tick(), held_by(nodes).graph))
        return value

    @property
    def peak(self):
        return max(nbytes for _, nbytes in self.counts)


@pytest.fixture
def check():
    """A counter; afterwards, all that it counted is compared with the profile's `memory`."""
    gc.collect()
    gc.freeze()  # what is there need not be looked through at each count
    counting = Counting()
    counting.memory = wengert.graph.profile()
    with counting.memory:
        yield counting
    assert engine.observers == packing.observers == []
    replay = Replay(counting.memory._recording)
    totals = []
    replay.run(lambda k, state: totals.append(state.total))
    held = [0, *totals]
    found = [held[np.searchsorted(replay.at, at, "right")] for at, _ in counting.counts]
    assert found == [nbytes for _, nbytes in counting.counts]
    timeline = counting.memory.timeline
    assert timeline.peak.nbytes == counting.peak > 0
    assert sum(node.nbytes for node in timeline.peak.nodes) == counting.peak
    for bands in (timeline.lines, timeline.modules):
        sums = [sum(values) for values in zip(*(band.values for band in bands), strict=True)]
        assert sums == list(timeline.total)
        assert sum(band.at_peak for band in bands) == counting.peak


def leaf(*shape):
    return wengert.randn(*shape, requires_grad=True)


def test_plain_training(check):
    model = nn.Sequential(nn.Linear(10, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = wengert.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        hidden = wengert.randn(16, 10)
        for layer in model:
            hidden = check(layer(hidden))
        loss = check(hidden.square())
        loss = check(loss.mean())
        loss.backward()
        check()
        optimizer.step()
        check()
    peak = check.memory.timeline.peak
    assert (peak.nbytes, peak.leaf_bytes) == (16 * 10 * 4 + 16 * 8 * 4 + 16 * 3 * 4, 3 * 8 * 4)


def test_views_of_one_storage_count_once(check):
    x = leaf(10)
    y = check(x.exp())
    z = check(y[2:4] * y[4:6])
    check((z * y[:2]).sum()).backward()
    check()


def test_retained_graph(check):
    x = leaf(50)
    y = check(x.exp())
    z = check(y.exp())
    z.sum().backward(retain_graph=True)
    check()
    w = check(y * y)
    (w.sum() + z.sum()).backward()
    check()
    del y, z, w
    check()


def test_retained_graphs_that_are_dropped(check):
    kept = []
    for _ in range(4):
        y = check(leaf(50).exp())
        y.sum().backward(retain_graph=True)
        kept.append(y)
        check()
    del kept[:2]
    check()
    assert check.memory.timeline.left_bytes == 3 * 200 - 200  # `y` is the last of them


def test_automatic_retention(check):
    trunk = check(leaf(20).exp())
    first, second = check(trunk.tanh().sum()), check(trunk.sin().mean())
    first.backward(retain_graph="auto")
    check()
    second.backward(retain_graph="auto")
    check()


def test_several_losses(check):
    trunk, left, right = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 1)
    for _ in range(2):
        features = check(check(trunk(wengert.randn(9, 4))).tanh())
        a, b = check(left(features)), check(right(features))
        check(a.mean()).backward(retain_graph=True)
        check()
        check(b.square().mean()).backward()
        check()


def test_part_of_a_graph_that_no_loss_needs(check):
    x = leaf(30)
    for _ in range(3):
        y = check(x.exp())
        metric = check(y.sigmoid())
        check(y.sum()).backward()
        check()
    del metric
    check()


def test_double_backward(check):
    x = leaf(7)
    y = check(x.exp())
    z = check(y * y)
    (g,) = wengert.autograd.grad(z.sum(), x, create_graph=True)
    check()
    check(g.square().sum()).backward()
    check()
    del g, z, y
    check()


def test_checkpoints(check):
    def block(t):
        for _ in range(3):
            t = check(t.exp())
            t = check(t.sin())
        return t

    x = leaf(40)
    y = check(x * 1.0)
    y = check(checkpoint(block, y, use_reentrant=False))
    y = check(checkpoint(block, y, use_reentrant=False))
    check(y.sum()).backward()
    check()
    # What the block saves exists while it runs again, and not before.
    assert check.memory.timeline.peak.during


def test_reentrant_checkpoints(check):
    def block(t):
        for _ in range(3):
            t = check(t.exp())
        return t

    y = check(leaf(40) * 1.0)
    y = check(checkpoint(block, y, use_reentrant=True))
    check(y.sum()).backward()
    check()


def test_packed_values(check):
    with wengert.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
        y = check(leaf(40).exp())
        y = check(y.exp())
    check(y.sum()).backward()
    check()


@pytest.mark.parametrize("kept", [True, False])
def test_values_that_are_seen_before_they_are_packed(check, kept):
    def pack(tensor):
        check.memory._recording.look()
        return tensor.half() if kept else tensor.tolist()

    unpack = wengert.Tensor.float if kept else wengert.tensor
    with wengert.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = check(check(leaf(40) * 1.0).exp())
    check(y.sin().sum()).backward()
    check()


def test_values_on_disk(check, tmp_path):
    with wengert.autograd.graph.save_to_disk(str(tmp_path)):
        y = check(leaf(2000).exp())
        y = check(y.sin())
        y = check(y[:10].exp())  # too small for a file
    check(y.sum()).backward()
    check()


def test_writes_to_what_is_saved(check):
    with wengert.autograd.graph.allow_mutation_on_saved_tensors():
        x = leaf(40)
        y = check(x * 1.0)
        z = check(y.sin())
        y.detach().zero_()
        check(z.sum()).backward()
    check()


def test_in_place_operations(check):
    x = leaf(40)
    y = check(x * 1.0)
    check(y[:10].mul_(y[10:20].detach().clone()))
    check(y.exp_())
    check(y.sum()).backward()
    check()


def test_functions_with_intermediate_values(check):
    class Product(wengert.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y, x * y)
            return x * y, x + y

        @staticmethod
        def backward(ctx, g, h):
            x, y, _ = ctx.saved_tensors
            return g * y + h, g * x + h

    for _ in range(2):
        x = check(leaf(15) * 1.0)
        a, b = Product.apply(x, leaf(15))
        check()
        check((a * b).sum()).backward()
        check()


def test_gradients_of_several_losses_at_once(check):
    w = leaf(12)
    hidden = check(w.exp())
    first, second = check(hidden.sin().sum()), check(hidden.cos().sum())
    wengert.autograd.jac([first, second], [w])
    check()


def test_derivatives_of_functions(check):
    def f(x):
        return check(check(x.sin()) * x).sum()

    x = wengert.randn(15)
    check(wengert.func.grad(f)(x))
    check(wengert.func.jvp(f, (x,), (x,)))
    check(wengert.func.hessian(f)(x))


def test_anomaly_detection(check):
    with wengert.autograd.detect_anomaly(check_writes=True):
        y = check(leaf(40).exp())
    with wengert.autograd.detect_anomaly():
        check(y.sin().sum()).backward()
    check()


def test_hooks_that_compute(check):
    x = leaf(15)
    y = check(x.exp())
    y.register_hook(lambda g: check(check(leaf(15).exp() * 2).detach()))
    check(y.sin().sum()).backward()
    check()


def test_frozen_layers(check):
    model = nn.Sequential(nn.Linear(10, 10), nn.Tanh(), nn.Linear(10, 10), nn.Tanh())
    model[0].requires_grad_(False)
    for start in (0, 1):
        x = wengert.randn(5, 10, requires_grad=bool(start))
        for layer in model:
            x = check(layer(x))
        check(x.sum()).backward()
        check()


def test_backward_that_raises(check):
    class Fails(wengert.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            check()
            raise ValueError("not today")

    y = check(leaf(30).exp())
    z = check(Fails.apply(y))
    w = check(z.exp())
    loss = check(w.sum())
    with pytest.raises(ValueError, match="not today"):
        loss.backward()
    check()
    del loss, w, z
    check()
    (call,) = check.memory.timeline.calls
    assert call.raised


def test_grad_that_releases_part(check):
    x = leaf(30)
    inner = check(x.exp())
    outer = check(inner.sin())
    wengert.autograd.grad(outer.sum(), [inner])
    check()
    assert held_by([inner.grad_fn]).graph == 120
    check(inner.sum()).backward()
    check()


def test_graphs_from_before_the_start(check):
    check.memory.stop()
    y = leaf(25).exp()
    with wengert.graph.profile() as memory:
        y.sum().backward()
    assert (memory.timeline.peak.nbytes, memory.timeline.total[0]) == (100, 100)
    assert memory.timeline.left_bytes == 0
    check.counts.append((0, 0))
    check.memory = memory
    check.counts[:] = [(memory._recording.passages[0].begin, 100)]


def test_graphs_without_a_backward_are_seen_while_they_live(check):
    y = check(leaf(25).exp())
    check.memory.timeline  # noqa: B018 (it looks)
    del y
    check()
    assert check.memory.timeline.left_bytes == 0


def test_the_collector_at_work(check):
    gc.set_threshold(20, 2, 2)
    try:
        x = leaf(25)
        y = x
        for _ in range(60):
            y = check(y.sin())
        y.sum().backward()
        check()
    finally:
        gc.set_threshold(700, 10, 10)


def test_inputs_that_require_grad_come_and_go(check):
    for _ in range(20):
        x = leaf(25)
        check(check(x * x).sum()).backward()
        check()
        y = check(wengert.randn(25) * leaf(25))
        check(y.sum()).backward()


def test_a_parameter_that_gets_other_memory(check):
    w = leaf(25)
    for _ in range(3):
        y = check(wengert.ones(25, requires_grad=True) * w)
        check(y.sum()).backward()
        w.data = wengert.randn(25)
        check()


def test_lines_modules_and_calls():
    model = nn.Sequential(nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 10))
    with wengert.graph.profile() as memory:
        for _ in range(2):
            out = model(wengert.randn(32, 100))
            loss = out.logsumexp(1).mean()
            loss.backward(retain_graph=True)
            loss.backward()
    timeline = memory.timeline
    assert [(s.name, s.nbytes) for s in timeline.peak.by_module()] == [
        ("Sequential.0", 12800), ("Sequential.1", 6400), ("(no module)", 1408)
    ]  # fmt: skip
    assert [(s.text, s.nodes) for s in timeline.peak.by_line()] == [
        ("out = model(wengert.randn(32, 100))", 2), ("loss = out.logsumexp(1).mean()", 1)
    ]  # fmt: skip
    assert [(n.op, n.released) for n in timeline.peak.nodes] == [
        ("linear", 1), ("relu", 1), ("logsumexp", 1)
    ]  # fmt: skip
    kept, released = timeline.calls[:2]
    assert (kept.before, kept.after, kept.released) == (20608, 20608, 0)
    assert kept.text == "loss.backward(retain_graph=True)"
    assert (released.before, released.after, released.released) == (20608, 0, 20608)
    assert [call.retains for call in timeline.calls] == [True, False] * 2
    assert (timeline.peak.call, timeline.peak.during) == (0, False)
    assert list(timeline.times) == sorted(timeline.times)
    assert timeline.times[-1] <= timeline.seconds
    assert json.loads(timeline.to_json())["peak"]["nbytes"] == 20608


def test_modules_of_one_path_are_one_band():
    models = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(2)]
    with wengert.graph.profile() as memory:
        sum(model(leaf(3, 4)).sum() for model in models).backward()
    names = [band.name for band in memory.timeline.modules]
    assert sorted(names) == ["Sequential.0", "Sequential.1"]
    assert [share.name for share in memory.timeline.peak.by_module()] == names


def test_text():
    x = wengert.ones(1000, requires_grad=True)
    with wengert.graph.profile() as memory:
        y = x.exp()
        y.sum().backward()
        kept = x.exp()
    head, names, row = str(memory).splitlines()
    assert head.startswith("graphs held at most 4.0 kB, before backward() at ")
    assert head.endswith(", call 1 of 1; 4.0 kB at the end")
    assert names.split() == ["bytes", "share", "nodes", "line"]
    assert row.split()[:4] == ["4.0", "kB", "100%", "1"]
    assert row.endswith("y = x.exp()")
    with pytest.raises(ValueError, match="by must be 'line', 'module' or 'node', and is 'color'"):
        memory.timeline.table("color")
    assert kept is not None


def test_nothing_to_see():
    with wengert.graph.profile() as memory:
        pass
    assert str(memory) == "graphs held at most 0 B; 0 B at the end"
    assert memory.timeline.calls == ()


def test_many_that_hold_one_storage(check):
    w, batch = leaf(10), wengert.ones(10)
    made = {k: check(w * batch) for k in range(5)}
    check.memory._recording.look()
    for k in (2, 0, 1, 4, 3):
        del made[k]
        check()
    assert [nbytes for _, nbytes in check.counts] == [40] * 9 + [0]
