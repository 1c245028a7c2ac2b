"""Checkpoints that fail: PyTorch's classes and words, and the lines where two runs part."""

from __future__ import annotations

import re
import warnings

import pytest

import wengert
from wengert.autograd import SavedTensorOverwrittenError
from wengert.utils.checkpoint import (
    CheckpointError,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    set_checkpoint_debug_enabled,
    set_device_states,
)


def leaf(n=3):
    return wengert.linspace(0.5, 1.5, n).requires_grad_()


class Runs:
    """A function that is `first` when it is called first, and `second` from then on."""

    def __init__(self, first, second):
        self.now, self.then = first, second

    def __call__(self, *args):
        function, self.now = self.now, self.then
        return function(*args)


def mismatch(first, second, **options):
    """The error of a backward through a checkpoint whose runs differ."""
    y = checkpoint(Runs(first, second), leaf(), use_reentrant=False, **options)
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    return str(caught.value)


def test_fewer_tensors_the_second_time():
    text = mismatch(lambda t: t.exp().tanh(), lambda t: t.exp())
    assert text.startswith(
        "torch.utils.checkpoint: A different number of tensors was saved during the original"
        " forward and recomputation.\nNumber of tensors saved during forward: 2\nNumber of tensors"
        " saved during recomputation: 1."
    )


def test_more_tensors_the_second_time():
    text = mismatch(lambda t: t.exp(), lambda t: t.exp().tanh(), early_stop=False)
    assert text.startswith(
        "torch.utils.checkpoint: trying to save more tensors during recomputation than during the"
        " original forward pass"
    )


def test_other_shapes_the_second_time():
    text = mismatch(lambda t: t.exp(), lambda t: t[:2].exp())
    assert text.startswith(
        "torch.utils.checkpoint: Recomputed values for the following tensors have different"
        " metadata than during the forward pass.\ntensor at position 0:\nsaved metadata: {'shape':"
        " torch.Size([3]), 'dtype': torch.float32, 'device': device(type='cpu')}\nrecomputed"
        " metadata: {'shape': torch.Size([2]), 'dtype': torch.float32, 'device':"
        " device(type='cpu')}"
    )


def test_other_dtypes_the_second_time():
    text = mismatch(lambda t: t.exp(), lambda t: t.double().exp())
    assert "recomputed metadata: {'shape': torch.Size([3]), 'dtype': torch.float64" in text


@pytest.mark.torch
@pytest.mark.parametrize(
    ("first", "second", "options"),
    [
        (lambda t: t.exp().tanh(), lambda t: t.exp(), {}),
        (lambda t: t.exp(), lambda t: t.exp().tanh(), {"early_stop": False}),
        (lambda t: t.exp(), lambda t: t[:2].exp(), {}),
    ],
)
def test_the_first_line_is_pytorchs(first, second, options, torch):
    import torch.utils.checkpoint as theirs

    x = torch.ones(3, requires_grad=True)
    y = theirs.checkpoint(Runs(first, second), x, use_reentrant=False, **options)
    with pytest.raises(theirs.CheckpointError) as caught:
        y.sum().backward()
    line = str(caught.value).splitlines()[0].rstrip(".")
    assert mismatch(first, second, **options).splitlines()[0].startswith(line)


def test_another_operation_of_the_same_shape_is_a_mismatch():
    """PyTorch takes the values of the other operation, and the gradient is wrong."""
    text = mismatch(lambda t: t.exp(), lambda t: t.tanh())
    assert "saved metadata: {'op': 'exp', 'shape'" in text
    assert "recomputed metadata: {'op': 'tanh', 'shape'" in text


def branching(training):
    def block(t):
        h = t.sin()
        if training:
            return h.cos().tanh()  # the first time only
        return h[:2].exp().tanh()

    return block


def test_the_report_shows_both_runs_line_by_line():
    text = mismatch(branching(True), branching(False))
    lines = [re.sub(r"/\S*/", "", re.sub(r" +", " ", line)).strip() for line in text.splitlines()]
    start = lines.index("--- forward")
    here = "test_checkpoint_errors.py"
    first, second = "return h.cos().tanh() # the first time only", "return h[:2].exp().tanh()"
    assert [re.sub(r"py:\d+", "py", line) for line in lines[start : start + 10]] == [
        "--- forward",
        "+++ recomputation",
        "@@ -1,3 +1,4 @@",
        f"sin [3] {here} h = t.sin()",
        "~~ here they part ~~",
        f"-cos [3] saves float32 [3] {here} {first}",
        f"-tanh [3] saves float32 [3] {here} {first}",
        f"+__getitem__ [2] {here} {second}",
        f"+exp [2] saves float32 [2] {here} {second}",
        f"+tanh [2] saves float32 [2] {here} {second}",
    ]
    top = branching.__code__.co_firstlineno
    assert f"{here}:{top + 4}  return h.cos()" in text
    assert "called by: checkpoint()  at" in text
    assert "y = checkpoint(Runs(first, second), leaf(), use_reentrant=False" in text


def long(last):
    def function(t):
        for _ in range(100):
            t = t.sin()
        return last(t)

    return function


def test_the_report_is_short_unless_everything_is_wanted():
    first, second = long(lambda t: t.exp()), long(lambda t: t.cosh())
    assert mismatch(first, second).count("sin [3]") == 3
    assert mismatch(first, second, debug=True).count("sin [3]") == 100
    with set_checkpoint_debug_enabled(True):
        assert mismatch(first, second).count("sin [3]") == 100
        with set_checkpoint_debug_enabled(False):
            assert mismatch(first, second, debug=True).count("sin [3]") == 3
    text = mismatch(first, lambda t: t[:2].exp())
    assert re.search(r"\.\.\. \d+ more lines; debug=True prints all of them", text)


def test_modules_are_named_in_the_report():
    net = wengert.nn.Sequential(wengert.nn.Linear(3, 3), wengert.nn.Tanh(), wengert.nn.Tanh())
    text = mismatch(net, lambda t: net[0](t))
    assert "Sequential.1: tanh [3]" in text


def test_unchecked_values_are_trusted():
    x = leaf()
    y = checkpoint(
        Runs(lambda t: t.exp(), lambda t: t.tanh()), x,
        use_reentrant=False, determinism_check="none",
    )  # fmt: skip
    y.sum().backward()
    assert wengert.equal(x.grad, x.detach().tanh())


def test_unchecked_values_must_still_be_as_many():
    text = mismatch(lambda t: t.exp().tanh(), lambda t: t.exp(), determinism_check="none")
    assert "A different number of tensors was saved" in text


def test_a_failed_backward_changes_nothing():
    x, w = leaf(), leaf()
    y = checkpoint(Runs(lambda t: t.exp(), lambda t: t.tanh()), x, use_reentrant=False)
    with pytest.raises(CheckpointError):
        (y * w).sum().backward()
    assert x.grad is None
    assert w.grad is None


@pytest.mark.parametrize("write", ["before", "inside"])
def test_an_argument_that_was_written_to(write):
    x = leaf()
    h = x * 1

    def function(t):
        if write == "inside":
            t.mul_(2)
        return t.exp().exp()

    y = checkpoint(function, h, use_reentrant=False)
    if write == "before":
        h.mul_(2)
    with pytest.raises(SavedTensorOverwrittenError, match="modified by an inplace") as caught:
        y.sum().backward()
    assert "'argument 0'" in str(caught.value)
    assert "mul_  at" in str(caught.value)


def test_a_parameter_that_was_written_to():
    """PyTorch computes with its new value, and says nothing."""
    x, w = leaf(), leaf()
    y = checkpoint(lambda t: (t * w).exp(), x, use_reentrant=False)
    with wengert.no_grad():
        w.mul_(2)
    with pytest.raises(SavedTensorOverwrittenError, match="modified by an inplace"):
        y.sum().backward()


def test_a_write_inside_that_destroys_a_saved_value():
    """PyTorch uses what was written, and the gradient is wrong."""

    def function(t):
        h = t.exp()
        h.mul_(2)
        return h.sin()

    y = checkpoint(function, leaf(), use_reentrant=False)
    with pytest.raises(SavedTensorOverwrittenError, match=r"'out' of exp.*\n.*\n.*h = t.exp\(\)"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"use_reentrant": True, "foo": 1}, ValueError, "Unexpected keyword arguments: foo"),
        ({"use_reentrant": True, "debug": True}, ValueError, "Passing `context_fn` or `debug`"),
        (
            {"use_reentrant": False, "determinism_check": "x"},
            ValueError,
            r"determinism_check should be one of \['default', 'none'\], but got x",
        ),
        (
            {"use_reentrant": False, "debug": True, "context_fn": lambda: ()},
            ValueError,
            "debug=True is incompatible with non-default context_fn",
        ),
    ],
)
@pytest.mark.torch
def test_options_are_refused_as_by_pytorch(options, error, text, torch):
    import torch.utils.checkpoint as theirs

    for run, x in ((checkpoint, leaf()), (theirs.checkpoint, torch.ones(3, requires_grad=True))):
        with pytest.raises(error, match=text):
            run(lambda t: t.exp(), x, **options)


def test_the_kind_should_be_said():
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        y = checkpoint(wengert.exp, leaf())
    assert type(y.grad_fn).__name__ == "CheckpointFunctionBackward"
    with pytest.warns(UserWarning, match=r"checkpoint_sequential: the use_reentrant parameter"):
        checkpoint_sequential([wengert.exp, wengert.sin], 2, leaf())


def test_sequential_takes_one_option():
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint_sequential([wengert.exp], 1, leaf(), use_reentrant=False, foo=1)
    with pytest.raises(ZeroDivisionError):
        checkpoint_sequential([wengert.exp], 0, leaf(), use_reentrant=False)
    with pytest.raises(ValueError, match=r"range\(\) arg 3 must not be zero"):
        checkpoint_sequential([wengert.exp], 2, leaf(), use_reentrant=False)


def test_reentrant_checkpoints_want_a_whole_backward():
    x = leaf()
    text = "use_reentrant=True, torch.utils.checkpoint is incompatible with .grad()"
    y = checkpoint(wengert.exp, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=text):
        wengert.autograd.grad(y, x, retain_graph=True)
    with pytest.raises(RuntimeError, match=text):
        y.backward(inputs=[x], retain_graph=True)
    y.backward()
    assert wengert.equal(x.grad, x.detach().exp())


def test_reentrant_checkpoints_under_hooks():
    x, seen = leaf(), []
    y = checkpoint(wengert.exp, x, use_reentrant=True)
    y.register_hook(lambda g: seen.append(1))
    y.sum().backward()
    assert seen == [1]
    assert wengert.equal(x.grad, x.detach().exp())


def test_reentrant_checkpoints_of_nothing():
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        y = checkpoint(wengert.exp, leaf().detach(), use_reentrant=True)
    assert not y.requires_grad
    y = checkpoint(lambda t: t.detach() * 2, leaf(), use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.sum().backward()


def test_errors_of_the_function_pass_and_leave_no_trace():
    def function(t):
        raise KeyError("mine")

    for reentrant in (True, False):
        with pytest.raises(KeyError, match="mine"):
            checkpoint(function, leaf(), use_reentrant=reentrant)
    y = checkpoint(Runs(lambda t: t.exp().exp(), function), leaf(), use_reentrant=False)
    with pytest.raises(KeyError, match="mine"):
        y.sum().backward()
    z = leaf().exp()
    assert type(z.grad_fn)._saved_result is not None
    assert isinstance(z.grad_fn._raw_saved_result.data, wengert.Tensor)  # nobody packs it


def test_a_context_must_not_swallow_errors():
    import contextlib

    def contexts():
        return contextlib.suppress(KeyError), contextlib.nullcontext()

    def function(t):
        raise KeyError

    with pytest.raises(RuntimeError, match="suppressed an exception raised during"):
        checkpoint(function, leaf(), use_reentrant=False, context_fn=contexts)


def test_small_tools():
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        detach_variable([leaf()])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_backward_validity([wengert.ones(2), 1])
    assert caught[0].category is UserWarning
    assert caught[0].filename == __file__
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        set_device_states([0], [wengert.get_rng_state()])


def test_an_operation_that_saved_an_input_only_is_a_mismatch():
    runs = []

    def function(x):
        runs.append(1)
        return x.sin().exp() if len(runs) == 1 else x.exp()

    x = wengert.ones(3, requires_grad=True)
    loss = checkpoint(function, x, use_reentrant=False).sum()
    with pytest.raises(CheckpointError, match="same metadata, but other operations"):
        loss.backward()
    assert x.grad is None
