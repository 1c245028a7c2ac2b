"""What checkpoints save: bytes while a graph waits, and nothing that outlives it."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import pytest

import wengert
from tests.graph.test_memory import nodes_of
from wengert import nn
from wengert.checkpointing._recompute import Frame, Inputs
from wengert.graph import Held, held_by
from wengert.utils.checkpoint import checkpoint, checkpoint_sequential

both = pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "not reentrant"])
KB = 1024
ROWS, UNITS = 64, 64
ACTIVATION = ROWS * UNITS * 4  # bytes


@pytest.fixture
def no_gc():
    """Reference counting alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def block():
    """Saves four activations; the last of them is the next block's input."""
    return nn.Sequential(nn.Linear(UNITS, UNITS), nn.Tanh(), nn.Sigmoid(), nn.Tanh(), nn.Sigmoid())


def forward(blocks, x, **options):
    for b in blocks:
        x = checkpoint(b, x, **options) if options else b(x)
    return x


def traced(run):
    """Bytes that are allocated after `run`, and at most meanwhile, beside those before."""
    run()  # what is made once is made
    gc.collect()
    tracemalloc.start()
    try:
        kept = run()
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del kept
    return now, peak


@both
def test_a_graph_keeps_the_inputs_of_its_checkpoints_only(reentrant):
    blocks = [block() for _ in range(5)]
    x = wengert.rand(ROWS, UNITS).requires_grad_()
    plain, _ = traced(lambda: forward(blocks, x))
    kept, _ = traced(lambda: forward(blocks, x, use_reentrant=reentrant))
    assert plain > 4 * 5 * ACTIVATION
    # Four inner inputs and the result; the random state of each takes 5 KB.
    assert 5 * ACTIVATION <= kept < 5 * (ACTIVATION + 14 * KB)


@both
def test_a_backward_needs_one_block_at_a_time(reentrant):
    blocks = [block() for _ in range(8)]
    x = wengert.rand(ROWS, UNITS).requires_grad_()
    for b in blocks:
        b.requires_grad_(False)

    def step(**options):
        forward(blocks, x, **options).sum().backward()
        x.grad = None

    _, plain = traced(step)
    _, peak = traced(lambda: step(use_reentrant=reentrant))
    assert peak < 0.7 * plain


def test_saved_values_go_as_the_walk_goes_on():
    alive = []

    class Probe(wengert.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t * 1

        @staticmethod
        def backward(ctx, g):
            alive.append(sum(a() is not None for a in arrays))
            return g

    arrays = []

    def function(t):
        arrays.clear()
        for _ in range(4):
            t = Probe.apply(t.tanh())
            arrays.append(weakref.ref(t.grad_fn.next_functions[0][0]._saved_result._array))
        return t.tanh()

    x = wengert.rand(10).requires_grad_()
    checkpoint(function, x, use_reentrant=False, early_stop=False).sum().backward()
    assert alive == [4, 3, 2, 1]


def test_nodes_hold_no_activations():
    x = wengert.rand(ROWS, UNITS).requires_grad_()
    weights, blocks = 2 * UNITS * UNITS * 4, [block(), block()]
    y = forward(blocks, x)
    assert held_by(nodes_of(y)) == Held(8 * ACTIVATION, ACTIVATION + weights)
    y = forward(blocks, x, use_reentrant=False)
    assert held_by(nodes_of(y)) == Held(ACTIVATION, ACTIVATION + weights)  # the arguments


@both
def test_nothing_outlives_the_graph(reentrant, no_gc):
    blocks = [block() for _ in range(3)]
    x = wengert.rand(ROWS, UNITS).requires_grad_()
    y = forward(blocks, x, use_reentrant=reentrant)
    nodes = [weakref.ref(n) for n in nodes_of(y) if n.edges]
    assert nodes
    del y
    assert all(n() is None for n in nodes)
    y = forward(blocks, x, use_reentrant=reentrant)
    nodes = [weakref.ref(n) for n in nodes_of(y) if n.edges]
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert frames() == 0
    del y
    assert all(n() is None for n in nodes)


def frames():
    return sum(type(o) in (Frame, Inputs) for o in gc.get_objects())


def test_arguments_go_with_the_backward(no_gc):
    x = wengert.rand(8).requires_grad_()
    h = x.exp() * 2
    array = weakref.ref(h._array)
    y = checkpoint(lambda t: t.tanh().exp(), h, use_reentrant=False)
    del h
    assert array() is not None
    y.sum().backward()
    assert array() is None
    assert y.grad_fn is not None


def test_a_result_written_into_the_argument_closes_no_cycle(no_gc):
    x = wengert.rand(8).requires_grad_()
    h = x.exp()
    h += checkpoint(wengert.tanh, h, use_reentrant=False)
    node = weakref.ref(h.grad_fn)
    assert frames() == 2
    del h
    assert node() is None
    assert frames() == 0


def test_errors_leave_nothing_behind(no_gc):
    runs = []

    def function(t):
        runs.append(1)
        h = t.exp()
        if len(runs) > 1:
            raise KeyError
        return h.exp()

    x = wengert.rand(8).requires_grad_()
    y = checkpoint(function, x, use_reentrant=False)
    with pytest.raises(KeyError):
        y.sum().backward()
    del y
    assert frames() == 0


def test_nested_checkpoints_keep_the_outermost_inputs():
    def inner(t):
        return t.tanh().sigmoid().tanh()

    def outer(t):
        for _ in range(4):
            t = checkpoint(inner, t, use_reentrant=False)
        return t

    x = wengert.rand(100 * KB).requires_grad_()
    kept, _ = traced(lambda: checkpoint(outer, x, use_reentrant=False))
    assert kept < 1.2 * 400 * KB  # the result


def test_sequential_saves_memory():
    layers = nn.Sequential(*[nn.Tanh() for _ in range(12)])
    x = wengert.rand(ROWS, UNITS).requires_grad_()
    plain, _ = traced(lambda: layers(x))
    kept, _ = traced(lambda: checkpoint_sequential(layers, 4, x, use_reentrant=False))
    assert plain >= 12 * ACTIVATION
    # Two inner inputs, and the three values of the last segment.
    assert kept < 6.5 * ACTIVATION + 60 * KB
