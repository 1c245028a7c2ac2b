"""Where a recording begins and ends: threads, children, limits, finalizers, what it keeps."""

from __future__ import annotations

import gc
import os
import threading
import warnings
import weakref

import pytest

import wengert
from wengert.graph.timelines import recording


def leaf(*shape):
    return wengert.randn(*shape, requires_grad=True)


def test_walks_of_several_threads():
    def train():
        w = leaf(100)
        for _ in range(30):
            y = w
            for _ in range(10):
                y = y.sin()
            y.sum().backward()

    with wengert.graph.profile() as memory:
        threads = [threading.Thread(target=train) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    timeline = memory.timeline
    assert len(timeline.calls) == 90
    assert timeline.left_bytes == 0
    assert 9 * 400 <= timeline.peak.nbytes <= 3 * 9 * 400


def test_so_many_calls():
    x = leaf(10)
    with wengert.graph.profile(calls=2) as memory:
        for _ in range(5):
            x.exp().sum().backward()
    assert len(memory.timeline.calls) == 2
    assert memory.timeline.ended == "it was to record 2 calls"
    assert "recording ended early: it was to record 2 calls" in str(memory)
    with pytest.raises(TypeError, match="calls must be an int or None, not str"):
        wengert.graph.profile(calls="2")
    with pytest.raises(ValueError, match="calls must be at least 1, and is 0"):
        wengert.graph.profile(calls=0)


def test_start_and_stop():
    memory = wengert.graph.profile()
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        memory.timeline  # noqa: B018
    memory.stop()
    memory.start()
    leaf(10).exp().sum().backward()
    assert memory.timeline.peak.nbytes == 40  # while it records
    memory.stop()
    memory.stop()
    with pytest.raises(RuntimeError, match="was started before"):
        memory.start()
    assert not any(t.name == "wengert-profile" for t in threading.enumerate())


def test_long_runs_keep_the_peak():
    x = leaf(10)
    with wengert.graph.profile() as memory:
        for step in range(3000):
            (x if step != 1500 else x[:1].expand(77).sin()).exp().sum().backward()
    timeline = memory.timeline
    assert len(timeline.times) <= 4003
    assert max(timeline.total) == timeline.peak.nbytes == 77 * 4
    assert len(timeline.calls) == 3000


def test_nothing_is_kept_alive():
    x = leaf(10)
    with wengert.graph.profile() as memory:
        y = x.exp()
        node = weakref.ref(y.grad_fn)
        memory._recording.look()
        del y
        assert node() is None
        y = x.exp()
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert node() is None


def test_what_is_stopped_inside_of_a_backward_keeps_nothing_alive():
    memory = wengert.graph.profile()
    memory.start()
    y = leaf(10).exp()
    y.register_hook(lambda g: memory.stop())
    node = weakref.ref(y.grad_fn)
    y.sum().backward()
    del y
    assert node() is None
    (call,) = memory.timeline.calls
    assert (call.before, call.released) == (40, 0)


def test_what_ends_by_itself_inside_of_a_backward_keeps_nothing_alive():
    with wengert.graph.profile() as memory:
        y = leaf(10).exp()
        y.register_hook(lambda g: memory._recording._end("it was to"))
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert node() is None


@pytest.mark.parametrize("watch", [wengert.graph.profile, wengert.graph.Recorder])
def test_the_collector_may_finalize_what_goes_backward(watch):
    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            leaf(5).exp().sum().backward()

    leaf(5).exp().sum().backward()  # kernels are there
    watching = watch()
    watching.start()
    thresholds = gc.get_threshold()
    gc.set_threshold(20, 5, 5)  # it goes to work while a walk is noted, too
    try:
        for _ in range(100):
            Cycle()
            leaf(5).exp().sum().backward()
    finally:
        gc.set_threshold(*thresholds)
        gc.collect()
        watching.stop()
    calls = (
        watching.timeline.calls
        if watch is wengert.graph.profile
        else range(watching.report().backward_calls)
    )
    assert len(calls) == 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_process_does_not_record():
    x = leaf(10)
    with wengert.graph.profile() as memory:
        x.exp().sum().backward()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside a thread
            child = os.fork()
        if not child:
            memory._recording._lock.acquire(blocking=False)  # as if the thread had it
            x.exp().sum().backward()
            memory.stop()
            os._exit(len(memory.timeline.calls))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        x.exp().sum().backward()
    assert len(memory.timeline.calls) == 2


def test_a_finalizer_may_go_backward():
    x = leaf(10)

    def goes(*_):
        leaf(5).exp().sum().backward()

    with wengert.graph.profile() as memory:
        y = x.exp()
        weakref.finalize(y.grad_fn, goes)
        y = y.sum()
        y.backward()
    assert len(memory.timeline.calls) == 2
    assert memory.timeline.left_bytes == 0


def test_the_log_has_an_end(monkeypatch):
    monkeypatch.setattr(recording, "MOST", 20)
    x = leaf(10)
    with wengert.graph.profile() as memory:
        for _ in range(50):
            x.exp().sum().backward()
    ended = memory.timeline.ended
    assert ended == f"the log was full after {len(memory.timeline.calls)} calls"
    # Of each call a node, the times of its begin and of its end, and itself.
    assert 2 <= len(memory.timeline.calls) <= 5


def test_calls_of_graphs_that_hold_nothing_fill_the_log(monkeypatch):
    monkeypatch.setattr(recording, "MOST", 20)
    x = leaf(10)
    with wengert.graph.profile() as memory:
        for _ in range(50):
            (x + 1).sum().backward()
    assert memory.timeline.peak.nbytes == 0
    assert memory.timeline.ended.startswith("the log was full after ")
