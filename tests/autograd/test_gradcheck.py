"""gradcheck and gradgradcheck: they pass what is right, and refuse what is wrong.

Most cases run in wengert and in torch alike, and must end the same way in both.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import gradcheck, gradgradcheck
from wengert.autograd.gradcheck import GradcheckError

Library = Any
Case = Callable[[Library], Any]


def leaf(library: Library, *shape: int, dtype: str = "float64") -> Any:
    """A leaf with values in [0.2, 1.2), the same in both libraries."""
    rng = np.random.default_rng(0)
    values = rng.uniform(0.2, 1.2, shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(0.2, 1.2, shape)
    return library.from_numpy(np.asarray(values, dtype)).requires_grad_()


def custom(
    library: Library,
    backward: Callable[..., Any],
    forward: Callable[..., Any] = lambda x: x * x,
    materialize: bool = True,
) -> Callable[..., Any]:
    """A Function of one input with this backward, which takes the cotangents and the input."""

    class Custom(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(materialize)
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(*grads, *ctx.saved_tensors)

    return Custom.apply


def check(library: Library, func: Any, *inputs: Any, **options: Any) -> bool:
    return library.autograd.gradcheck(func, inputs, **options)


def check_square(library: Library, backward: Any, **options: Any) -> bool:
    """Check a Function whose forward is x * x."""
    return check(library, custom(library, backward), leaf(library, 2, 2), **options)


def check_second(library: Library, func: Any, *inputs: Any, **options: Any) -> bool:
    return library.autograd.gradgradcheck(func, inputs, **options)


def outcome(case: Case, library: Library) -> str:
    """How a case ends: ``"True"``, or the class and the text of its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(case(library))
        except Exception as error:
            return f"{type(error).__name__}: {error}"


RIGHT: dict[str, Case] = {
    "product": lambda t: check(t, lambda x, y: x * y, leaf(t, 3), leaf(t, 2, 3)),
    "scalar": lambda t: check(t, lambda x: x.exp(), leaf(t)),
    "bare tensor": lambda t: t.autograd.gradcheck(lambda x: x.sin(), leaf(t, 2)),
    "lists": lambda t: t.autograd.gradcheck(lambda x: [x * 2, x.sum()], [leaf(t, 2)]),
    "number among the inputs": lambda t: check(t, lambda x, k: x**k, leaf(t, 2), 3),
    "constant among the inputs": lambda t: check(
        t, lambda x, c: x * c, leaf(t, 2), leaf(t, 2).detach()
    ),
    "several outputs": lambda t: check(t, lambda x: (x.sin(), x.sum(), x @ x.T), leaf(t, 2, 2)),
    "integer output": lambda t: check(t, lambda x: (x * 2, (x > 0).long()), leaf(t, 3)),
    "constant output": lambda t: check(t, lambda x: x.detach() * 0 + 1, leaf(t, 3)),
    "unused input": lambda t: check(t, lambda x, y: x * 2, leaf(t, 2), leaf(t, 2)),
    "same input twice": lambda t: check(t, lambda x: x * x.flip(0), leaf(t, 3)),
    "an input as output": lambda t: check(t, lambda x: x, leaf(t, 3)),
    "no elements": lambda t: check(t, lambda x: x * 2, leaf(t, 0)),
    "no elements of output": lambda t: check(t, lambda x: x[:0] * 2, leaf(t, 3)),
    "strided input": lambda t: check(
        t, lambda x: x.sin(), leaf(t, 2, 3).detach().T.requires_grad_()
    ),
    "complex": lambda t: check(t, lambda x: x * x.conj() * x, leaf(t, 2, dtype="complex128")),
    "complex to real": lambda t: check(t, lambda x: x.abs(), leaf(t, 2, dtype="complex128")),
    "real to complex": lambda t: check(t, lambda x: x * (1 + 2j), leaf(t, 2)),
    "complex and real": lambda t: check(
        t, lambda x, y: (x * y, y * 2), leaf(t, 2, dtype="complex128"), leaf(t, 2)
    ),
    "custom": lambda t: check_square(t, lambda g, x: g * 2 * x),
    "custom, None handled": lambda t: check(
        t,
        custom(t, lambda g, x: None if g is None else g * 2 * x, materialize=False),
        leaf(t, 2),
    ),
    "a gradient of another dtype": lambda t: check_square(
        t, lambda g, x: (g * 2 * x).to(t.float32), check_grad_dtypes=True
    ),
    "rough but tolerated": lambda t: check_square(t, lambda g, x: g * 2.01 * x, rtol=0.1),
    "masked": lambda t: check(t, lambda x: x * 2, leaf(t, 2), masked=True),
    "second": lambda t: check_second(t, lambda x, y: x**3 * y, leaf(t, 2), leaf(t, 2)),
    "second, linear": lambda t: check_second(t, lambda x: x * 2, leaf(t, 2)),
    "second, complex": lambda t: check_second(t, lambda x: x**3, leaf(t, 2, dtype="complex128")),
    "second, strided": lambda t: check_second(
        t, lambda x: x**3, leaf(t, 2, 2), gen_non_contig_grad_outputs=True
    ),
    "second, cotangents given": lambda t: t.autograd.gradgradcheck(
        lambda x: x**3, leaf(t, 2), leaf(t, 2)
    ),
    "second, constant cotangents": lambda t: t.autograd.gradgradcheck(
        lambda x: x**3, leaf(t, 2), leaf(t, 2).detach()
    ),
    "second, several outputs": lambda t: check_second(
        t, lambda x: (x.sin(), x.sum(), (x > 0)), leaf(t, 2)
    ),
    "second, custom": lambda t: check_second(
        t, custom(t, lambda g, x: g * 2 * x), leaf(t, 2), check_grad_dtypes=True
    ),
}

cases = pytest.mark.parametrize("name", RIGHT)


@cases
@pytest.mark.parametrize("mode", ["slow", "fast"])
def test_right_derivatives_pass(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome(RIGHT[name], Modal(wengert, mode == "fast")) == "True"


@pytest.mark.torch
@cases
@pytest.mark.parametrize("mode", ["slow", "fast"])
def test_right_derivatives_pass_in_torch(name: str, mode: str, torch: Any) -> None:
    assert outcome(RIGHT[name], Modal(torch, mode == "fast")) == "True"


class Modal:
    """A library whose checks run in fast mode, or not."""

    def __init__(self, library: Library, fast: bool) -> None:
        self.library, self.fast, self.autograd = library, fast, self

    def __getattr__(self, name: str) -> Any:
        if name in ("gradcheck", "gradgradcheck"):
            run = getattr(self.library.autograd, name)
            return lambda *args, **options: run(*args, fast_mode=self.fast, **options)
        home = self.library.autograd if name == "Function" else self.library
        return getattr(home, name)


def counting(change: float) -> Callable[[Any, Any], Any]:
    """A backward of x * x that differs a little from one call to the next."""
    calls = [0]

    def backward(g: Any, x: Any) -> Any:
        calls[0] += 1
        return g * 2 * x * (1 + change * calls[0])

    return backward


MISMATCH = "GradcheckError: Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"
ZERO = "GradcheckError: Numerical gradient for function expected to be zero"
SHAPE = "RuntimeError: Function CustomBackward returned an invalid gradient at index 0 - got "

# In both modes.
WRONG: dict[str, tuple[Case, str]] = {
    "value": (lambda t: check_square(t, lambda g, x: g * 3 * x), MISMATCH),
    "sign of one entry": (
        lambda t: check_square(t, lambda g, x: g * 2 * x * t.tensor([[1.0, 1.0], [1.0, -1.0]])),
        MISMATCH,
    ),
    "None": (lambda t: check_square(t, lambda g, x: None), MISMATCH),
    "not a number": (lambda t: check_square(t, lambda g, x: g * 2 * x * float("nan")), MISMATCH),
    "affine": (lambda t: check_square(t, lambda g, x: g * 2 * x + 1), MISMATCH),
    "shape": (lambda t: check_square(t, lambda g, x: (g * x)[0, :1]), SHAPE + "[1]"),
    "flat": (lambda t: check_square(t, lambda g, x: (g * x).reshape(4)), SHAPE + "[4]"),
    "number of gradients": (
        lambda t: check_square(t, lambda g, x: (g * x, g)),
        "RuntimeError: function CustomBackward returned an incorrect number of gradients",
    ),
    "nondeterministic": (
        lambda t: check_square(t, counting(1e-9)),
        "GradcheckError: Backward is not reentrant, i.e., running backward with same input",
    ),
    "detached output": (lambda t: check(t, lambda x: x.detach() * 2, leaf(t, 2)), ZERO),
    "conjugate forgotten": (
        lambda t: check(t, custom(t, lambda g, x: g * 2 * x), leaf(t, 2, dtype="complex128")),
        "GradcheckError: While considering the imaginary part of complex outputs only, Jacobian"
        " mismatch for output 0 with respect to input 0,\nnumerical:",
    ),
    "second output": (
        lambda t: check(
            t,
            custom(t, lambda g, h, x: g + 2 * h, lambda x: (x.clone(), x * 3)),
            leaf(t, 2),
        ),
        MISMATCH.replace("output 0", "output 1"),
    ),
    "second input": (
        lambda t: check(
            t,
            lambda x, y: x * custom(t, lambda g, x: g * 3 * x)(y),
            leaf(t, 2),
            leaf(t, 2),
        ),
        MISMATCH.replace("input 0", "input 1"),
    ),
    "part of the path cut": (lambda t: check(t, lambda x: x * x.detach(), leaf(t, 2)), MISMATCH),
    "float32": (
        lambda t: check(t, lambda x: x * x, leaf(t, 2, dtype="float32")),
        MISMATCH,
    ),
    "non-zero where all are undefined": (
        lambda t: check(
            t,
            custom(t, lambda g, x: x * (2 if g is None else 2 * g), materialize=False),
            leaf(t, 2),
        ),
        "GradcheckError: Expected all input grads to be undefined or zero when all output grads"
        " are undefined or zero.",
    ),
    "RuntimeError where all are undefined": (
        lambda t: check(t, custom(t, raising_for_none, materialize=False), leaf(t, 2)),
        "GradcheckError: Expected backward function to handle undefined output grads",
    ),
    "None not handled": (
        lambda t: check(t, custom(t, lambda g, x: g * 2 * x, materialize=False), leaf(t, 2)),
        "TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'",
    ),
    "second, saved value detached": (
        lambda t: check_second(t, custom(t, lambda g, x: g * 2 * x.detach()), leaf(t, 2)),
        MISMATCH,
    ),
    "second, cotangent detached": (
        lambda t: check_second(t, custom(t, lambda g, x: g.detach() * 2 * x), leaf(t, 2)),
        MISMATCH.replace("input 0", "input 1"),
    ),
    "second, gradient cut off": (
        lambda t: check_second(t, custom(t, lambda g, x: (g * 2 * x).detach()), leaf(t, 2)),
        ZERO,
    ),
    "no input that requires grad": (
        lambda t: check(t, lambda x: x * x, leaf(t, 2).detach()),
        "ValueError: gradcheck expects at least one input tensor to require gradient, but none of"
        " them have requires_grad=True.",
    ),
    "expanded input": (
        lambda t: check(t, lambda x: x * x, leaf(t, 1).expand(3)),
        "RuntimeError: The 0th input has a dimension with stride 0. gradcheck only supports inputs"
        " that are non-overlapping",
    ),
    "None returned": (
        lambda t: check(t, lambda x: (x, None), leaf(t, 2)),
        "AttributeError: 'NoneType' object has no attribute 'requires_grad'",
    ),
    "no kind of derivative": (
        lambda t: check(t, lambda x: x, leaf(t, 2), check_backward_ad=False),
        "AssertionError: Expected at least one of check_forward_ad or check_backward_ad to be"
        " True",
    ),
    "batched without backward": (
        lambda t: check(
            t, lambda x: x, leaf(t, 2), check_backward_ad=False, check_forward_ad=True,
            check_batched_grad=True,
        ),
        "AssertionError: Setting check_batched_grad=True requires check_backward_ad to be True",
    ),
    "batched forward without forward": (
        lambda t: check(t, lambda x: x, leaf(t, 2), check_batched_forward_grad=True),
        "AssertionError: Setting check_batched_forward_grad=True requires check_forward_ad to be"
        " True",
    ),
    "second, no kind of derivative": (
        lambda t: check_second(t, lambda x: x, leaf(t, 2), check_rev_over_rev=False),
        "AssertionError: Expected at least one of check_fwd_over_rev or check_rev_over_rev to be"
        " True",
    ),
    "second, undefined without reverse": (
        lambda t: check_second(
            t, lambda x: x, leaf(t, 2), check_rev_over_rev=False, check_fwd_over_rev=True
        ),
        "AssertionError: Setting check_undefined_grad=True requires check_rev_over_rev to be True",
    ),
    "second, batched without reverse": (
        lambda t: check_second(
            t, lambda x: x, leaf(t, 2), check_rev_over_rev=False, check_fwd_over_rev=True,
            check_undefined_grad=False, check_batched_grad=True,
        ),
        "AssertionError: Setting check_batched_grad=True requires check_rev_over_rev to be True",
    ),
}  # fmt: skip


def raising_for_none(g: Any, x: Any) -> Any:
    if g is None:
        raise RuntimeError("no cotangent")
    return g * 2 * x


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("mode", ["slow", "fast"])
def test_wrong_derivatives_are_refused(name: str, mode: str) -> None:
    case, expected = WRONG[name]
    assert outcome(case, Modal(wengert, mode == "fast")).startswith(expected)


@pytest.mark.torch
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("mode", ["slow", "fast"])
def test_torch_refuses_them_in_the_same_words(name: str, mode: str, torch: Any) -> None:
    case, expected = WRONG[name]
    assert outcome(case, Modal(torch, mode == "fast")).startswith(expected)


# What slow mode sees and fast mode does not: it perturbs along one direction.
CHANGING = {
    "shape": (
        lambda t: check(t, lambda x: x[x > x.detach()[0].item()], at_half(t)),
        "AssertionError: Expected `func` to return outputs with the same shape when inputs are"
        " perturbed on index (0,) by 1e-06, but got:",
    ),
    "dtype": (
        lambda t: check(t, lambda x: x if x[0] > 0.5 else x.to(t.float32), at_half(t)),
        "AssertionError: Expected `func` to return outputs with the same dtype when inputs are"
        " perturbed on index (0,) by 1e-06, but got:",
    ),
}


def at_half(library: Library) -> Any:
    return library.tensor([0.5, 0.5], dtype=library.float64).requires_grad_()


@pytest.mark.torch
@pytest.mark.parametrize("name", CHANGING)
def test_outputs_that_change_their_form(name: str, torch: Any) -> None:
    case, expected = CHANGING[name]
    assert outcome(case, wengert).startswith(expected)
    assert outcome(case, torch).startswith(expected)


@pytest.mark.parametrize(
    "backward", [lambda g, x: g * g * 2 * x, lambda g, x: g.abs() * 2 * x], ids=["g*g", "abs(g)"]
)
def test_backward_that_is_not_linear_is_refused(backward: Any) -> None:
    """On unit vectors it is right, and so torch's slow mode lets it pass."""
    with pytest.raises(GradcheckError, match=r"Backward is not linear in grad_output: .*input 0"):
        check_square(wengert, backward)


def test_answer_instead_of_an_exception() -> None:
    wrong = custom(wengert, lambda g, x: g * 3 * x)
    assert gradcheck(wrong, leaf(wengert, 2), raise_exception=False) is False
    wrong = custom(wengert, lambda g, x: g * 2 * x.detach())
    assert gradgradcheck(wrong, leaf(wengert, 2), raise_exception=False) is False
    with pytest.raises(ValueError, match="to require gradient"):  # not a matter of derivatives
        gradcheck(wrong, wengert.ones(2), raise_exception=False)


@pytest.mark.parametrize("fast", [False, True])
def test_message_names_the_worst_entry(fast: bool) -> None:
    def scaled(g: Any, x: Any) -> Any:
        return g * 2 * x * wengert.tensor([[1.0, 1.5], [1.0, 3.0]])

    y = wengert.ones(2, dtype=wengert.float64)
    x = wengert.ones(2, 2, dtype=wengert.float64).requires_grad_()

    def func(constant: Any, x: Any) -> Any:
        return constant, custom(wengert, scaled)(x)

    with pytest.raises(GradcheckError) as info:
        gradcheck(func, (y, x), fast_mode=fast)
    text = str(info.value)
    assert "2 of 16 entries differ." in text
    assert (
        "outputs[1][1, 1] with respect to inputs[1][1, 1]: numerical 2, analytical 6; they differ"
        " by 4, and 0.00201 is allowed."
    ) in text
    assert ("The max per-element difference (slow mode) is: " in text) == fast
    assert "[0.0000, 0.0000, 0.0000, 2.0000]" in text
    assert "[0., 0., 0., 6.]" in text


def test_fast_mode_says_when_slow_mode_would_pass() -> None:
    """Errors of the same sign in all entries, each below the tolerance."""

    def rough(g: Any, x: Any) -> Any:
        return g.sum() * wengert.full_like(x, 0.9e-5)

    def constant(x: Any) -> Any:
        return x * 0 + 1

    x = leaf(wengert, 4)
    wrong = custom(wengert, rough, constant)
    assert gradcheck(wrong, x)
    assert gradcheck(wrong, x, fast_mode=True)  # atol is scaled, so that fast is not stricter
    assert not gradcheck(wrong, x, atol=0.5e-5, fast_mode=True, raise_exception=False)


def test_scalar_message_has_no_index() -> None:
    x = wengert.tensor(2.0, dtype=wengert.float64, requires_grad=True)
    with pytest.raises(
        GradcheckError, match=r"is that of outputs\[0\] with respect to inputs\[0\]"
    ):
        gradcheck(custom(wengert, lambda g, x: g * 3 * x), x)


def test_nondeterminism_within_the_tolerance_passes() -> None:
    assert check_square(wengert, counting(1e-9), nondet_tol=1e-6)
    with pytest.raises(GradcheckError, match=r"nondeterminism was 1e-10, and gradients differ by"):
        check_square(wengert, counting(1e-9), nondet_tol=1e-10)


def test_wrong_size_of_a_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine lets none through: the check is for rules of the library that are wrong."""
    from wengert.autograd import _jacobians

    real = _jacobians.grad

    def grad(*args: Any, **options: Any) -> Any:
        return tuple(g.flatten() for g in real(*args, **options))

    monkeypatch.setattr(_jacobians, "grad", grad)
    with pytest.raises(
        GradcheckError, match=r"Analytical gradient has incorrect size: \[4\] for input 0 of size"
    ):
        gradcheck(lambda x: x * 2, leaf(wengert, 2, 2))


def test_wrong_dtype_of_a_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    from wengert.autograd import _jacobians

    real = _jacobians.grad

    def grad(*args: Any, **options: Any) -> Any:
        return tuple(g.to(wengert.float32) for g in real(*args, **options))

    monkeypatch.setattr(_jacobians, "grad", grad)
    x = wengert.tensor([0.5, 1.0], dtype=wengert.float64, requires_grad=True)
    assert gradcheck(lambda x: x * 2, x)
    with pytest.raises(GradcheckError, match=r"Gradient has dtype mismatch: torch.float32 for"):
        gradcheck(lambda x: x * 2, x, check_grad_dtypes=True)


def test_derivative_that_is_not_zero_for_a_zero_cotangent() -> None:
    """No other cotangent shows it."""
    wrong = custom(wengert, lambda g, x: g * 2 * x + (g == 0).all() * 1e-9)
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(wrong, leaf(wengert, 2))
    assert gradcheck(wrong, leaf(wengert, 2), masked=True, check_undefined_grad=False)


@pytest.mark.parametrize("missing", [0, 1])
def test_one_of_several_cotangents_missing(missing: int) -> None:
    """Only one of the outputs has a derivative, so that no Jacobian is computed without it."""

    def backward(*values: Any) -> Any:
        *grads, x = values
        if grads[missing] is None and grads[1 - missing] is not None:
            raise RuntimeError("one without the other")
        return sum((g * 2 for g in grads if g is not None), start=x * 0)

    wrong = custom(wengert, backward, lambda x: (x * 2, x * 2), materialize=False)

    def func(x: Any) -> Any:
        a, b = wrong(x)
        return a + b, a - b, x

    assert gradcheck(func, leaf(wengert, 2))
    with pytest.raises(RuntimeError, match="one without the other"):
        gradcheck(wrong, leaf(wengert, 2))


def test_a_function_below_the_outputs_gets_no_cotangent() -> None:
    inner = custom(wengert, raising_for_none, materialize=False)
    with (
        pytest.warns(UserWarning, match="New undefined gradient support checking feature"),
        pytest.raises(GradcheckError, match="handle undefined output grads") as info,
    ):
        gradcheck(lambda x: inner(x).sin() * 2, leaf(wengert, 2))
    assert str(info.value.__cause__) == "no cotangent"
    assert gradcheck(lambda x: inner(x).sin(), leaf(wengert, 2), check_undefined_grad=False)


def test_other_exceptions_of_a_missing_cotangent_are_explained() -> None:
    with pytest.raises(TypeError) as info:
        check_square(Unmaterialized(), lambda g, x: g * 2 * x)
    assert "Pass check_undefined_grad=False" in info.value.__notes__[0]


class Unmaterialized:
    """wengert, where Functions get None for cotangents that are missing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(wengert, name)

    class autograd:  # noqa: N801 (stands for the namespace)
        gradcheck = staticmethod(gradcheck)

        class Function(wengert.autograd.Function):
            @classmethod
            def apply(cls, *args: Any) -> Any:
                forward = cls.forward

                def unmaterialized(ctx: Any, *args: Any) -> Any:
                    out = forward(ctx, *args)
                    ctx.set_materialize_grads(False)
                    return out

                cls.forward = staticmethod(unmaterialized)
                return super().apply(*args)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "bfloat16"])
def test_low_precision_is_warned_of_at_the_callers_line(dtype: str) -> None:
    x = wengert.ones(2, dtype=getattr(wengert, dtype)).requires_grad_()
    for run, arguments in ((gradcheck, (x,)), (gradgradcheck, (x, x.detach()))):
        with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a") as record:
            run(lambda x: x * x, *arguments, raise_exception=False)
        assert record[0].filename == __file__


def test_captured_tensors_are_perturbed_too() -> None:
    w = leaf(wengert, 3)
    assert gradcheck(lambda *_: (w * w).sum(), w)


def test_inputs_are_put_back() -> None:
    x = leaf(wengert, 2, 2)
    before = x.detach().clone()
    gradcheck(lambda x: x.exp(), x)
    gradcheck(lambda x: x.exp(), x, fast_mode=True)
    assert wengert.equal(x, before)
    assert x.grad is None


def test_inputs_are_put_back_where_the_function_raises() -> None:
    x = leaf(wengert, 2)
    before = x.detach().clone()
    limit = before[1].item()

    def func(x: Any) -> Any:
        if x[1].item() > limit:
            raise ArithmeticError("too much")
        return x * 2

    with pytest.raises(ArithmeticError):
        gradcheck(func, x)
    assert wengert.equal(x, before)


def test_read_only_input() -> None:
    array = np.ones(2)
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = wengert.from_numpy(array).requires_grad_()
    with pytest.raises(RuntimeError, match="The 0th input is read-only memory"):
        gradcheck(lambda x: x * 2, x)


def test_number_of_outputs_that_changes() -> None:
    x = at_half(wengert)
    with pytest.raises(AssertionError, match="to return as many outputs when inputs are perturbed"):
        gradcheck(lambda x: (x,) if x[0] > 0.5 else (x, x), x)


def test_second_derivative_of_what_has_no_first() -> None:
    with pytest.raises(ValueError, match="at least one output to require gradient"):
        gradgradcheck(lambda x: x.detach(), leaf(wengert, 2))


def test_random_state_of_the_user_is_left_alone() -> None:
    before = wengert.get_rng_state()
    gradcheck(lambda x: x * 2, leaf(wengert, 2), fast_mode=True)
    assert wengert.equal(wengert.get_rng_state(), before)


def test_module_and_function_share_a_name() -> None:
    code = (
        "import sys, wengert\n"
        "from wengert.autograd.gradcheck import GradcheckError, gradcheck\n"
        "assert gradcheck is wengert.autograd.gradcheck\n"
        "assert issubclass(GradcheckError, RuntimeError)\n"
        "assert 'wengert.autograd._gradcheck' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
