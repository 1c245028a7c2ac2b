"""Backwards on several threads, and backwards inside of backwards."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import Function, GraphReleasedError, grad
from wengert.autograd.engine import running_walks
from wengert.autograd.errors import GraphInUseError

WAIT = 30  # seconds that no test ever waits


@pytest.fixture
def eager_switches() -> Any:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def on_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work(k)` returned or raised, each on a thread of its own, all started at once."""
    results: list[Any] = [None] * count
    barrier = threading.Barrier(count)

    def run(k: int) -> None:
        barrier.wait(WAIT)
        try:
            results[k] = work(k)
        except Exception as error:
            results[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert not any(thread.is_alive() for thread in threads)
    assert not running_walks.walks
    return results


def leaf(*values: float) -> Any:
    return wengert.tensor(values or (1.0, 2.0), requires_grad=True)


def test_no_update_of_a_shared_leaf_is_lost(eager_switches: Any) -> None:
    leaves = [wengert.ones(3, requires_grad=True) for _ in range(5)]
    rounds = 60

    def work(k: int) -> None:
        for _ in range(rounds):
            loss = leaves[0] * 1.0
            for x in leaves[1:]:
                loss = loss + x
            loss.sum().backward()

    assert on_threads(4, work) == [None] * 4
    assert [x.grad.tolist() for x in leaves] == [[4.0 * rounds] * 3] * 5


def test_recorded_gradients_of_a_shared_leaf_are_not_lost(eager_switches: Any) -> None:
    x = leaf()

    def work(k: int) -> None:
        for _ in range(20):
            (x * x).sum().backward(create_graph=True)

    assert on_threads(3, work) == [None] * 3
    assert x.grad.tolist() == [2.0 * 60, 4.0 * 60]


def test_a_reader_never_sees_half_a_commit(eager_switches: Any) -> None:
    """All leaves of a backward change at once: a reader under the lock's back finds equal sums."""
    leaves = [wengert.zeros(2, requires_grad=True) for _ in range(40)]
    torn, done = [], threading.Event()
    for x in leaves:
        x.grad = wengert.zeros(2)

    def read() -> None:
        arrays = [x.grad._array for x in leaves]
        while not done.is_set():
            table = np.array(arrays)  # one call
            if (table != table[0]).any():
                torn.append(table)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(200):
        wengert.stack(leaves).sum().backward()
    done.set()
    reader.join(WAIT)
    assert leaves[-1].grad.tolist() == [200.0, 200.0]
    assert torn == []


def test_a_graph_of_one_thread_is_walked_on_another() -> None:
    x = leaf()
    loss = (x.exp() * 2).sum()
    assert on_threads(1, lambda k: loss.backward()) == [None]
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([1.0, 2.0]), rtol=1e-6)


def test_grad_modes_belong_to_threads() -> None:
    with wengert.no_grad():
        (found,) = on_threads(1, lambda k: wengert.is_grad_enabled())
        assert found
        assert not wengert.is_grad_enabled()


def test_anomaly_mode_belongs_to_the_process() -> None:
    with wengert.autograd.detect_anomaly():
        found = on_threads(1, lambda k: wengert.autograd.anomaly_mode.is_anomaly_enabled())
    assert found == [True]


@pytest.mark.parametrize("hooked", [False, True])
def test_one_graph_on_several_threads_gives_one_result_and_clear_errors(
    eager_switches: Any, hooked: bool
) -> None:
    for _ in range(40):
        x = leaf()
        y = x
        for _ in range(30):
            y = y.sin() * 1.5
        if hooked:
            y.register_hook(lambda g: None)
        loss = y.sum()
        (expected,) = grad(loss, x, retain_graph=True)
        results = on_threads(3, lambda k, loss=loss: loss.backward())
        failed = [r for r in results if r is not None]
        assert len(failed) == 2
        assert all(isinstance(r, GraphReleasedError | GraphInUseError) for r in failed), failed
        np.testing.assert_array_equal(x.grad.numpy(), expected.numpy())


def test_a_retained_graph_on_several_threads(eager_switches: Any) -> None:
    x = leaf()
    y = x
    for _ in range(20):
        y = y.sin() * 1.5
    loss = y.sum()
    (expected,) = grad(loss, x, retain_graph=True)
    results = on_threads(4, lambda k: grad(loss, x, retain_graph=True)[0].tolist())
    assert results == [expected.tolist()] * 4


def test_heads_on_threads_meet_in_what_they_are_differentiated_for(eager_switches: Any) -> None:
    """Neither walk goes below the trunk's output, so neither releases it."""
    for _ in range(20):
        hidden = leaf().exp()
        heads = [(hidden * (k + 1)).sum() for k in range(3)]
        results = on_threads(3, lambda k, h=heads, t=hidden: grad(h[k], t)[0].tolist())
        assert results == [[k + 1.0] * 2 for k in range(3)]


def test_a_walk_on_another_thread_is_named() -> None:
    x = leaf()
    y = x.exp()
    inside, go_on = threading.Event(), threading.Event()

    def wait(g: Any) -> None:
        inside.set()
        go_on.wait(WAIT)

    y.register_hook(wait)
    loss = y.sum()
    walker = threading.Thread(target=loss.backward)
    walker.start()
    inside.wait(WAIT)
    with pytest.raises(GraphInUseError, match="two threads walk the same graph") as caught:
        loss.backward()
    go_on.set()
    walker.join(WAIT)
    text = str(caught.value)
    assert "this call: backward()  at" in text
    assert "retain_graph=True to both calls" in text
    assert x.grad.tolist() == y.tolist()


class TestInside:
    """Walks that a walk's hooks start."""

    def test_of_another_graph_over_the_same_leaves(self) -> None:
        x = leaf()
        y = x * 2

        def inner(g: Any) -> None:
            with wengert.enable_grad():
                (x * 10).sum().backward()

        y.register_hook(inner)
        y.sum().backward()
        assert x.grad.tolist() == [12.0, 12.0]

    @pytest.mark.torch
    def test_checkpoint_by_hand_equals_torch(self, torch: Any) -> None:
        def program(t: Any) -> Any:
            class Checkpoint(t.autograd.Function):
                @staticmethod
                def forward(ctx: Any, run: Any, x: Any) -> Any:
                    ctx.run = run
                    ctx.save_for_backward(x)
                    with t.no_grad():
                        return run(x)

                @staticmethod
                def backward(ctx: Any, g: Any) -> Any:
                    (x,) = ctx.saved_tensors
                    with t.enable_grad():
                        copy = x.detach().requires_grad_()
                        out = ctx.run(copy)
                    t.autograd.backward(out, g)
                    return None, copy.grad

            w = t.tensor([0.5, 0.25], requires_grad=True)
            x = t.tensor([1.0, 2.0], requires_grad=True)

            def inner(h: Any) -> Any:
                return Checkpoint.apply(lambda v: (v * w).sin(), h)

            y = inner(inner(x) + w)
            y = Checkpoint.apply(lambda h: inner(h) * w, y)  # one inside of another
            y.sum().backward()
            return [round(v, 5) for v in x.grad.tolist() + w.grad.tolist()]

        assert program(wengert) == program(torch)

    def test_with_a_retained_graph(self) -> None:
        x = leaf()
        y = x * x
        loss, found = (y * y).sum(), []

        def inner(g: Any) -> None:
            if not found:
                found.append(None)
                found[0] = grad(loss, x, retain_graph=True)[0].tolist()

        y.register_hook(inner)
        loss.backward()
        assert found == [[4.0, 32.0]]
        assert x.grad.tolist() == [4.0, 32.0]
        with pytest.raises(GraphReleasedError):
            loss.backward()

    def test_that_would_release_what_is_still_needed(self) -> None:
        x = leaf()
        y = x * x
        loss = (y * y).sum()
        other = y.sum()
        handle = y.register_hook(lambda g: other.backward())
        with pytest.raises(GraphInUseError, match="backward inside of a backward") as caught:
            loss.backward()
        assert "retain_graph=True to the inner call" in str(caught.value)
        assert x.grad is None
        handle.remove()
        loss.backward(retain_graph=True)  # nothing was released
        other.backward()
        assert x.grad.tolist() == [6.0, 36.0]

    def test_that_releases_what_has_been_passed(self) -> None:
        x = leaf()
        y = x * x
        z = y.exp()
        loss, other, seen = z.sum(), z.sum(), []

        def inner(g: Any) -> None:
            if not seen:
                seen.append(None)
                # The walk has been through `exp` when it comes to y; below y it has not.
                seen[0] = grad(other, y)[0].tolist()

        y.register_hook(inner)
        loss.backward()
        np.testing.assert_allclose(seen[0], np.exp([1.0, 4.0]), rtol=1e-6)
        np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach() * z.detach(), rtol=1e-6)

    def test_different_modes_inside_of_each_other(self) -> None:
        x = leaf()
        y, found = x * x, []

        def inner(g: Any) -> None:
            with wengert.enable_grad():
                (first,) = grad((x**3).sum(), x, create_graph=True)
                found.append(grad(first.sum(), x)[0].tolist())

        y.register_hook(inner)
        y.sum().backward()
        assert found == [[6.0, 12.0]]
        assert x.grad.tolist() == [2.0, 4.0]

    def test_an_inner_failure_leaves_the_outer_walk_whole(self) -> None:
        x = leaf()
        y = x * x

        def fail(g: Any) -> None:
            wengert.ones(2).sum().backward()

        handle = y.register_hook(fail)
        loss = y.sum()
        with pytest.raises(wengert.autograd.NoGraphError):
            loss.backward()
        handle.remove()
        loss.backward()
        assert x.grad.tolist() == [2.0, 4.0]
        assert not running_walks.walks


def test_a_function_may_walk_its_own_threads() -> None:
    class Threaded(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            copy = x.detach().requires_grad_()
            on_thread = threading.Thread(target=lambda: (copy * 2).backward(g))
            on_thread.start()
            on_thread.join(WAIT)
            return copy.grad

    x = leaf()
    Threaded.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
