"""Selective checkpoints: what the policy is asked, and what is not computed again."""

from __future__ import annotations

import functools
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import wengert
import wengert.nn.functional as F
from wengert.utils.checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)


def leaf(*shape, seed=0):
    values = np.random.default_rng(seed).uniform(0.5, 1.5, shape)
    return wengert.tensor(values, requires_grad=True)


def selective(function, *args, policy, **options):
    """A selective checkpoint of a function."""
    contexts = functools.partial(create_selective_checkpoint_contexts, policy, **options)
    return checkpoint(function, *args, use_reentrant=False, context_fn=contexts)


@pytest.fixture
def computed(monkeypatch):
    """Names of the operations in the order in which they were computed."""
    names = []
    for op in (wengert.mm.op, wengert.exp.op, wengert.tanh.op, F.linear.op):
        op.function(*[wengert.ones(1, 1)] * len([i for i in op.inputs if i != "bias"]))  # written
        scope = op.function.__globals__
        forward = scope["forward"]

        def counted(*args, forward=forward, name=op.name, **kwargs):
            names.append(name)
            return forward(*args, **kwargs)

        monkeypatch.setitem(scope, "forward", counted)
    return names


def product(x, w):
    return (wengert.mm(x.exp(), w).tanh() * x).sum()


def test_saved_results_are_not_computed_again(computed):
    x, w = leaf(3, 3), leaf(3, 3, seed=1)
    y = selective(product, x, w, policy=[wengert.mm])
    assert computed == ["exp", "mm", "tanh"]
    computed.clear()
    y.backward()
    assert computed[:2] == ["exp", "tanh"]
    assert computed.count("mm") == 0
    found = x.grad, w.grad
    x.grad = w.grad = None
    product(x, w).backward()
    assert wengert.equal(found[0], x.grad)
    assert wengert.equal(found[1], w.grad)


POLICIES = {
    CheckpointPolicy.MUST_SAVE: True,
    CheckpointPolicy.PREFER_SAVE: True,
    CheckpointPolicy.MUST_RECOMPUTE: False,
    CheckpointPolicy.PREFER_RECOMPUTE: False,
    CheckpointPolicy.MUST_CPU_OFFLOAD: False,
    CheckpointPolicy.PREFER_CPU_OFFLOAD: False,
    True: True,
    False: False,
}


@pytest.mark.parametrize("answer", POLICIES)
def test_policies(answer, computed):
    x, w = leaf(3, 3), leaf(3, 3, seed=1)
    y = selective(product, x, w, policy=lambda ctx, op, *args, **kwargs: answer)
    computed.clear()
    y.backward()
    assert ("mm" not in computed) is POLICIES[answer]
    (g,) = wengert.autograd.grad(product(x, w), x)
    assert wengert.equal(x.grad, g)


def test_what_a_policy_is_given():
    asked = []

    def policy(ctx, op, *args, **kwargs):
        assert isinstance(ctx, SelectiveCheckpointContext)
        assert ctx.is_recompute is False
        asked.append((op, args, kwargs, ctx.op_output))
        return CheckpointPolicy.PREFER_RECOMPUTE

    x = leaf(2, 3)

    def function(t):
        h = F.linear(t, leaf(4, 3), None)
        return wengert.addmm(h, h, leaf(4, 4), beta=2).sum(1, keepdim=True)

    y = selective(function, x, policy=policy)
    y.sum().backward()
    ops = [op for op, *_ in asked]
    assert ops == [F.linear, wengert.addmm, wengert.sum]
    (_, (t, weight, bias), kwargs, output), (_, _, scales, _), (_, *given, _) = asked
    assert t is x
    assert weight.shape == (4, 3)
    assert bias is None
    assert kwargs == {}
    assert output.shape == (2, 4)
    assert not output.requires_grad
    assert scales == {"beta": 2, "alpha": 1}
    assert given[0][1:3] == (1, True)


def test_operations_go_by_their_public_names():
    asked = []

    def policy(ctx, op, *args, **kwargs):
        asked.append(op)
        return False

    def function(image):
        h = F.conv2d(image, leaf(2, 1, 3, 3))
        h = F.batch_norm(h, None, None, training=True).softmax(1)
        return wengert.einsum("bchw,bchw->b", h, h)

    selective(function, leaf(2, 1, 5, 5), policy=policy)
    assert asked == [F.conv2d, F.batch_norm, wengert.softmax, wengert.einsum]


def test_nothing_without_a_gradient_is_asked_for():
    asked = []

    def policy(ctx, op, *args, **kwargs):
        asked.append(op)
        args[0].exp()  # the policy's own operations are nobody's business
        return False

    def function(t):
        mask = t.detach() * 3
        with wengert.no_grad():
            mask = mask.exp()
        return t.tanh() * mask

    selective(function, leaf(3), policy=policy).sum().backward()
    assert asked == [wengert.tanh, wengert.mul]


def test_ignored_operations():
    SAC_IGNORED_OPS.add(wengert.tanh)
    asked = []
    try:
        x = leaf(3, 3)
        selective(
            lambda t: wengert.mm(t.tanh(), t), x,
            policy=lambda ctx, op, *args, **kwargs: asked.append(op) or True,
        ).sum().backward()  # fmt: skip
    finally:
        SAC_IGNORED_OPS.remove(wengert.tanh)
    assert asked == [wengert.mm]
    assert wengert.equal(x.grad, gradient(lambda t: wengert.mm(t.tanh(), t), leaf(3, 3)))


def gradient(function, x):
    (g,) = wengert.autograd.grad(function(x).sum(), x)
    return g


def every_kind(t):
    """Outputs that are kept, auxiliary values, views, mixed dtypes, random numbers."""
    h = F.max_pool2d(t.exp(), 2)
    h = F.dropout(h, 0.5).reshape(2, -1).transpose(0, 1)
    h = h.softmax(0) * 2 + 1
    h = wengert.logsumexp(h.double() / h.mean(), 0)
    return h.mul(h).relu()


@pytest.mark.parametrize("keep", ["all", "none", "every other", "random"])
def test_all_kinds_of_operations(keep):
    picks = iter(np.random.default_rng(0).integers(0, 2, 100).tolist())
    calls = iter(range(100))
    answers = {
        "all": lambda: True,
        "none": lambda: False,
        "every other": lambda: next(calls) % 2 == 0,
        "random": lambda: bool(next(picks)),
    }
    x = leaf(2, 3, 4, 4)
    wengert.manual_seed(1)
    y = selective(every_kind, x, policy=lambda ctx, op, *args, **kwargs: answers[keep]())
    y.sum().backward()
    wengert.manual_seed(1)
    expected = leaf(2, 3, 4, 4)
    every_kind(expected).sum().backward()
    assert wengert.equal(x.grad, expected.grad)


def test_derivatives_of_derivatives():
    x, w = leaf(3, 3), leaf(3, 3, seed=1)
    gs = [
        wengert.autograd.grad(y, x, create_graph=True)[0]
        for y in (selective(product, x, w, policy=[wengert.mm]), product(x, w))
    ]
    assert wengert.equal(*gs)
    assert wengert.allclose(*(wengert.autograd.grad(g.sum(), w)[0] for g in gs))


def test_backward_twice_over_a_retained_graph():
    x, w = leaf(3, 3), leaf(3, 3, seed=1)
    y = selective(product, x, w, policy=[wengert.mm])
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    assert wengert.equal(x.grad, 2 * first)


def write(t):
    h = wengert.mm(t, t)
    h.mul_(2)
    return h.exp()


def test_a_kept_result_that_was_written_to():
    x = leaf(2, 2)
    y = selective(write, x, policy=[wengert.mm])
    with pytest.raises(
        RuntimeError, match="cached during selective activation checkpoint has been mutated"
    ) as caught:
        y.sum().backward()
    assert "h.mul_(2)" in str(caught.value)


def test_a_kept_result_that_may_be_written_to():
    def function(t):
        h = wengert.mm(t, t)
        with wengert.no_grad():
            h.clamp_(min=100)  # writes the same the second time
        return h.sin()

    x = leaf(2, 2)
    y = selective(function, x, policy=[wengert.mm], allow_cache_entry_mutation=True)
    y.sum().backward()
    assert wengert.allclose(x.grad, gradient(function, leaf(2, 2)))


def test_runs_that_differ():
    calls = []

    def function(t):
        calls.append(1)
        h = t.exp() if len(calls) == 1 else t.exp().exp()
        return h.tanh()

    y = selective(function, leaf(3), policy=lambda *_, **__: True)
    with pytest.raises(RuntimeError, match="encountered during backward but not found in storage"):
        y.sum().backward()


def test_results_go_with_the_graph():
    import gc
    import weakref

    x, outputs = leaf(3, 3), []

    def policy(ctx, op, *args, **kwargs):
        outputs.append(weakref.ref(ctx.op_output._array))
        return True

    gc.disable()
    try:
        y = selective(product, x, x, policy=policy)
        assert any(o() is not None for o in outputs[:-1])
        y.backward()
        assert all(o() is None or o() is y._array for o in outputs)
        y = selective(product, x, x, policy=policy)
        del y
        assert all(o() is None for o in outputs)
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (3, TypeError, "policy_fn_or_list must be either a function or a list of ops"),
        ((wengert.mm,), TypeError, "policy_fn_or_list must be either a function or a list of ops"),
        (["mm"], ValueError, "Expected op in `op_list` to be a function"),
    ],
)
def test_what_is_no_policy(given, error, text):
    with pytest.raises(error, match=text):
        create_selective_checkpoint_contexts(given)


def test_a_recomputation_ends_before_an_operation_whose_inputs_are_enough(computed):
    def function(t):
        return F.linear(t.exp(), w).sum()

    w = leaf(3, 3, seed=1)
    gradients, second_runs = [], []
    for run in (function, lambda t: checkpoint(function, t, use_reentrant=False)):
        w.grad = None
        y = run(leaf(3, 3))
        computed.clear()
        y.backward()
        gradients.append(w.grad)
        second_runs.append(list(computed))
    derivative, with_second_run = second_runs
    assert with_second_run == ["exp", *derivative]
    assert wengert.equal(*gradients)


def test_under_the_torch_alias():
    script = """
        import functools
        import torch
        import torch.utils.checkpoint as c
        aten = torch.ops.aten
        asked = []
        def policy(ctx, op, *args, **kwargs):
            asked.append(op)
            saved = {aten.mm.default, aten.addmm.default}
            return c.CheckpointPolicy.MUST_SAVE if op in saved else False
        net = torch.nn.Sequential(
            torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3, bias=False),
            torch.nn.Softmax(1), torch.nn.LayerNorm(3), torch.nn.ELU(),
        )
        x = torch.rand(2, 3, requires_grad=True)
        contexts = functools.partial(c.create_selective_checkpoint_contexts, policy)
        c.checkpoint(net, x, use_reentrant=False, context_fn=contexts).sum().backward()
        print(*map(str, asked[:-1]), asked[-1].__name__)
        c.create_selective_checkpoint_contexts([aten.mm.default, aten.convolution.default])
        for wrong in (lambda: aten.nothing, lambda: aten.mm.Tensor, lambda: torch.ops.no.nothing):
            try:
                wrong()
            except AttributeError as error:
                print(error)
        try:
            c.create_selective_checkpoint_contexts([aten.mm])
        except ValueError as error:
            print(error)
    """
    program = "import wengert.compat\nwengert.compat.install()\n" + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    first, second, third, fourth, fifth = done.stdout.splitlines()
    assert first == (
        "aten.addmm.default aten.relu.default aten.mm.default aten._softmax.default"
        " aten.native_layer_norm.default elu"
    )
    assert second == "'_OpNamespace' 'aten' object has no attribute 'nothing'"
    assert "The underlying op of 'aten.mm' has no overload name 'Tensor'" in third
    assert fourth == "'_OpNamespace' 'no' object has no attribute 'nothing'"
    assert "Expected op in `op_list` to be an OpOverload but got: aten.mm" in fifth
