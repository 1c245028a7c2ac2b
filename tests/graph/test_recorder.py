"""The recorder: calls by line, releases, retained graphs, and what it points out."""

from __future__ import annotations

import gc
import os
import weakref

import pytest

import wengert
from wengert.autograd import engine
from wengert.graph import Recorder, _recorder
from wengert.replay.background import background


@pytest.fixture
def recorder():
    recorder = Recorder()
    recorder.start()
    yield recorder
    recorder.stop()
    assert engine.observers == []


@pytest.fixture
def w():
    return wengert.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)


def kinds(recorder):
    return [finding.kind for finding in recorder.report().findings]


def test_counts_by_operation_and_line(recorder, w):
    for _ in range(3):
        w.tanh().sum().backward()
    wengert.autograd.grad((w * w).sum(), w)
    report = recorder.report()
    assert (report.backward_calls, report.nodes) == (4, 8)
    assert report.ops == {"sum": 4, "tanh": 3, "mul": 1}
    first, second = report.lines
    assert (first.calls, first.what, first.nodes) == (3, "backward()", 6)
    assert first.text == "w.tanh().sum().backward()"
    assert first.where.startswith(f"{__file__}:")
    assert (second.calls, second.what, second.released_nodes) == (1, "grad()", 2)


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_backwards_of_compiled_functions_stay_in_their_programs(recorder, w, mode):
    def step():
        w.grad = None
        (w.tanh() * 2).sum().backward()
        return w.grad.clone()

    compiled = wengert.compiler.compile(step, fullgraph=True, mode=mode)
    results = [compiled() for _ in range(8)]
    assert all(wengert.equal(result, step()) for result in results)
    report = recorder.report()
    (line,) = report.lines
    assert (line.calls, line.nodes, line.text) == (16, 48, "(w.tanh() * 2).sum().backward()")
    assert line.compiled >= 6
    assert report.ops == {"tanh": 16, "mul": 16, "sum": 16}
    assert line.measured == line.calls - line.compiled


def test_a_backward_that_goes_on_outside_of_a_program_is_counted_once(recorder, w, monkeypatch):
    monkeypatch.setattr(background, "at_once", True)
    head = wengert.compiler.compile(lambda y: (y * y).sum().backward())
    for _ in range(6):
        head(w.exp())
    report = recorder.report()
    assert (report.backward_calls, report.ops) == (6, {"exp": 6, "mul": 6, "sum": 6})


def test_release_gives_back_what_was_held(recorder, w):
    w.tanh().sum().backward()
    (line,) = recorder.report().lines
    assert (line.released_nodes, line.released_bytes, line.retaining) == (2, 16, 0)
    assert recorder.report().memory.peak == 16
    assert recorder.report().memory.after == 0


def test_retained_graph_is_still_held(recorder, w):
    y = w.tanh().sum()
    y.backward(retain_graph=True)
    (line,) = recorder.report().lines
    assert (line.released_nodes, line.released_bytes) == (0, 0)
    assert (line.retaining, line.kept_bytes) == (1, 16)
    assert recorder.report().memory.after == 16
    y.backward()
    assert recorder.report().memory.after == 0


def test_what_a_retained_graph_keeps_beside_the_next_backward(recorder, w):
    """The first head of two stays until its loss is dropped, as long as nothing walks it."""
    trunk = w.tanh()
    first, second = trunk.tanh().sum(), trunk.sum()
    first.backward(retain_graph=True)
    second.backward()
    memory = recorder.report().memory
    assert (memory.peak, memory.after) == (32, 16)
    del first
    w.tanh().sum().backward()
    assert recorder.report().memory.after == 0


def test_parameters_are_apart(recorder, w):
    (w * w).sum().backward()
    memory = recorder.report().memory
    assert (memory.peak, memory.peak_leaves) == (0, 16)


def test_auto_keeps_what_lives(recorder, w):
    trunk = w.tanh()
    first, second = trunk.tanh().sum(), trunk.sum()
    first.backward(retain_graph="auto")
    (line,) = recorder.report().lines
    assert (line.released_nodes, line.released_bytes) == (2, 16)
    second.backward()
    assert recorder.report().memory.after == 0


def test_recorder_keeps_no_graph_alive(recorder, w):
    gc.disable()
    try:
        y = w.tanh()
        node = weakref.ref(y._edge)
        y.sum().backward(retain_graph=True)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_needless_retain(recorder, w):
    for _ in range(3):
        w.tanh().sum().backward(retain_graph=True)
    assert kinds(recorder) == ["needless-retain"]
    assert recorder.report().findings[0].times == 3


def test_retain_that_is_used_is_fine(recorder, w):
    for _ in range(3):
        trunk = w.tanh()
        trunk.sum().backward(retain_graph=True)
        (trunk * 2).sum().backward()
    assert kinds(recorder) == []


def test_one_needless_retain_is_nobodys_business(recorder, w):
    w.tanh().sum().backward(retain_graph=True)
    assert kinds(recorder) == []


def test_recorded_derivative_is_not_a_needless_retain(recorder, w):
    for _ in range(3):
        (g,) = wengert.autograd.grad((w * w).sum(), w, create_graph=True)
        (g * g).sum().backward()
    assert kinds(recorder) == []


def test_growing_graph(recorder, w):
    state = w * 1.0
    for _ in range(12):
        state = state + w
        state.sum().backward(retain_graph=True)
    assert "growing-graph" in kinds(recorder)


def test_graph_of_changing_length_does_not_grow(recorder, w):
    for length in [1, 9, 3, 7, 2, 8, 4, 30, 1, 9, 3, 12]:
        state = w
        for _ in range(length):
            state = state * 2.0
        state.sum().backward()
    assert kinds(recorder) == []


def test_lenient_second_backward(recorder, w, monkeypatch):
    monkeypatch.setattr(engine.compatibility, "lenient", True)
    y = w + 1
    y.sum().backward()
    with pytest.warns(UserWarning, match="this backward passes"):
        (y * 2).sum().backward()
    (finding,) = recorder.report().findings
    assert finding.kind == "second-backward"
    assert finding.text.startswith(f"passed add, which {__file__}:")


def test_a_walk_that_fails_is_forgotten(recorder, w):
    def fail(grad):
        raise RuntimeError("stop")

    y = w.tanh()
    handle = y.register_hook(fail)
    with pytest.raises(RuntimeError, match="stop"):
        y.sum().backward()
    handle.remove()
    w.tanh().sum().backward()
    report = recorder.report()
    assert [line.measured for line in report.lines] == [1, 1]
    assert [line.released_nodes for line in report.lines] == [0, 2]


def test_backward_inside_a_hook(recorder, w):
    def inner(grad):
        with wengert.enable_grad():
            w.tanh().sum().backward()

    y = w * 2
    y.register_hook(inner)
    y.sum().backward()
    assert recorder.report().backward_calls == 2
    assert sum(line.released_nodes for line in recorder.report().lines) == 4


def test_beyond_the_budget_calls_are_sampled(recorder, w, monkeypatch):
    monkeypatch.setattr(_recorder, "_BUDGET", 100)
    for _ in range(64):
        w.tanh().tanh().sum().backward(retain_graph=True)
    (line,) = recorder.report().lines
    assert (line.calls, line.nodes, line.retaining) == (64, 64 * 3, 64)
    assert line.measured == 26 + 2  # 26 calls look at 104 nodes; then calls 33 and 49
    assert kinds(recorder) == ["needless-retain"]
    assert recorder.report().findings[0].times == 64


def test_report_is_plain_data(recorder, w):
    w.tanh().sum().backward()
    data = recorder.report().to_dict()
    assert data["ops"] == {"tanh": 1, "sum": 1}
    assert data["lines"][0]["released_nodes"] == 2
    assert data["memory"]["peak"] == 16


def test_walks_inside_transforms_are_seen() -> None:
    recorder = Recorder()
    recorder.start()
    try:
        x = wengert.ones(3, 2)
        wengert.vmap(wengert.func.grad(lambda row: (row * row).exp().sum()))(x)
        wengert.func.hessian(lambda v: (v**3).sum())(wengert.ones(2))
    finally:
        recorder.stop()
    assert recorder.report().backward_calls == 2


def test_forgets_a_call_that_raised(recorder, w):
    def refuse(g):
        raise ValueError("not today")

    y = w.exp()
    y.register_hook(refuse)
    with pytest.raises(ValueError, match="not today"):
        y.sum().backward()
    assert not recorder._open
    (line,) = recorder.report().lines
    assert (line.calls, line.released_nodes, line.released_bytes) == (1, 0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_process_is_not_watched(recorder, w):
    w.exp().sum().backward()
    child = os.fork()
    if not child:
        recorder._lock.acquire(blocking=False)  # as if a thread had it when the parent forked
        w.exp().sum().backward()
        os._exit(sum(line.calls for line in recorder._lines.values()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
