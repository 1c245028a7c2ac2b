"""Hooks of nodes: order, answers, several outputs, removal, what else a node has."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import wengert
from wengert.core.tensor import Node


def leaf() -> Any:
    return wengert.tensor([1.0, 2.0], requires_grad=True)


def lists(values: Any) -> Any:
    return tuple(None if v is None else v.tolist() for v in values)


@pytest.fixture
def no_gc() -> Any:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.torch
def test_order_and_arguments_equal_torchs(torch: Any) -> None:
    def program(t: Any) -> Any:
        order: list[Any] = []
        a = t.tensor([1.0, 2.0], requires_grad=True)
        b = a * 3
        node = b.grad_fn
        accumulate = node.next_functions[0][0]
        a.register_hook(lambda g: order.append(("a", g.tolist())))
        accumulate.register_prehook(lambda go: order.append(("a pre", lists(go))))
        accumulate.register_hook(
            lambda gi, go: order.append(("a post", gi, lists(go), a.grad.tolist()))
        )
        a.register_post_accumulate_grad_hook(lambda p: order.append(("a done", p.grad.tolist())))
        node.register_prehook(lambda go: order.append(("b pre", lists(go))) or (go[0] * 2,))
        b.register_hook(lambda g: order.append(("b", g.tolist())) or g * 10)
        b.retain_grad()
        node.register_prehook(lambda go: order.append(("b pre 2", lists(go))))
        b.register_hook(lambda g: order.append(("b 2", g.tolist())))
        node.register_hook(
            lambda gi, go: order.append(("b post", lists(gi), lists(go))) or (gi[0] + 1, None)
        )
        node.register_hook(lambda gi, go: order.append(("b post 2", lists(gi), lists(go))))
        (b * b).sum().backward()
        return order, b.grad.tolist(), a.grad.tolist()

    assert program(wengert) == program(torch)


@pytest.mark.torch
def test_hooks_of_inner_nodes_run_in_torchs_order(torch: Any) -> None:
    def program(t: Any) -> list[str]:
        order: list[str] = []
        a, b = (t.ones(2, requires_grad=True) for _ in range(2))
        c = a * b
        d = c * b
        for name, tensor in {"c": c, "d": d}.items():
            tensor.register_hook(lambda g, name=name: order.append(f"{name} tensor"))
            tensor.grad_fn.register_prehook(lambda go, name=name: order.append(f"{name} pre"))
            tensor.grad_fn.register_hook(lambda gi, go, name=name: order.append(f"{name} post"))
        (d.sum() + a.sum()).backward()
        return order

    assert program(wengert) == program(torch)


# What a hook returns, by whether the hook is a prehook (one gradient) or a posthook (two).
ANSWERS = {
    "a tensor": lambda t: t.ones(2),
    "a list": lambda t: [t.ones(2)],
    "a number": lambda t: 5,
    "numbers": lambda t: (5,),
    "two numbers": lambda t: (5, 5),
    "one": lambda t: (t.ones(2) * 4,),
    "two": lambda t: (t.ones(2) * 4, t.ones(2) * 5),
    "None": lambda t: (None,),
    "two None": lambda t: (None, None),
    "None and one": lambda t: (None, t.ones(2)),
    "another shape": lambda t: (t.ones(3),),
    "two shapes": lambda t: (t.ones(2, 2), t.ones(2)),
    "another dtype": lambda t: (t.ones(2, dtype=t.float64),),
    "two dtypes": lambda t: (t.ones(2), t.ones(2, dtype=t.float64)),
}


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["tensor", "pre", "post", "leaf pre", "leaf post"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_are_taken_or_refused_as_in_torch(torch: Any, kind: str, answer: str) -> None:
    def program(t: Any) -> Any:
        a = t.tensor([1.0, 2.0], requires_grad=True)
        b = t.tensor([3.0, 4.0], requires_grad=True)
        c = a * b
        node = c.grad_fn
        arrive = node.next_functions[0][0]

        def hook(*grads: Any) -> Any:
            return ANSWERS[answer](t)

        register = {
            "tensor": c.register_hook,
            "pre": node.register_prehook,
            "post": node.register_hook,
            "leaf pre": arrive.register_prehook,
            "leaf post": arrive.register_hook,
        }[kind]
        register(hook)
        try:
            c.sum().backward()
        except (TypeError, RuntimeError) as error:
            # dtypes have other names, and our texts go on
            text = str(error).split("type of value")[0].split("size of value")[0].splitlines()[0]
            return type(error).__name__, text.split(":")[0]
        return lists((a.grad, b.grad))

    assert program(wengert) == program(torch)


@pytest.mark.torch
def test_an_operation_of_several_outputs_has_one_node(torch: Any) -> None:
    def program(t: Any) -> Any:
        seen: list[Any] = []
        x = t.arange(6.0).requires_grad_()
        a, b, c = x.split(2)
        assert a.grad_fn is b.grad_fn is c.grad_fn
        a.grad_fn.register_prehook(lambda go: seen.append(lists(go)))
        a.grad_fn.register_prehook(lambda go: (go[0], None, go[2]))
        a.grad_fn.register_hook(lambda gi, go: seen.append((lists(gi), lists(go))))
        (a * 2 + b).sum().backward()
        return seen, x.grad.tolist(), a.output_nr, c.output_nr

    assert program(wengert) == program(torch)


@pytest.mark.torch
def test_a_users_function_has_node_hooks(torch: Any) -> None:
    def program(t: Any) -> Any:
        seen: list[Any] = []

        class Two(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 1, x * 2

            @staticmethod
            def backward(ctx: Any, a: Any, b: Any) -> Any:
                seen.append(("rule", lists((a, b))))
                return a + 2 * b

        x = t.ones(2, requires_grad=True)
        p, q = Two.apply(x)
        p.grad_fn.register_prehook(lambda go: seen.append(("pre", lists(go))))
        q.grad_fn.register_hook(lambda gi, go: seen.append(("post", lists(gi), lists(go))))
        q.sum().backward()
        return seen, p.grad_fn.name(), x.grad.tolist()

    assert program(wengert) == program(torch)


@pytest.mark.torch
def test_next_functions_are_torchs(torch: Any) -> None:
    def program(t: Any) -> Any:
        x = t.arange(4.0).requires_grad_()
        b = x.split(2)[1]
        y = b * 2 + x.exp()[:2]
        known: dict[Any, int] = {}

        def described(node: Any) -> Any:
            if node is None:
                return None
            if node in known:
                return known[node]
            known[node] = len(known)
            return (
                type(node).__name__, node.name(),
                [(described(n), index) for n, index in node.next_functions],
            )  # fmt: skip

        return described(y.grad_fn)

    assert program(wengert) == program(torch)


def test_metadata_belongs_to_the_node() -> None:
    y = leaf() * 2
    y.grad_fn.metadata["seen"] = 1
    assert y.grad_fn.metadata == {"seen": 1}
    assert (leaf() * 2).grad_fn.metadata == {}
    y.sum().backward()  # metadata is no listener
    assert y.grad_fn.metadata == {"seen": 1}


def test_later_nodes_have_larger_numbers() -> None:
    y = leaf() * 2
    z = y * 2
    assert y.grad_fn._sequence_nr() < z.grad_fn._sequence_nr()
    assert isinstance(z.grad_fn, wengert.autograd.graph.Node)


def test_handles_remove_hooks_and_running_hooks_are_a_copy() -> None:
    x, seen = leaf(), []
    y = x * 2
    node = y.grad_fn
    first = node.register_prehook(lambda go: (seen.append(1), second.remove())[0])
    second = node.register_prehook(lambda go: seen.append(2))
    y.sum().backward(retain_graph=True)
    assert seen == [1, 2]  # as in PyTorch, what has begun goes on
    first.remove()
    y.sum().backward()
    assert seen == [1, 2]


@pytest.mark.torch
def test_gradients_that_do_not_arrive(torch: Any) -> None:
    def program(t: Any) -> Any:
        seen: list[Any] = []

        class Left(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                return x + y

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g, None

        x = t.ones(2, requires_grad=True)
        u, v = x * 2, x * 3
        v.register_hook(lambda g: seen.append(g))
        v.grad_fn.register_prehook(lambda go: seen.append(go))
        v.grad_fn.register_hook(lambda gi, go: seen.append((gi, go)))
        v.retain_grad()
        Left.apply(u, v).sum().backward()
        u, v = x * 2, x * 3
        v.register_hook(lambda g: t.ones(2))
        try:
            Left.apply(u, v).sum().backward()
        except RuntimeError as error:
            seen.append(str(error).split(",")[0])
        return seen, v.grad, x.grad.tolist()

    with pytest.warns(UserWarning, match="not a leaf"):
        ours = program(wengert)
    with pytest.warns(UserWarning, match="not a leaf"):
        theirs = program(torch)
    text = "can't replace a None gradient with a non-None value"
    assert ours[0][-1].startswith(text)
    assert theirs[0][-1] == text
    assert ours[0][:-1] == theirs[0][:-1]
    assert ours[1:] == theirs[1:]


@pytest.mark.torch
def test_a_prehook_can_stop_the_gradient(torch: Any) -> None:
    def program(t: Any) -> Any:
        x, seen = t.ones(2, requires_grad=True), []
        y = x * 3
        y.grad_fn.register_prehook(lambda go: (None,))
        y.grad_fn.register_hook(lambda gi, go: seen.append((gi, go)))
        y.sum().backward()
        return x.grad, seen

    assert program(wengert) == program(torch)


@pytest.mark.torch
def test_which_hooks_run_for_chosen_inputs(torch: Any) -> None:
    def program(t: Any, run: Any) -> Any:
        seen: list[str] = []
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        for name, tensor in {"x": x, "y": y}.items():
            tensor.register_hook(lambda g, name=name: seen.append(name) or g * 10)
        y.grad_fn.register_prehook(lambda go: seen.append("y pre") or (go[0] * 2,))
        y.grad_fn.register_hook(lambda gi, go: seen.append("y post"))
        accumulate = y.grad_fn.next_functions[0][0]
        accumulate.register_prehook(lambda go: seen.append("x pre"))
        accumulate.register_hook(lambda gi, go: seen.append("x post"))
        x.register_post_accumulate_grad_hook(lambda p: seen.append("x done"))
        y.retain_grad()
        grads = run(t, x, y)
        return lists(grads or ()), seen, lists((x.grad, y.grad))

    runs = [
        lambda t, x, y: y.sum().backward(),
        lambda t, x, y: y.sum().backward(inputs=[x]),
        lambda t, x, y: y.sum().backward(inputs=[x, y]),
        lambda t, x, y: t.autograd.grad(y.sum(), [x]),
        lambda t, x, y: t.autograd.grad(y.sum(), [y]),
    ]
    for run in runs:
        assert program(wengert, run) == program(torch, run)


def test_the_node_of_an_input_that_is_no_leaf_does_not_run() -> None:
    x, seen = leaf(), []
    y = x.exp()
    y.grad_fn.register_prehook(lambda go: seen.append(go))
    y.register_hook(lambda g: g * 10)
    y.sum().backward(inputs=[y])
    assert seen == []
    assert y.retains_grad
    assert lists((x.grad, y.grad)) == (None, [10.0, 10.0])
    y.sum().backward()  # its rules are still there
    assert lists((x.grad, y.grad)) == ((y * 10).tolist(), [20.0, 20.0])


def test_hooks_run_with_recording_off_or_on_as_the_walk_does() -> None:
    x, seen = leaf(), []

    def note(*grads: Any) -> None:
        seen.append(wengert.is_grad_enabled())

    y = x * x
    y.register_hook(note)
    y.grad_fn.register_prehook(note)
    y.grad_fn.register_hook(note)
    y.sum().backward(retain_graph=True)
    assert seen == [False] * 3
    wengert.autograd.grad(y.sum(), x, create_graph=True)
    assert seen == [False] * 3 + [True] * 3


@pytest.mark.torch
def test_recorded_hooks_can_be_differentiated(torch: Any) -> None:
    def program(t: Any) -> Any:
        x = t.tensor([1.0, 2.0], requires_grad=True)
        z = x * x
        z.grad_fn.register_hook(lambda gi, go: (gi[0] * x, gi[1]))
        (g,) = t.autograd.grad(z.sum(), x, create_graph=True)
        (h,) = t.autograd.grad(g.sum(), x)
        return lists((g, h))

    assert program(wengert) == program(torch)


def test_the_gradient_of_slices_is_whole_for_hooks() -> None:
    x, seen = wengert.ones(4, requires_grad=True), []
    y = x[1:3]
    y.grad_fn.register_hook(lambda gi, go: seen.append(lists(gi)))
    y.sum().backward()
    assert seen == [([0.0, 1.0, 1.0, 0.0],)]


def test_a_failing_node_hook_changes_nothing() -> None:
    x, w = leaf(), leaf()
    y = x.exp()
    loss = (y * w).sum()

    def fail(*grads: Any) -> None:
        raise KeyError("hook")

    for register in (y.grad_fn.register_hook, y.grad_fn.register_prehook):
        handle = register(fail)
        with pytest.raises(KeyError) as caught:
            loss.backward()
        assert "in the derivative of exp" in caught.value.__notes__[0]
        assert x.grad is None
        assert w.grad is None
        handle.remove()
    loss.backward()
    assert w.grad.tolist() == y.tolist()


def test_hooked_nodes_are_released(no_gc: Any) -> None:
    x = leaf()
    y = x.exp()
    z = y * 2
    y.grad_fn.register_hook(lambda gi, go: None)
    y.grad_fn.register_prehook(lambda go: None)
    y.grad_fn.metadata["k"] = 1
    nodes: list[weakref.ref[Node]] = [weakref.ref(y.grad_fn), weakref.ref(z.grad_fn)]
    z.sum().backward()
    with pytest.raises(wengert.autograd.GraphReleasedError):
        y.sum().backward()
    del y, z
    assert [ref() for ref in nodes] == [None, None]


def test_auto_releases_hooked_nodes(no_gc: Any) -> None:
    x = leaf()
    y = x.exp()
    node = y.grad_fn
    y.register_hook(lambda g: None)
    loss = y.sum()
    del y
    loss.backward(retain_graph="auto")
    assert not node.state.released  # `node` keeps it
    del node
    loss = x.exp()
    loss.register_hook(lambda g: None)
    top = loss.sum()
    kept = weakref.ref(loss.grad_fn)
    del loss
    top.backward(retain_graph="auto")
    assert kept() is None
