"""The life of a graph: who keeps it, who releases it, what a second backward says."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import GraphReleasedError
from wengert.core.tensor import Node


@pytest.fixture
def no_gc() -> Any:
    """Reference counting alone has to do."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def two_outputs() -> tuple[Any, Any, Any]:
    a = wengert.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = a**2
    c = b * 2
    return a, c.mean(), c.sum()


def here(offset: int = 0) -> str:
    """`file:line` of the caller, plus lines."""
    import sys

    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno + offset}"


class TestTwoOutputs:
    """`a -> b = a**2 -> c = b*2 -> d = c.mean(), e = c.sum()`."""

    def test_d_then_e_fails(self) -> None:
        a, d, e = two_outputs()
        line = here(1)
        d.backward()
        with pytest.raises(GraphReleasedError, match="second time") as caught:
            e.backward()
        assert f"released by: backward()  at {line}" in str(caught.value)
        np.testing.assert_allclose(a.grad.numpy(), a.detach().numpy() * 4 / 3, rtol=1e-6)

    def test_d_retained_then_e_works(self) -> None:
        a, d, e = two_outputs()
        d.backward(retain_graph=True)
        e.backward()
        np.testing.assert_allclose(a.grad.numpy(), a.detach().numpy() * (4 / 3 + 4), rtol=1e-6)

    def test_three_retained_one_last_then_failure(self) -> None:
        a, d, _ = two_outputs()
        for _ in range(3):
            d.backward(retain_graph=True)
        d.backward()
        np.testing.assert_allclose(a.grad.numpy(), 4 * a.detach().numpy() * 4 / 3, rtol=1e-6)
        with pytest.raises(GraphReleasedError):
            d.backward()

    def test_auto_keeps_what_the_other_output_reaches(self) -> None:
        a, d, e = two_outputs()
        d.backward(retain_graph="auto")
        e.backward()
        np.testing.assert_allclose(a.grad.numpy(), a.detach().numpy() * (4 / 3 + 4), rtol=1e-6)
        with pytest.raises(GraphReleasedError):
            d.backward()

    def test_auto_releases_what_nothing_reaches(self) -> None:
        x = wengert.ones(3, requires_grad=True)
        inner = x.exp()
        node = weakref.ref(inner.grad_fn)
        loss = inner.sum()
        del inner
        loss.backward(retain_graph="auto")
        assert node() is None

    def test_auto_under_hooks(self) -> None:
        a, d, e = two_outputs()
        a.register_hook(lambda g: g)
        d.backward(retain_graph="auto")
        e.backward(retain_graph="auto")
        np.testing.assert_allclose(a.grad.numpy(), a.detach().numpy() * (4 / 3 + 4), rtol=1e-6)
        with pytest.raises(GraphReleasedError):
            e.backward()


class TestNoBuffers:
    """`y = x.mean(1)+3; z = y.pow(2).mean()`: PyTorch's answer depends on what was saved."""

    @staticmethod
    def graph() -> tuple[Any, Any, Any]:
        x = wengert.arange(6, dtype=wengert.float32).reshape(2, 3).requires_grad_()
        y = x.mean(1) + 3
        return x, y, y.pow(2).mean()

    def test_y_then_z_names_the_line_of_y(self) -> None:
        _, y, z = self.graph()
        line = here(1)
        y.sum().backward()
        with pytest.raises(GraphReleasedError) as caught:
            z.backward()
        assert line in str(caught.value)
        assert "joined by:   pow" in str(caught.value)

    def test_z_then_y(self) -> None:
        _, y, z = self.graph()
        z.backward()
        with pytest.raises(GraphReleasedError):
            y.sum().backward()

    def test_y_twice(self) -> None:
        _, y, _ = self.graph()
        ones = wengert.ones(2)
        y.backward(ones)
        with pytest.raises(GraphReleasedError):
            y.backward(ones)

    def test_a_failing_backward_changes_nothing(self) -> None:
        v = wengert.ones(2, requires_grad=True)
        w = wengert.ones(2, requires_grad=True)
        released = v.exp()
        loss = released.sum() + (w + 1).sum()
        released.sum().backward()
        before = v.grad.clone()
        for _ in range(2):
            with pytest.raises(GraphReleasedError):
                loss.backward()
            assert w.grad is None
            assert (v.grad == before).all()
        (other,) = wengert.autograd.grad(loss, w)  # the live part is still whole
        assert other.tolist() == [1.0, 1.0]


def test_the_same_net_twice_gives_two_graphs_sharing_the_leaves() -> None:
    w = wengert.ones(3, requires_grad=True)
    x = wengert.ones(3)
    first, second = (x * w).sum(), (x * w).sum()
    assert first.grad_fn is not second.grad_fn
    assert first.grad_fn.edges[0].edges[1] is second.grad_fn.edges[0].edges[1] is w._edge
    first.backward()
    second.backward()
    assert w.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_graph_goes_with_its_output(no_gc: Any) -> None:
    w = wengert.ones(1000, requires_grad=True)
    hidden = (w * 2).exp()
    loss = hidden.sum()
    nodes = [weakref.ref(n) for n in (loss.grad_fn, hidden.grad_fn, hidden.grad_fn.edges[0])]
    array = weakref.ref(hidden._array)
    del hidden
    assert array() is not None  # exp saved its output
    del loss
    assert [n() for n in nodes] == [None, None, None]
    assert array() is None


def test_a_released_graph_lets_go_of_what_is_below(no_gc: Any) -> None:
    w = wengert.ones(10, requires_grad=True)
    hidden = (w * 2).exp()
    below = weakref.ref(hidden.grad_fn)
    loss = hidden.sum()
    del hidden
    loss.backward()
    assert below() is None


def test_grad_of_an_inner_tensor_frees_what_is_off_its_path(no_gc: Any) -> None:
    x = wengert.ones(10, requires_grad=True)
    inner = x.exp()
    side = x.cos() * 3
    off = weakref.ref(side.grad_fn)
    loss = (inner * side).sum()
    del side
    (g,) = wengert.autograd.grad(loss, [inner])
    np.testing.assert_allclose(g.numpy(), 3 * np.cos(1.0) * np.ones(10), rtol=1e-6)
    assert off() is None
    inner.sum().backward()  # what a live tensor reaches is whole
    np.testing.assert_allclose(x.grad.numpy(), np.full(10, np.e), rtol=1e-6)


def live_nodes() -> int:
    return sum(issubclass(type(o), Node) for o in gc.get_objects())


def test_a_forward_without_backward_leaks_nothing(no_gc: Any) -> None:
    w = wengert.ones(50, requires_grad=True)
    x = wengert.ones(50)

    def forward() -> Any:
        return ((x * w).tanh() + w).sum()

    forward()
    before = live_nodes()
    for _ in range(10_000):
        forward()
    assert live_nodes() == before


def test_training_steps_leak_nothing(no_gc: Any) -> None:
    w = wengert.ones(50, requires_grad=True)
    before = live_nodes()
    for _ in range(200):
        loss = (w * w).tanh().sum()
        loss.backward()
        (g,) = wengert.autograd.grad((w.exp() * w).sum(), w, create_graph=True)
        g.sum().backward()
        w.grad = None
        del loss, g
    assert live_nodes() == before


def test_graphs_are_deeper_than_the_stack() -> None:
    """In 1 MiB, 8 bytes an operation, there is no room for one call of each."""
    raised: list[BaseException] = []

    def program() -> None:
        try:
            _build_walk_and_drop(1 << 17)
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(1 << 20)
    try:
        thread = threading.Thread(target=program)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert raised == []


def _build_walk_and_drop(depth: int) -> None:
    x = wengert.ones(1, requires_grad=True)
    y = x
    for _ in range(depth):
        y = y * 1.0
    y.backward()
    assert x.grad.item() == 1.0
    y = x
    for _ in range(depth):
        y = y + x
    del y  # dropped without a backward


def test_gradients_do_not_alias() -> None:
    a, b = wengert.zeros(3, requires_grad=True), wengert.zeros(3, requires_grad=True)
    seed = wengert.ones(3)
    (a + b).backward(seed)
    assert a.grad is not b.grad
    assert not np.shares_memory(a.grad.numpy(), b.grad.numpy())
    assert not np.shares_memory(a.grad.numpy(), seed.numpy())
    a.grad.add_(1)
    assert b.grad.tolist() == seed.tolist() == [1.0, 1.0, 1.0]


def test_grad_gives_each_input_its_own_array() -> None:
    a = wengert.zeros(3, requires_grad=True)
    b = wengert.zeros(3, requires_grad=True)
    one, two, three = wengert.autograd.grad((a + b).sum(), [a, b, a])
    one.add_(5)
    assert two.tolist() == three.tolist() == [1.0, 1.0, 1.0]


def test_accumulation_is_in_place() -> None:
    a = wengert.zeros(3, requires_grad=True)
    (a * 2).sum().backward()
    kept = a.grad
    (a * 3).sum().backward()
    assert a.grad is kept
    assert kept.tolist() == [5.0, 5.0, 5.0]


def test_expanded_gradients_are_written_out() -> None:
    a = wengert.zeros(2, 3, requires_grad=True)
    a.sum().backward()
    assert a.grad.is_contiguous()
    a.grad.add_(1)
    assert a.grad.tolist() == [[2.0] * 3] * 2


def test_two_losses_in_a_row_equal_their_sum() -> None:
    def losses() -> tuple[Any, Any, Any]:
        w = wengert.linspace(-1, 1, 5).requires_grad_()
        h = (w * 2).tanh()
        return w, h.sum(), (h * h).mean()

    w, one, two = losses()
    one.backward(retain_graph=True)
    two.backward()
    v, one, two = losses()
    (one + two).backward()
    np.testing.assert_allclose(w.grad.numpy(), v.grad.numpy(), rtol=1e-6)


def test_micro_batches_add_up_to_the_batch() -> None:
    x = wengert.from_numpy(np.random.default_rng(0).standard_normal((8, 4)))
    w = wengert.ones(4, dtype=wengert.float64, requires_grad=True)
    ((x * w).sum(1) ** 2).mean().backward()
    whole = w.grad.clone()
    w.grad = None
    for part in (x[:4], x[4:]):
        (((part * w).sum(1) ** 2).mean() / 2).backward()
    np.testing.assert_allclose(w.grad.numpy(), whole.numpy(), rtol=1e-12)


def unrolled(w: Any, steps: int, window: int | None) -> Any:
    """An RNN's loss; with a window, the state is detached between windows."""
    h = wengert.zeros(3, dtype=wengert.float64)
    total = wengert.zeros((), dtype=wengert.float64)
    for t in range(steps):
        if window is not None and t % window == 0:
            h = h.detach()
        h = (w * h + float(np.sin(t))).tanh()
        total = total + (h * h).sum()
    return total


def test_bptt_equals_differences() -> None:
    w = wengert.tensor([0.3, -0.5, 0.9], dtype=wengert.float64, requires_grad=True)
    unrolled(w, 50, None).backward()
    for i in range(3):
        values = []
        for step in (1e-6, -1e-6):
            moved = w.detach().clone()
            moved[i] += step
            values.append(unrolled(moved, 50, None).item())
        np.testing.assert_allclose(w.grad[i].item(), (values[0] - values[1]) / 2e-6, rtol=1e-6)


def test_truncated_bptt_equals_backward_window_by_window() -> None:
    whole = wengert.tensor([0.3, -0.5, 0.9], dtype=wengert.float64, requires_grad=True)
    unrolled(whole, 50, 10).backward()
    w = wengert.tensor([0.3, -0.5, 0.9], dtype=wengert.float64, requires_grad=True)
    h = wengert.zeros(3, dtype=wengert.float64)
    for start in range(0, 50, 10):
        h = h.detach()
        loss = wengert.zeros((), dtype=wengert.float64)
        for t in range(start, start + 10):
            h = (w * h + float(np.sin(t))).tanh()
            loss = loss + (h * h).sum()
        loss.backward()
    np.testing.assert_allclose(w.grad.numpy(), whole.grad.numpy(), rtol=1e-12)


def test_bptt_without_detach_says_which_line_to_change() -> None:
    w = wengert.ones(3, requires_grad=True)
    h = wengert.zeros(3)
    lines = []

    def step(h: Any) -> Any:
        lines.append(here(1))
        h = (w * h + 1).tanh()
        h.sum().backward()
        return h

    h = step(h)
    with pytest.raises(GraphReleasedError) as caught:
        step(h)
    text = str(caught.value)
    assert f"joined by:   mul ({lines[0]}" in text
    assert ".detach()" in text


def test_no_op_of_a_tensor_that_needs_no_grad_references_a_creator() -> None:
    x = wengert.ones(3)
    y = (x * 2).exp()
    assert y.grad_fn is None
    assert y._edge is None
    with wengert.no_grad():
        z = wengert.ones(3, requires_grad=True) * 2
    assert z._edge is None


def test_a_chain_is_freed_while_backward_walks(no_gc: Any) -> None:
    """Each saved array goes as soon as it is used, not when the walk ends."""
    x = wengert.ones(1000, requires_grad=True)
    seen: list[int] = []
    y = x
    arrays = []
    for _ in range(5):
        y = y.exp()
        arrays.append(weakref.ref(y._array))
        y = y * 0.1
    first = y.sum()
    del y

    def count(g: Any) -> None:
        seen.append(sum(a() is not None for a in arrays))

    first.backward()
    assert [a() for a in arrays] == [None] * 5
    assert seen == []
