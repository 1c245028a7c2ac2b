"""Tensor hooks, retained gradients, post-accumulation hooks."""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict
from typing import Any

import pytest

import wengert
import wengert.utils.hooks


def leaf() -> Any:
    return wengert.tensor([1.0, 2.0], requires_grad=True)


def test_a_hook_sees_the_whole_gradient_once() -> None:
    x, seen = leaf(), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * x + x * 3).sum().backward()
    assert seen == [[5.0, 7.0]]


def test_a_hook_replaces_the_gradient_from_there_on() -> None:
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g + 1)  # in the order of registration
    y.sum().backward()
    assert x.grad.tolist() == [22.0, 22.0]


def test_handles_remove_hooks() -> None:
    x = leaf()
    handle = x.register_hook(lambda g: g * 10)
    with x.register_hook(lambda g: g * 100):
        (x * 1).sum().backward()
    assert x.grad.tolist() == [1000.0, 1000.0]
    handle.remove()
    handle.remove()
    x.grad = None
    (x * 1).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.torch
def test_programs_keep_hooks_of_their_own(torch: Any) -> None:
    def answers(handle_type: Any) -> list[Any]:
        hooks, options, others = OrderedDict(), OrderedDict(), OrderedDict()
        first = handle_type(hooks, extra_dict=options)
        with handle_type(hooks, extra_dict=[options, others]) as second:
            for kept in (hooks, options, others):
                kept[first.id], kept[second.id] = "first", "second"
        found = [list(kept.values()) for kept in (hooks, options, others)]
        first.remove()
        first.remove()
        return [second.id - first.id, *found, len(hooks), len(options), len(others)]

    from torch.utils.hooks import RemovableHandle

    assert answers(wengert.utils.hooks.RemovableHandle) == answers(RemovableHandle)


def test_retained_gradients_come_after_hooks() -> None:
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    assert y.retains_grad
    assert not x.retains_grad
    y.sum().backward()
    assert y.grad.tolist() == [10.0, 10.0]
    assert x.grad.tolist() == [20.0, 20.0]


def test_post_accumulate_hooks_see_the_sum() -> None:
    x, seen = leaf(), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert seen == [[2.0, 2.0], [4.0, 4.0]]
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(lambda p: None)


def test_a_failing_hook_changes_nothing() -> None:
    x, w = leaf(), leaf()
    y = x.exp()
    loss = (y * w).sum()

    def fail(g: Any) -> None:
        raise KeyError("hook")

    handle = y.register_hook(fail)
    with pytest.raises(KeyError):
        loss.backward()
    assert x.grad is None
    assert w.grad is None
    handle.remove()
    loss.backward()  # the graph is whole
    assert w.grad.tolist() == pytest.approx(y.tolist())


def test_hooks_must_return_gradients() -> None:
    x = leaf()
    handle = x.register_hook(lambda g: 5)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        (x * 1).sum().backward()
    handle.remove()
    with (
        x.register_hook(lambda g: wengert.ones(3)),
        pytest.raises(RuntimeError, match="has changed the size of value: expected shape"),
    ):
        (x * 1).sum().backward()
    with (
        x.register_hook(lambda g: g.double()),
        pytest.raises(RuntimeError, match=r"changed the type of value \(was torch.FloatTensor"),
    ):
        (x * 1).sum().backward()
    assert x.grad is None


def test_a_hook_on_what_needs_no_gradient_is_refused() -> None:
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        wengert.ones(2).register_hook(lambda g: g)


@pytest.mark.torch
def test_order_equals_torchs(torch: Any) -> None:
    def program(t: Any) -> list[str]:
        order: list[str] = []

        def note(name: str) -> Any:
            return lambda g: order.append(name)

        a = t.ones(2, requires_grad=True)
        b = t.ones(2, requires_grad=True)
        c = a * b
        d = c * b
        e = d.exp()
        for name, tensor in {"a": a, "b": b, "c": c, "d": d, "e": e}.items():
            tensor.register_hook(note(name))
        (e.sum() + a.sum()).backward()
        return order

    assert program(wengert) == program(torch)


def test_a_failing_post_hook_leaves_all_gradients_in_place() -> None:
    x, w = leaf(), leaf()

    def fail(p: Any) -> None:
        raise KeyError("post")

    x.register_post_accumulate_grad_hook(fail)
    with pytest.raises(KeyError):
        (x * w).sum().backward()
    assert x.grad.tolist() == w.tolist()
    assert w.grad.tolist() == x.tolist()


def lists(values: Any) -> Any:
    return tuple(None if v is None else v.tolist() for v in values)


@pytest.mark.torch
def test_what_was_asked_before_an_inplace_write(torch: Any) -> None:
    """Hooks stay with the value that they were registered for; retain_grad() moves on."""

    def program(t: Any) -> Any:
        seen: list[Any] = []
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        y.register_hook(lambda g: seen.append(("before", g.tolist())))
        y.retain_grad()
        y.mul_(10)
        y.register_hook(lambda g: seen.append(("after", g.tolist())))
        y.sum().backward()
        return seen, lists((x.grad, y.grad))

    assert program(wengert) == program(torch)


@pytest.mark.torch
def test_what_was_asked_of_a_view_before_its_base_was_written(torch: Any) -> None:
    def program(t: Any) -> Any:
        seen: list[Any] = []
        x = t.tensor([1.0, 2.0], requires_grad=True)
        b = x * 1
        v = b[:1]
        v.register_hook(lambda g: seen.append(("v", g.tolist())))
        b.register_hook(lambda g: seen.append(("b", g.tolist())))
        b.mul_(5)
        (b.sum() + v.sum() * 2).backward()
        return seen, x.grad.tolist()

    assert program(wengert) == program(torch)


def test_a_view_takes_hooks_after_its_base_was_written() -> None:
    """PyTorch registers this one where no gradient comes any more."""
    x, seen = leaf(), []
    b = x * 1
    v = b[:1]
    v.register_hook(seen.append)
    b.mul_(5)
    v.register_hook(lambda g: seen.append(("new", g.tolist())))
    v.sum().backward()
    assert seen == [("new", [1.0])]


@pytest.mark.torch
def test_hooks_of_a_leaf_outlive_writes_to_it(torch: Any) -> None:
    def program(t: Any) -> Any:
        seen: list[Any] = []
        x = t.tensor([1.0, 2.0], requires_grad=True)
        x.register_hook(lambda g: seen.append(g.tolist()))
        with t.no_grad():
            x.mul_(2)
        (x * x).sum().backward()
        x.data = t.ones(3)
        x.grad = None
        (x * x).sum().backward()
        return seen, x.grad.tolist()

    assert program(wengert) == program(torch)


@pytest.mark.torch
def test_registering_and_removing_while_hooks_run(torch: Any) -> None:
    def program(t: Any) -> list[Any]:
        seen: list[Any] = []
        handles: list[Any] = []
        x = t.ones(2, requires_grad=True)
        y = x * 3

        def first(g: Any) -> None:
            seen.append(1)
            for handle in handles:
                handle.remove()
            y.register_hook(lambda g: seen.append("added"))

        handles.append(y.register_hook(first))
        handles.append(y.register_hook(lambda g: seen.append(2)))
        y.register_hook(lambda g: seen.append(3))
        loss = y.sum()
        for _ in range(2):
            loss.backward(retain_graph=True)
            seen.append("end")
        done = []
        done.append(
            x.register_post_accumulate_grad_hook(lambda p: (seen.append("A"), done[1].remove())[1])
        )
        done.append(x.register_post_accumulate_grad_hook(lambda p: seen.append("B")))
        loss.backward()
        return seen

    assert program(wengert) == program(torch)


@pytest.mark.torch
def test_retained_gradients_are_filled_by_grad_too(torch: Any) -> None:
    def program(t: Any) -> Any:
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        z = y * y
        for tensor in (y, z, x):
            tensor.retain_grad()
        y.register_hook(lambda g: g * 2)
        loss = z.sum()
        found = [lists(t.autograd.grad(loss, inputs, retain_graph=True))
                 for inputs in ([x], [y], [z])]  # fmt: skip
        first = lists((x.grad, y.grad, z.grad))
        loss.backward()
        return found, first, lists((x.grad, y.grad, z.grad)), y.retains_grad, x.retains_grad

    assert program(wengert) == program(torch)


def test_a_captured_gradient_is_what_hooks_made_of_it() -> None:
    """Whatever else is asked for. PyTorch leaves hooks out where the walk goes on below."""
    x = leaf()
    y = x * 3
    y.register_hook(lambda g: g * 10)
    (alone,) = wengert.autograd.grad(y.sum(), y)
    both = wengert.autograd.grad(y.sum(), [y, x])
    assert lists((alone, *both)) == ([10.0, 10.0], [10.0, 10.0], [30.0, 30.0])


@pytest.mark.torch
def test_backward_with_inputs_retains_those_that_are_no_leaf(torch: Any) -> None:
    def program(t: Any) -> Any:
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        y.sum().backward(inputs=[y], retain_graph=True)
        first = y.retains_grad, lists((x.grad, y.grad))
        (y * 2).sum().backward()
        return first, lists((x.grad, y.grad))

    assert program(wengert) == program(torch)


@pytest.mark.torch
def test_post_accumulate_hooks_return_nothing(torch: Any) -> None:
    def program(t: Any) -> Any:
        x = t.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda p: t.zeros(2))
        with pytest.raises(RuntimeError, match="post accumulate grad hooks should return None"):
            (x * 2).sum().backward()
        return x.grad.tolist()

    assert program(wengert) == program(torch)


def test_hooks_see_memory_of_their_own_leaf() -> None:
    """A gradient that a hook kept does not change when others are added to `.grad`."""
    x, kept = leaf(), []
    x.register_hook(kept.append)
    x._edge.register_hook(lambda gi, go: kept.append(go[0]))
    for _ in range(3):
        (x * 2).sum().backward()
    assert [g.tolist() for g in kept] == [[2.0, 2.0]] * 6
    assert x.grad.tolist() == [6.0, 6.0]


def test_gradients_that_arrived_as_one_array_are_kept_apart() -> None:
    x, w = leaf(), leaf()
    y = x.clone()
    y.retain_grad()
    (y + w).sum().backward()  # one array goes through all of it
    held = [x.grad, y.grad, w.grad]
    assert lists(held) == ([1.0, 1.0],) * 3
    for k, g in enumerate(held):
        g.add_(k + 1)
    assert lists(held) == ([2.0, 2.0], [3.0, 3.0], [4.0, 4.0])
    y = x.clone()
    a, b, c = wengert.autograd.grad((y + w).sum(), [y, x, w])
    a.add_(1)
    b.add_(2)
    assert lists((a, b, c)) == ([2.0, 2.0], [3.0, 3.0], [1.0, 1.0])


def test_a_gradient_becomes_that_of_its_leaf_without_a_copy() -> None:
    x, seen = leaf(), []
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: seen.append(gi[0]._array.ctypes.data))
    y.sum().backward()
    assert x.grad._array.ctypes.data == seen[0]


def test_handles_and_hooks_leave_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = x.exp()
        handle = y.register_hook(lambda g: None)
        x.register_post_accumulate_grad_hook(lambda p: None)
        y.retain_grad()
        node, tensor = weakref.ref(y.grad_fn), weakref.ref(y)
        y.sum().backward(retain_graph=True)
        del x, y
        assert (node(), tensor()) == (None, None)
        handle.remove()
    finally:
        gc.enable()


def arrivals(lib: Any) -> list[str]:
    """Which parameters' hooks run in which order, through layers of several kinds."""
    order: list[str] = []
    nn = lib.nn
    net = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Linear(3, 2).double().float())
    for model, inputs in ((net, [lib.ones(4, 2), lib.ones(2), lib.ones(2, 2, 2)]),
                          (nn.Conv2d(1, 1, 1), [lib.ones(1, 1, 2, 2)]),
                          (nn.BatchNorm1d(2), [lib.ones(3, 2)])):  # fmt: skip
        for name, parameter in model.named_parameters():
            parameter.register_hook(lambda g, name=name: order.append(name))
        for x in inputs:
            model(x).sum().backward()
    return order


@pytest.mark.torch
def test_hooks_of_parameters_run_in_torchs_order(torch: Any) -> None:
    """A linear layer's bias comes before its weight."""
    import wengert.nn

    order = arrivals(wengert)
    assert order == arrivals(torch)
    assert order[:2] == ["2.bias", "2.weight"]


@pytest.mark.torch
def test_the_table_of_a_tensors_hooks_is_read_and_set(torch: Any) -> None:
    def program(t: Any) -> list[Any]:
        x = t.ones(2, requires_grad=True)
        tables = [x._backward_hooks]
        handle = x.register_hook(lambda g: g * 2)
        tables.append(len(x._backward_hooks))
        handle.remove()
        tables.append(dict(x._backward_hooks))
        x._backward_hooks = OrderedDict({0: lambda g: g * 5})
        x.sum().backward()
        x._backward_hooks = None
        x.sum().backward()
        return [*tables, x._backward_hooks, x.grad.tolist()]

    assert program(wengert) == program(torch)
