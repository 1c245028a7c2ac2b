"""Edges instead of tensors, versions, hooks on several tensors: `wengert.autograd.graph`."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops.calls import call, outputs, rng_of
from tests.ops.rows import all_rows
from wengert.autograd import backward, grad
from wengert.autograd.edges import node_dtype
from wengert.autograd.graph import (
    GradientEdge,
    get_gradient_edge,
    increment_version,
    register_multi_grad_hook,
    set_warn_on_accumulate_grad_stream_mismatch,
)


def leaf() -> Any:
    return wengert.tensor([1.0, 2.0], requires_grad=True)


def lists(values: Any) -> Any:
    return tuple(None if v is None else v.tolist() for v in values)


@pytest.mark.torch
def test_edges_stand_for_tensors_as_in_torch(torch: Any) -> None:
    def program(t: Any) -> Any:
        edge_of = t.autograd.graph.get_gradient_edge
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        z = (y * y).sum()
        ex, ey, ez = map(edge_of, (x, y, z))
        other = t.ones(2, requires_grad=True)
        away = edge_of(other)
        keep = {"retain_graph": True}
        results = [
            grads(t.autograd.grad(z, ey, **keep)),
            grads(t.autograd.grad(z, [ey, x, ex], **keep)),
            grads(t.autograd.grad(ez, [x], **keep)),
            grads(t.autograd.grad(ey, [x], grad_outputs=t.ones(2), **keep)),
            grads(t.autograd.grad([z, ey], [x], grad_outputs=[None, t.ones(2)], **keep)),
            failure(lambda: t.autograd.grad(ey, [x], **keep)),
            failure(lambda: t.autograd.grad(ey, [x], grad_outputs=t.ones(3), **keep)),
            failure(lambda: t.autograd.grad(z, [(y.grad_fn, 0)], **keep)),
            failure(lambda: t.autograd.grad(z, [y.grad_fn], **keep)),
            grads(t.autograd.grad(z, ex, materialize_grads=True, **keep)),
            failure(lambda: t.autograd.grad(z, away, materialize_grads=True, **keep)),
            failure(lambda: t.autograd.grad(z, away, **keep)),
            grads(t.autograd.grad(z, away, allow_unused=True, **keep)),
            failure(lambda: edge_of(t.ones(2))),
        ]  # fmt: skip
        for roots, seeds, inputs in [(ez, None, None), ([ey], t.ones(2), None), (z, None, ex),
                                     (z, None, [ey])]:  # fmt: skip
            x.grad = None
            t.autograd.backward(roots, seeds, inputs=inputs, **keep)
            results.append(None if x.grad is None else x.grad.tolist())
        return results, ex.output_nr, ez == edge_of(z), len(ez)

    def grads(values: Any) -> Any:
        return lists(values)

    def failure(call: Any) -> str:
        with pytest.raises(RuntimeError) as caught:
            call()
        text = str(caught.value).replace("torch.Size(", "").replace(")", "")
        return text.split(",")[0].split(" (")[0].split(":")[0].split(" and output")[0][:75]

    assert program(wengert) == program(torch)


def test_an_edge_keeps_the_graph_and_not_the_tensor() -> None:
    x = leaf()
    y = x.exp()
    edge, loss = get_gradient_edge(y), (y * y).sum()
    expected, gone = (2 * y).tolist(), weakref.ref(y)
    del y
    assert gone() is None
    assert lists(grad(loss, edge)) == (expected,)


@pytest.mark.torch
def test_edges_of_several_outputs(torch: Any) -> None:
    def program(t: Any) -> Any:
        edge_of, made = t.autograd.graph.get_gradient_edge, t.autograd.graph.GradientEdge
        x = t.tensor([1.0, 2.0], requires_grad=True)
        a, b = x.split(1)
        loss = (a * 2 + b * 3).sum()
        edges = [edge_of(b), edge_of(a), made(b.grad_fn, 1), x]
        (through,) = t.autograd.grad(made(b.grad_fn, 1), [x], retain_graph=True)
        return lists(t.autograd.grad(loss, edges, retain_graph=True)), through.tolist()

    assert program(wengert) == program(torch)


def test_edges_of_a_function_with_two_outputs() -> None:
    class Two(wengert.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1, x * 2

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a + 2 * b

    x = leaf()
    p, q = Two.apply(x)
    loss = (p * 5 + q * 7).sum()
    made = GradientEdge(q.grad_fn, 1)
    grads = grad(loss, [made, get_gradient_edge(p), x], retain_graph=True)
    assert lists(grads) == ([7.0, 7.0], [5.0, 5.0], [19.0, 19.0])
    assert lists(grad(made, x, wengert.ones(2))) == ([2.0, 2.0],)


def test_an_output_that_is_not_there_is_refused() -> None:
    x = leaf()
    y = x.exp()
    a, _ = x.split(1)
    for node, index in [(y.grad_fn, 1), (a.grad_fn, 2), (a.grad_fn, -1)]:
        with pytest.raises(IndexError, match=f"output_nr {index} is out of range"):
            grad(y.sum(), GradientEdge(node, index))
    with pytest.raises(TypeError, match="expected a node"):
        grad(y.sum(), GradientEdge(y, 0))  # type: ignore[arg-type]


def test_what_begins_at_an_edge_has_the_dtype_of_the_leaves() -> None:
    x = wengert.tensor([1.0, 2.0, 4.0], dtype=wengert.float64, requires_grad=True)
    edge = get_gradient_edge((x / 3).mean())
    (g,) = grad(edge, x)
    assert g.dtype is wengert.float64
    assert g.tolist() == [1 / 9] * 3


@pytest.mark.torch
def test_arguments_of_the_wrong_kind(torch: Any) -> None:
    def program(t: Any) -> list[str]:
        x = t.ones(2, requires_grad=True)
        z = (x * x).sum()
        calls = [
            lambda: t.autograd.grad(z, [3]),
            lambda: t.autograd.grad(z, 3),
            lambda: t.autograd.grad(z, []),
            lambda: z.backward(inputs=[3]),
            lambda: z.backward(inputs=[]),
            lambda: t.autograd.grad(z, [t.ones(2)]),
            lambda: t.autograd.grad(z, [x], grad_outputs=[3]),
            lambda: t.autograd.grad(z, [x], grad_outputs=t.tensor(1.0 + 0j)),
            lambda: t.autograd.grad(z, [x], grad_outputs=t.tensor(1.0).double(), retain_graph=True),
            lambda: t.autograd.backward([]),
        ]
        return [outcome(call) for call in calls]

    def outcome(call: Any) -> str:
        try:
            return str(call() is None)
        except (TypeError, RuntimeError) as error:
            return type(error).__name__

    assert program(wengert) == program(torch)


def test_backward_to_a_leaf_of_several_elements() -> None:
    x, w = leaf(), leaf()
    (x * w).sum().backward(inputs=[x])
    assert lists((x.grad, w.grad)) == ([1.0, 2.0], None)


class TestVersions:
    def test_a_noted_write_is_found(self) -> None:
        x = leaf()
        y = x.exp()
        loss = (y * y).sum()
        y.detach().numpy()[0] = 7.0  # unseen
        increment_version(y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
            loss.backward()
        assert "increment_version(y)" in str(caught.value)
        assert x.grad is None

    def test_arguments(self) -> None:
        a, b = wengert.ones(2), wengert.ones(2)
        increment_version([a, b])
        assert (a._version, b._version) == (1, 1)
        with pytest.raises(RuntimeError, match="increment_version expect a Iterable"):
            increment_version(3)  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match="each element of the iterable to be a tensor"):
            increment_version([a, 3])  # type: ignore[list-item]
        assert a._version == 1


class TestMultiGradHooks:
    @pytest.mark.torch
    def test_all_and_any_equal_torchs(self, torch: Any) -> None:
        def program(t: Any) -> list[Any]:
            graph, seen = t.autograd.graph, []
            a = t.tensor([1.0, 2.0], requires_grad=True)
            b = t.tensor([3.0, 4.0], requires_grad=True)
            c, d = a * b, a + b
            c.register_hook(lambda g: g * 2)
            keep = {"retain_graph": True}
            runs = [
                lambda: c.sum().backward(**keep),
                lambda: c.sum().backward(inputs=(a,), **keep),
                lambda: (c + d).sum().backward(**keep),
                lambda: t.autograd.grad(c.sum(), c, **keep),
                lambda: d.sum().backward(**keep),
            ]
            for mode, tensors in [("all", (a, b, c, d)), ("all", (a, a)), ("any", (a, b, c, d)),
                                  ("all", [c]), ("any", (t.ones(2), c))]:  # fmt: skip
                handle = graph.register_multi_grad_hook(tensors, note(seen), mode=mode)
                for run in runs:
                    seen.append("run")
                    run()
                handle.remove()
                handle.remove()
                runs[2]()
            return seen

        def note(seen: list[Any]) -> Any:
            def fn(grads: Any) -> None:
                kind = type(grads) is list
                seen.append(lists(grads) if kind else grads.tolist())

            return fn

        assert program(wengert) == program(torch)

    def test_arguments(self) -> None:
        x = leaf()
        with pytest.raises(ValueError, match="Expects mode to be one of"):
            register_multi_grad_hook([x], print, mode="some")
        with pytest.raises(AssertionError, match="Expected gradient function to be set"):
            register_multi_grad_hook([x, wengert.ones(2)], print)
        register_multi_grad_hook([], print)
        with register_multi_grad_hook([x], lambda grads: None) as handle:
            assert isinstance(handle, wengert.autograd.hooks.RemovableHandle)

    def test_a_gradient_that_does_not_arrive_is_waited_for_no_longer(self) -> None:
        class Left(wengert.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                return x + y

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g, None

        x, seen = leaf(), []
        u, v = x * 1, x * 1
        register_multi_grad_hook((u, v), lambda grads: seen.append(lists(grads)))
        Left.apply(u, v).sum().backward()
        assert seen == [([1.0, 1.0], None)]

    def test_backwards_inside_of_each_other_are_told_apart(self) -> None:
        x, seen = leaf(), []
        y = x * 2
        register_multi_grad_hook([x, y], lambda grads: seen.append(lists(grads)))

        def inner(g: Any) -> None:
            if not seen:
                with wengert.enable_grad():
                    (x * 5).sum().backward()

        y.register_hook(inner)
        y.sum().backward()
        assert seen == [([5.0, 5.0], None), ([2.0, 2.0], [1.0, 1.0])]
        assert x.grad.tolist() == [7.0, 7.0]

    def test_a_failed_backward_leaves_no_count_behind(self) -> None:
        x, seen, fails = leaf(), [], [True]
        y = x * 2

        def fail(g: Any) -> None:
            if fails.pop():
                raise KeyError("once")

        x.register_hook(fail)
        register_multi_grad_hook([x, y], lambda grads: seen.append(lists(grads)))
        loss = y.sum()
        with pytest.raises(KeyError):
            loss.backward()
        fails.append(False)
        loss.backward()
        assert seen == [([2.0, 2.0], [1.0, 1.0])]

    def test_no_cycle(self) -> None:
        gc.collect()
        gc.disable()
        try:
            x = leaf()
            y = x.exp()
            register_multi_grad_hook([x, y], lambda grads: None)
            node, root = weakref.ref(y.grad_fn), weakref.ref(x._edge)
            y.sum().backward(retain_graph=True)
            del x, y
            assert (node(), root()) == (None, None)
        finally:
            gc.enable()


def test_streams_there_are_none() -> None:
    set_warn_on_accumulate_grad_stream_mismatch(True)
    with pytest.raises(RuntimeError, match="must be a bool, but got int"):
        set_warn_on_accumulate_grad_stream_mismatch(3)  # type: ignore[arg-type]


def test_edges_close_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = x.split(1)[0]
        edge = get_gradient_edge(y)
        grad((y * 2).sum(), edge, retain_graph=True)
        backward(edge, wengert.ones(1))
        node = weakref.ref(edge.node)
        del y, edge
        assert node() is None
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore")
def test_the_dtype_at_every_operation_is_known() -> None:
    """Compiled rules read memory: a gradient that starts at an edge is brought into its dtype."""
    wrong, looked_at = {}, 0
    for row in all_rows():
        if not row.grad:
            continue
        try:
            result, _ = call(wengert, row, single(row.make(rng_of(row))), grad=True)
        except (RuntimeError, ValueError, NotImplementedError):
            continue  # in float64 only
        for output in outputs(result):
            if isinstance(output, wengert.Tensor) and output._edge is not None:
                looked_at += 1
                if node_dtype(output._edge) != output._array.dtype:
                    wrong[str(row)] = node_dtype(output._edge)
    assert looked_at > 1500
    assert wrong == {}


def single(value: Any) -> Any:
    """Arguments in single precision."""
    if isinstance(value, np.ndarray):
        return value.astype({"f": "f4", "c": "c8"}.get(value.dtype.kind, value.dtype))
    if type(value) in (list, tuple):
        return type(value)(map(single, value))
    return value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.double().float().tanh(),
        lambda x: wengert.nn.functional.conv2d(x[None, None], x[None, None, :3, :3]),
        lambda x: x.double() * 2,
        lambda x: (x + 1j).abs(),
        lambda x: wengert.fft.rfft(x).real,
        lambda x: x.unbind()[3],
        lambda x: x.double().unbind()[3],
        lambda x: (x * 2).index_put_((wengert.tensor([0]),), x[0].detach()),
    ],
)
@pytest.mark.parametrize("dtype", [wengert.float64, wengert.float16, wengert.int64])
def test_a_gradient_at_an_edge_is_brought_into_its_dtype(make: Any, dtype: Any) -> None:
    x = (wengert.arange(4096.0).reshape(64, 64) * 0.37).sin().requires_grad_()
    y = make(x)
    g = (wengert.arange(float(y.numel())).reshape(y.shape) % 5).to(y.dtype)
    (expected,) = wengert.autograd.grad(y, x, g, retain_graph=True)
    (got,) = wengert.autograd.grad(get_gradient_edge(y), x, g.to(dtype))
    assert got.dtype is wengert.float32
    np.testing.assert_array_equal(got.numpy(), expected.numpy())
    _, pull = wengert.func.vjp(make, x.detach())
    np.testing.assert_array_equal(pull(g.to(dtype))[0].numpy(), expected.numpy())
