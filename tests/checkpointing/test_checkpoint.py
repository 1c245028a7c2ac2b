"""Checkpoints: the values and gradients of the plain function, and PyTorch's interface."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections import namedtuple

import numpy as np
import pytest

import wengert
from tests.nn.parity import load
from tests.torch_signatures import signatures
from wengert import nn
from wengert.utils import checkpoint as module
from wengert.utils.checkpoint import (
    CheckpointFunction,
    DefaultDeviceType,
    GraphExecGroup,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    get_device_states,
    noop_context_fn,
    set_checkpoint_early_stop,
    set_device_states,
)

both = pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "not reentrant"])


def leaf(*shape, seed=0):
    values = np.random.default_rng(seed).uniform(0.5, 1.5, shape)
    return wengert.tensor(values, requires_grad=True)


def waves(t):
    return (t.sin().exp() * t).tanh()


def gradient(function, x):
    (g,) = wengert.autograd.grad(function(x).sum(), x)
    return g


def network(library):
    return library.nn.Sequential(
        library.nn.Linear(6, 8), library.nn.BatchNorm1d(8), library.nn.ReLU(inplace=True),
        library.nn.Dropout(0.4), library.nn.Linear(8, 6), library.nn.Tanh(),
    )  # fmt: skip


@both
def test_values_and_gradients_are_those_of_the_function(reentrant):
    x = leaf(3, 4)
    y = checkpoint(waves, x, use_reentrant=reentrant)
    assert wengert.equal(y, waves(x))
    y.sum().backward()
    assert wengert.equal(x.grad, gradient(waves, x))


@both
def test_parameters_inside_get_their_gradients(reentrant):
    x, w = leaf(4, 3), leaf(3, 3, seed=1)
    checkpoint(lambda t: (t @ w).exp(), x, use_reentrant=reentrant).sum().backward()
    found = x.grad, w.grad
    x.grad = w.grad = None
    (x @ w).exp().sum().backward()
    assert wengert.equal(found[0], x.grad)
    assert wengert.equal(found[1], w.grad)


@both
def test_several_outputs_of_which_one_is_used(reentrant):
    x = leaf(3)
    a, number, b = checkpoint(lambda t: (t.sin(), 7, t.exp()), x, use_reentrant=reentrant)
    assert number == 7
    b.sum().backward()
    assert wengert.equal(x.grad, x.detach().exp())
    assert a.requires_grad


@both
def test_twice_over_a_retained_graph(reentrant):
    x = leaf(3)
    y = checkpoint(waves, x, use_reentrant=reentrant).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert wengert.equal(x.grad, 2 * gradient(waves, x))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


@both
def test_dropout_draws_the_same_numbers_and_disturbs_no_others(reentrant):
    x = leaf(50)
    wengert.manual_seed(3)
    y = checkpoint(lambda t: nn.functional.dropout(t.exp(), 0.5), x, use_reentrant=reentrant)
    wengert.rand(5)
    y.sum().backward()
    after = wengert.rand(3)
    wengert.manual_seed(3)
    z = nn.functional.dropout(leaf(50).exp(), 0.5)
    wengert.rand(5)
    assert wengert.equal(after, wengert.rand(3))
    assert wengert.equal(x.grad, z)  # exp is its own derivative


def test_random_numbers_need_not_be_the_same():
    x = leaf(200)
    wengert.manual_seed(0)
    y = checkpoint(
        lambda t: nn.functional.dropout(t, 0.5).exp(), x,
        use_reentrant=False, preserve_rng_state=False, early_stop=False,
    )  # fmt: skip
    y.sum().backward()
    dropped = (y == 1).bool()
    assert not wengert.equal(x.grad == 0, dropped)


@both
def test_batch_norm_updates_its_statistics_twice(reentrant):
    norm, x = nn.BatchNorm1d(3), wengert.rand(5, 3).requires_grad_()
    checkpoint(norm, x, use_reentrant=reentrant).exp().sum().backward()
    assert norm.num_batches_tracked.item() == 2


@both
def test_without_grad_the_function_just_runs(reentrant):
    x, calls = leaf(3), []
    with wengert.no_grad():
        y = checkpoint(lambda t: calls.append(1) or t.exp(), x, use_reentrant=reentrant)
    assert not y.requires_grad
    assert calls == [1]


def test_keyword_arguments_and_structures():
    Pair = namedtuple("Pair", "left right")

    def function(pair, scale, *, weights, shift=None):
        return pair.left * scale + (pair.right * weights["w"]).exp() + shift.sin()

    a, b, w, s = (leaf(3, seed=i) for i in range(4))
    y = checkpoint(function, Pair(a, b), 2.0, weights={"w": w}, shift=s, use_reentrant=False)
    y.sum().backward()
    found = [t.grad for t in (a, b, w, s)]
    for t in (a, b, w, s):
        t.grad = None
    function(Pair(a, b), 2.0, weights={"w": w}, shift=s).sum().backward()
    assert all(wengert.equal(f, t.grad) for f, t in zip(found, (a, b, w, s), strict=True))


def test_reentrant_sees_no_tensors_in_structures():
    x = leaf(3)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        y = checkpoint(lambda pair: pair[0].exp(), [x], use_reentrant=True)
    assert not y.requires_grad


def test_writes_inside_of_the_function():
    def function(t):
        h = t.exp()
        h = h * t
        h.add_(t)
        h[0] = t[1].sin()
        return h.relu_() * 2

    x = leaf(4)
    y = checkpoint(function, x, use_reentrant=False)
    assert wengert.equal(y, function(x))
    y.sum().backward()
    assert wengert.equal(x.grad, gradient(function, x))


def test_grad_of_some_inputs_and_of_inner_tensors():
    x, w = leaf(3), leaf(3, seed=1)
    y = checkpoint(lambda a, b: (a * b).exp(), x, w, use_reentrant=False).sum()
    (g,) = wengert.autograd.grad(y, w, retain_graph=True)
    assert wengert.allclose(g, (x * w).exp() * x)
    y.backward(inputs=[x])
    assert w.grad is None
    assert wengert.allclose(x.grad, (x * w).exp() * w)


def test_derivatives_of_derivatives():
    x = leaf(3)
    (g,) = wengert.autograd.grad(
        checkpoint(waves, x, use_reentrant=False).sum(), x, create_graph=True
    )
    (h,) = wengert.autograd.grad(waves(x).sum(), x, create_graph=True)
    assert wengert.equal(g, h)
    assert wengert.allclose(*(wengert.autograd.grad(t.sum(), x)[0] for t in (g, h)))


def test_reentrant_refuses_a_second_derivative():
    x = leaf(3)
    y = checkpoint(waves, x, use_reentrant=True).sum()
    y.backward(create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        x.grad.sum().backward()


def test_user_functions_inside():
    class Cube(wengert.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t, t * t)
            return t**3

        @staticmethod
        def backward(ctx, g):
            t, square = ctx.saved_tensors
            assert wengert.equal(t * t, square)
            return 3 * square * g

    def function(t):
        return Cube.apply(t.exp()).sin()

    x = leaf(3)
    checkpoint(function, x, use_reentrant=False).sum().backward()
    assert wengert.equal(x.grad, gradient(function, x))


def nested(inner, outer, **options):
    """A function with two checkpoints inside; what they call is counted."""
    calls = {"inner": 0, "outer": 0}

    def inside(t):
        calls["inner"] += 1
        return t.sin().exp().tanh()

    def outside(t):
        calls["outer"] += 1
        h = inner(inside, t.exp(), **options)
        return inner(inside, h.sin(), **options).cos()

    return lambda t: outer(outside, t, **options), calls


def plain(function, *args, **options):
    return function(*args)


# Without grad, as a reentrant checkpoint runs what is inside, nothing requires it.
unrecorded = pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad=True")


@both
@unrecorded
def test_nested(reentrant):
    x = leaf(5)
    function, _ = nested(checkpoint, checkpoint, use_reentrant=reentrant)
    function(x).sum().backward()
    assert wengert.equal(x.grad, gradient(nested(plain, plain)[0], x))


@pytest.mark.torch
@both
@unrecorded
def test_nested_run_as_often_as_in_pytorch(reentrant, torch):
    import torch.utils.checkpoint as theirs

    counts = []
    for x, run in ((leaf(5), checkpoint), (torch.rand(5, requires_grad=True), theirs.checkpoint)):
        function, calls = nested(run, run, use_reentrant=reentrant)
        function(x).sum().backward()
        counts.append(calls)
    assert counts[0] == counts[1]


def test_reentrant_inside_of_not_reentrant():
    x = leaf(5)

    def function(t):
        return checkpoint(waves, t.exp(), use_reentrant=True).sin()

    checkpoint(function, x, use_reentrant=False).sum().backward()
    assert wengert.equal(x.grad, gradient(lambda t: waves(t.exp()).sin(), x))


def test_backward_inside_of_the_function():
    def function(t, early=True):
        z = t.sin().cos()
        (g,) = wengert.autograd.grad(z.sum(), t, retain_graph=True)
        return g * z.exp()

    expected = leaf(3)
    function(expected).sum().backward()
    for early_stop in (True, False):
        x = leaf(3)
        y = checkpoint(function, x, use_reentrant=False, early_stop=early_stop)
        y.sum().backward()
        assert wengert.allclose(x.grad, expected.grad)


def test_backward_inside_that_releases():
    def function(t):
        (g,) = wengert.autograd.grad(t.sin().cos().sum(), t)
        return t.cos() * g

    x, expected = leaf(3), leaf(3)
    function(expected).sum().backward()
    checkpoint(function, x, use_reentrant=False).sum().backward()
    assert wengert.equal(x.grad, expected.grad)


def count_runs(early_stop, **options):
    """How far the second run of a function with three stages comes."""
    stages = []

    def function(t):
        stages.append("exp")
        h = t.exp().exp()
        stages.append("sum")
        total = h.sum()
        stages.append("done")
        return total

    y = checkpoint(function, leaf(3), use_reentrant=False, early_stop=early_stop, **options)
    stages.clear()
    y.backward()
    return stages


def test_a_recomputation_stops_early():
    assert count_runs(early_stop=True) == ["exp"]
    assert count_runs(early_stop=False) == ["exp", "sum", "done"]
    with set_checkpoint_early_stop(False):
        assert count_runs(early_stop=True) == ["exp", "sum", "done"]
    assert count_runs(early_stop=True) == ["exp"]


def test_the_early_stop_passes_through_handlers_of_exceptions():
    def function(t):
        try:
            return t.exp().exp()
        except Exception as error:
            raise AssertionError from error

    x = leaf(3)
    checkpoint(function, x, use_reentrant=False).sum().backward()
    assert x.grad is not None


def test_nothing_is_run_again_for_leaves_alone():
    calls, w = [], leaf(3)
    y = checkpoint(lambda t: calls.append(1) or t * w, leaf(3), use_reentrant=False)
    y.sum().backward()
    assert calls == [1]


def test_contexts_surround_both_runs():
    seen = []

    @contextlib.contextmanager
    def noting(what):
        seen.append(what)
        yield
        seen.append(f"{what} done")

    x = leaf(3)
    y = checkpoint(
        lambda t: t.exp().exp(), x, use_reentrant=False, early_stop=False,
        context_fn=lambda: (noting("forward"), noting("recomputation")),
    )  # fmt: skip
    y.sum().backward()
    assert seen == ["forward", "forward done", "recomputation", "recomputation done"]


def test_hooks_on_saved_tensors_see_the_arguments_only():
    packed = []

    def pack(t):
        packed.append(t.clone())
        return t

    x = leaf(3)
    h = x.exp()
    with wengert.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = checkpoint(waves, h, use_reentrant=False)
    assert len(packed) == 1
    assert wengert.equal(packed[0], h)
    y.sum().backward()
    assert wengert.equal(x.grad, gradient(lambda t: waves(t.exp()), x))


def test_hooks_inside_have_their_tensors_to_themselves():
    packed = []

    def function(t):
        h = t.exp()
        with wengert.autograd.graph.saved_tensors_hooks(
            lambda a: packed.append(1) or a, lambda a: a
        ):
            h = h.tanh()
        return h.sin()

    x = leaf(3)
    y = checkpoint(function, x, use_reentrant=False)
    assert packed == [1]
    y.sum().backward()
    assert wengert.equal(x.grad, gradient(function, x))


def test_saved_values_can_be_read_several_times():
    y = checkpoint(lambda t: t.exp().tanh(), leaf(3), use_reentrant=False)
    assert wengert.equal(y.grad_fn._saved_result, y)
    assert wengert.equal(y.grad_fn._saved_result, y)


def test_a_group_recomputes_once():
    runs = []

    def function(t):
        runs.append(1)
        return t[0].exp().sin(), t[1].exp().sin()

    x = leaf(2, 3)
    a, b = checkpoint(function, x, use_reentrant=False)
    with GraphExecGroup():
        a.sum().backward(retain_graph=True)
        b.sum().backward(retain_graph=True)
        assert len(runs) == 2
        with pytest.raises(module.CheckpointError, match="GraphExecGroup"):
            a.sum().backward()
    a.sum().backward()
    expected = x.detach().exp().cos() * x.detach().exp()
    assert wengert.allclose(x.grad, expected * wengert.tensor([[2.0], [1.0]]))


def test_groups_do_not_nest():
    with (
        pytest.raises(RuntimeError, match="GraphExecGroup contexts cannot be nested"),
        GraphExecGroup(),
        GraphExecGroup(),
    ):
        pass


@pytest.mark.parametrize("segments", [1, 2, 3, 4])
@both
def test_sequential(segments, reentrant):
    functions = [wengert.sin, wengert.exp, nn.Linear(4, 4), wengert.tanh, wengert.cos]
    functions[2].double()
    x, expected = leaf(2, 4), leaf(2, 4)
    y = checkpoint_sequential(functions, segments, x, use_reentrant=reentrant)
    h = expected
    for function in functions:
        h = function(h)
    assert wengert.equal(y, h)
    y.sum().backward()
    h.sum().backward()
    assert wengert.equal(x.grad, expected.grad)


def test_sequential_modules_are_divided_evenly():
    seen = []
    layers = nn.Sequential(*[nn.Tanh() for _ in range(7)])
    for i, layer in enumerate(layers):
        layer.register_forward_pre_hook(lambda *_, i=i: seen.append(i))
    y = checkpoint_sequential(layers, 3, leaf(2), use_reentrant=False)
    assert seen == list(range(7))
    y.sum().backward()
    assert seen[7:] == [2, 3, 0, 1]  # the last segment, 4 to 6, keeps what it saves


@pytest.mark.torch
@both
def test_a_network_as_in_pytorch(reentrant, torch):
    import torch.utils.checkpoint as theirs

    reference = network(torch).double()
    ours = network(wengert).double()
    load(ours, reference)
    x = leaf(5, 6)
    y = torch.tensor(x.tolist(), dtype=torch.float64, requires_grad=True)
    wengert.manual_seed(5)
    torch.manual_seed(5)
    checkpoint(ours, x, use_reentrant=reentrant).square().sum().backward()
    theirs.checkpoint(reference, y, use_reentrant=reentrant).square().sum().backward()
    found, expected = (
        [t.grad, *(p.grad for p in net.parameters()), *net.buffers()]
        for t, net in ((x, ours), (y, reference))
    )
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(wengert.rand(4).numpy(), torch.rand(4).numpy())


def test_detach_variable():
    x = leaf(3)
    y, number = detach_variable((x.exp(), 3))
    assert number == 3
    assert y.is_leaf
    assert y.requires_grad
    assert not detach_variable((x.detach(),))[0].requires_grad


def test_states_of_devices():
    assert get_device_states(leaf(2), [leaf(2)]) == ([], [])
    set_device_states([], [])
    assert DefaultDeviceType.get_device_type() == "cpu"
    DefaultDeviceType.set_device_type("cuda")
    try:
        assert DefaultDeviceType.get_device_type() == "cuda"
    finally:
        DefaultDeviceType.set_device_type("cpu")


def test_the_function_of_the_reentrant_kind():
    x = leaf(3)
    y = CheckpointFunction.apply(wengert.exp, True, x)
    assert type(y.grad_fn).__name__ == "CheckpointFunctionBackward"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_backward_validity([3, x])
    assert [type(c) for c in noop_context_fn()] == [contextlib.nullcontext] * 2


@pytest.mark.torch
def test_names_and_signatures_are_pytorchs(torch):
    import torch.utils.checkpoint as theirs

    assert set(module.__all__) == set(theirs.__all__)
    for name in module.__all__:
        value = getattr(theirs, name)
        if inspect.isfunction(value):
            ours = inspect.signature(getattr(module, name))
            assert list(ours.parameters) == list(inspect.signature(value).parameters), name
    assert signatures(torch, "utils.checkpoint.checkpoint")


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_function_runs_again_in_the_autocast_region_of_the_first_time(reentrant: bool) -> None:
    layer, seen = nn.Linear(4, 4), []
    x = wengert.ones(2, 4, requires_grad=True)

    def function(t):
        y = layer(t)
        seen.append((y.dtype, wengert.is_autocast_enabled("cpu")))
        return y.exp()

    with wengert.autocast("cpu", dtype=wengert.bfloat16):
        y = checkpoint(function, x, use_reentrant=reentrant)
    z = checkpoint(function, x, use_reentrant=reentrant)
    y.float().sum().backward()
    with wengert.autocast("cpu", dtype=wengert.bfloat16):
        z.sum().backward()
    lower, full = (wengert.bfloat16, True), (wengert.float32, False)
    assert seen == [lower, full, lower, full]
    assert not wengert.is_autocast_enabled("cpu")
