"""Hooks: in PyTorch's order, with PyTorch's arguments, and removable."""

from __future__ import annotations

import copy
import gc
import warnings
import weakref
from collections import Counter
from typing import Any

import numpy as np
import pytest

import wengert
from tests.garbage import garbage_of
from tests.nn.both import agree, batch, layer
from tests.nn.parity import array
from wengert import nn

both = pytest.mark.torch


def libraries(torch: Any) -> tuple[Any, Any]:
    return wengert, torch


def double(library: Any) -> Any:
    class Double(library.nn.Module):
        def forward(self, x: Any, by: float = 2.0) -> Any:
            return x * by

    return Double()


def forward_story(library: Any) -> list[Any]:
    """What hooks of every kind see, in order."""
    story: list[Any] = []
    m = double(library)
    m.register_forward_pre_hook(lambda m, args: story.append(("pre", args[0].tolist())))
    m.register_forward_pre_hook(lambda m, args: args[0] + 1)
    m.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"by": kwargs.get("by", 1) * 3}), with_kwargs=True
    )
    m.register_forward_pre_hook(lambda m, args: story.append("first"), prepend=True)
    m.register_forward_hook(lambda m, args, out: story.append((args[0].tolist(), out.tolist())))
    m.register_forward_hook(lambda m, args, out: out + 100)
    m.register_forward_hook(
        lambda m, args, kwargs, out: story.append((kwargs, out.tolist())), with_kwargs=True
    )
    m.register_forward_hook(lambda m, args, out: story.append("before"), prepend=True)
    story.append(m(library.ones(2), by=5.0).tolist())
    return story


@both
def test_forward_hooks_run_in_order(torch: Any) -> None:
    assert forward_story(wengert) == forward_story(torch)


def test_handles_remove_their_hook() -> None:
    m = double(wengert)
    with m.register_forward_hook(lambda m, args, out: out * 10):
        assert m(wengert.ones(1)).item() == 20
    assert m(wengert.ones(1)).item() == 2
    handle = m.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    handle.remove()
    handle.remove()
    assert m(wengert.ones(1)).item() == 2


def test_hooks_with_always_call_run_after_an_exception() -> None:
    m, calls = double(wengert), []
    m.register_forward_hook(lambda m, args, out: calls.append("skipped"))
    m.register_forward_hook(lambda m, args, out: calls.append(out), always_call=True)
    with pytest.raises(TypeError):
        m(wengert.ones(1), nothing=3)
    assert calls == [None]


def test_a_pre_hook_with_kwargs_must_return_both() -> None:
    m = double(wengert)
    m.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        m(wengert.ones(1))


def affine(library: Any) -> Any:
    class Affine(library.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = library.nn.Parameter(library.tensor([3.0]))

        def forward(self, x: Any, y: Any, n: int) -> Any:
            return x * self.w, y * n

    return Affine()


def values(grads: Any) -> Any:
    return [None if g is None else g.tolist() for g in grads]


def backward_story(library: Any, replace: bool, x_wants: bool, second: bool) -> list[Any]:
    story: list[Any] = []
    m = affine(library)
    x = library.tensor([1.0], requires_grad=x_wants)
    y = library.tensor([2.0], requires_grad=True)

    def full(module: Any, grad_input: Any, grad_output: Any) -> Any:
        assert module is m
        story.append(("full", values(grad_input), values(grad_output)))
        if replace:
            return tuple(None if g is None else g * 100 for g in grad_input)
        return None

    def pre(module: Any, grad_output: Any) -> Any:
        story.append(("pre", values(grad_output)))
        if replace:
            return tuple(None if g is None else g + 1 for g in grad_output)
        return None

    m.register_full_backward_hook(full)
    m.register_full_backward_hook(lambda m, i, o: story.append("last"))
    m.register_full_backward_pre_hook(pre)
    a, b = m(x * 1, y * 1, 4)
    (a * 5 + b if second else a * 5).sum().backward()
    story += [None if t.grad is None else t.grad.tolist() for t in (x, y, m.w)]
    return story


@both
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("x_wants", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_full_backward_hooks(torch: Any, replace: bool, x_wants: bool, second: bool) -> None:
    ours, theirs = (backward_story(lib, replace, x_wants, second) for lib in (wengert, torch))
    assert ours == theirs


@both
def test_full_backward_hook_where_no_input_wants_a_gradient(torch: Any) -> None:
    stories = []
    for library in (wengert, torch):
        story: list[Any] = []
        m = library.nn.Linear(2, 1)
        m.register_full_backward_hook(
            lambda m, i, o, story=story: story.append((values(i), values(o)))
        )
        loss = m(library.ones(3, 2)).sum()
        with pytest.warns(UserWarning, match="Full backward hook is firing when gradients"):
            loss.backward()
        stories.append(story)
    assert stories[0] == stories[1]
    assert len(stories[0]) == 1


def test_gradients_replaced_without_inputs_are_refused() -> None:
    m = nn.Linear(2, 1)
    m.register_full_backward_hook(lambda m, i, o: (wengert.ones(3, 2),))
    loss = m(wengert.ones(3, 2)).sum()
    with (
        pytest.warns(UserWarning, match="Full backward hook is firing"),
        pytest.raises(RuntimeError, match="no input requires gradient"),
    ):
        loss.backward()


def test_a_wrong_number_of_gradients_is_refused() -> None:
    m = nn.Linear(2, 1)
    m.register_full_backward_hook(lambda m, i, o: (None, None))
    loss = m(wengert.ones(3, 2, requires_grad=True)).sum()
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        loss.backward()


def test_full_backward_hooks_see_second_derivatives() -> None:
    m, seen = nn.Linear(1, 1, bias=False), []
    m.register_full_backward_hook(lambda m, i, o: seen.append(i[0].requires_grad))
    x = wengert.ones(1, 1, requires_grad=True)
    (g,) = wengert.autograd.grad((m(x) ** 2).sum(), x, create_graph=True)
    assert seen == [True]
    (gg,) = wengert.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(array(gg), 2 * array(m.weight) ** 2, rtol=1e-6)


def test_full_backward_hooks_run_again_on_a_retained_graph() -> None:
    m, calls = nn.Linear(2, 1), []
    m.register_full_backward_hook(lambda m, i, o: calls.append(values(i)))
    x = wengert.ones(1, 2, requires_grad=True)
    loss = m(x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert len(calls) == 2
    assert calls[0] == calls[1]


def test_full_backward_hooks_leave_no_cycles() -> None:
    gc.disable()
    try:
        m = nn.Linear(2, 1)
        m.register_full_backward_hook(lambda m, i, o: None)
        loss = m(wengert.ones(1, 2, requires_grad=True)).sum()
        reference = weakref.ref(loss.grad_fn)
        loss.backward()
        del loss
        assert reference() is None
        module = weakref.ref(m)
        del m
        assert module() is None
    finally:
        gc.enable()


def test_an_output_that_holds_no_tensor_warns() -> None:
    class Packs(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"x": x * 2}

    m = Packs()
    m.register_full_backward_hook(lambda m, i, o: None)
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple"):
        m(wengert.ones(1, requires_grad=True))


OPTIONS = ["_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs",
           "_forward_hooks_always_called"]  # fmt: skip


def test_a_removed_hook_leaves_nothing_behind() -> None:
    m = double(wengert)
    before = copy.deepcopy(vars(m))
    handles = [
        m.register_forward_pre_hook(print, with_kwargs=True),
        m.register_forward_hook(print, with_kwargs=True, always_call=True),
        m.register_full_backward_pre_hook(print),
        m.register_full_backward_hook(print),
        m.register_state_dict_pre_hook(print),
        m.register_state_dict_post_hook(print),
        m.register_load_state_dict_pre_hook(print),
        m.register_load_state_dict_post_hook(print),
    ]
    assert all(vars(m)[name] for name in OPTIONS)
    assert vars(m) != before
    for handle in handles:
        handle.remove()
        handle.remove()
    assert vars(m) == before


class Observer:
    """Keeps the handle of a hook that is a method of its own."""

    def __init__(self, register: Any) -> None:
        self.handle = register(self.hook)

    def hook(self, *args: Any) -> None:
        return


def test_a_hook_may_hold_its_handle() -> None:
    def observe() -> None:
        m, x = nn.Linear(2, 1), wengert.ones(1, 2, requires_grad=True)
        y = x * 2
        optimizer = wengert.optim.SGD(m.parameters())
        observers = [
            Observer(m.register_forward_hook),
            Observer(m.register_full_backward_hook),
            Observer(m.register_load_state_dict_pre_hook),
            Observer(y.register_hook),
            Observer(x.register_post_accumulate_grad_hook),
            Observer(y.grad_fn.register_hook),
            Observer(y.grad_fn.register_prehook),
            Observer(optimizer.register_step_post_hook),
        ]
        m(y).sum().backward()
        optimizer.step()
        observers[0].handle.remove()

    assert garbage_of(observe) == Counter()


def test_a_handle_does_not_keep_what_it_is_registered_with() -> None:
    m = double(wengert)
    handle, reference = m.register_forward_hook(lambda m, args, out: m), weakref.ref(m)
    del m
    assert reference() is None
    handle.remove()


def test_a_copy_has_hooks_and_handles_of_its_own() -> None:
    m = double(wengert)
    m.handle = m.register_forward_hook(lambda m, args, out: out + 1)
    other = copy.deepcopy(m)
    other.handle.remove()
    assert (m(wengert.ones(1)).item(), other(wengert.ones(1)).item()) == (3, 2)
    m.handle.remove()
    assert m(wengert.ones(1)).item() == 2


def test_hooks_for_loading_know_their_module_when_it_is_copied() -> None:
    m, seen = nn.Linear(2, 1), []
    m.register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: seen.append(module))
    other = copy.deepcopy(m)
    other.load_state_dict(m.state_dict())
    assert seen == [other]
    m.load_state_dict(other.state_dict())
    assert seen == [other, m]


def test_a_hook_of_another_process_keeps_its_place() -> None:
    m = double(wengert)
    unused = m.register_forward_hook(print)
    unused.remove()
    ids = range(unused.id + 1, unused.id + 4)
    m._forward_hooks |= {k: lambda m, args, out: out * 10 for k in ids}  # as unpickled
    m.register_forward_hook(lambda m, args, out: out + 1)
    assert len(m._forward_hooks) == 4
    assert m(wengert.ones(1)).item() == 2001


def test_lazy_layers_leave_no_cycles() -> None:
    def use() -> None:
        nn.LazyLinear(3)
        copy.deepcopy(nn.LazyConv1d(3, 2))(wengert.ones(1, 2, 5))
        nn.LazyLinear(3).load_state_dict(nn.Linear(2, 3).state_dict())

    assert garbage_of(use) == Counter()


def tanh_after_linear(lib: Any) -> Any:
    return lib.nn.Sequential(layer(lib, "Linear", 3, 2), lib.nn.Tanh())


def penalised(lib: Any) -> Any:
    return lib.nn.Sequential(
        layer(lib, "Linear", 3, 4), lib.nn.Softplus(), layer(lib, "Linear", 4, 1)
    )


@both
@pytest.mark.parametrize("make", [lambda lib: lib.nn.Tanh(), tanh_after_linear, penalised])
def test_hooks_of_every_layer_and_second_derivatives(torch: Any, make: Any) -> None:
    """A derivative of the derivative may pass a module's inputs without its outputs."""

    def answers(lib: Any) -> list[Any]:
        net, seen = make(lib), []
        for m in net.modules():
            name = type(m).__name__
            m.register_full_backward_hook(lambda m, i, o, n=name: seen.extend([n, *i, *o]))
            m.register_full_backward_pre_hook(lambda m, o, n=name: seen.extend([n, *o]))
        x = batch(lib).requires_grad_()
        y = net(x)
        (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        ((g.norm(dim=1) - 1) ** 2).mean().backward()
        return [*seen, x.grad, *(p.grad for p in net.parameters() if p.grad is not None)]

    agree(torch, answers)


@both
def test_hooks_that_replace_gradients_see_second_derivatives(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        m = lib.nn.Tanh()
        m.register_full_backward_hook(lambda m, i, o: (i[0] * 2,))
        m.register_full_backward_pre_hook(lambda m, o: (o[0] * 3,))
        x = lib.tensor([0.5], requires_grad=True)
        (g,) = lib.autograd.grad(m(x).sum(), x, create_graph=True)
        return [g, *lib.autograd.grad(g.sum(), x)]

    agree(torch, answers)


def node_hook_story(library: Any, everywhere: bool, monkeypatch: Any) -> list[Any]:
    story: list[Any] = []
    place = library.nn.modules.module
    if hasattr(place, "_global_is_full_backward_hook"):  # which PyTorch remembers for ever
        monkeypatch.setattr(place, "_global_is_full_backward_hook", None)

    class Pair(library.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x.sin(), {"cos": x.cos()}

    def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
        story.append((type(module).__name__, values(grad_input), values(grad_output)))
        return tuple(g * 100 for g in grad_input)

    modules = [library.nn.Sigmoid(), library.nn.Sequential(library.nn.Tanh(), library.nn.ReLU())]
    for module in (*modules, Pair()):
        handle = (
            place.register_module_backward_hook(hook)
            if everywhere
            else module.register_backward_hook(hook)
        )
        x = library.ones(2, dtype=library.float64, requires_grad=True)
        for value in (x, x * 2, library.ones(1)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                out = module(value)
            story += [(w.category, str(w.message).partition(" is deprec")[0]) for w in caught]
            if value.requires_grad:
                (out[0] + out[1]["cos"] if isinstance(out, tuple) else out).sum().backward()
        handle.remove()
        module(x)
        story.append(x.grad.tolist())
    if not everywhere:
        modules[0].register_backward_hook(hook)
        with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
            modules[0].register_full_backward_hook(hook)
        full = library.nn.Tanh()
        full.register_full_backward_hook(hook)
        with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
            full.register_backward_hook(hook)
    return story


@both
@pytest.mark.parametrize("everywhere", [False, True])
def test_hooks_of_the_last_node(torch: Any, everywhere: bool, monkeypatch: Any) -> None:
    ours, theirs = (node_hook_story(lib, everywhere, monkeypatch) for lib in (wengert, torch))
    assert ours == theirs


def test_global_hooks_of_nodes_and_full_ones_are_refused_together() -> None:
    place = nn.modules.module
    for first, second in (
        (place.register_module_backward_hook, place.register_module_full_backward_hook),
        (place.register_module_full_backward_hook, place.register_module_backward_hook),
    ):
        with first(print), pytest.raises(RuntimeError, match="Cannot use both regular"):
            second(print)


def test_a_node_hook_does_not_keep_its_module() -> None:
    m, x = nn.Tanh(), wengert.ones(1, requires_grad=True) * 2
    m.register_backward_hook(lambda *grads: None)
    out = m(x)
    del m
    with pytest.raises(RuntimeError, match="the hook of a dead Module"):
        out.backward()
