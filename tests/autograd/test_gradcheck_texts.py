"""gradcheck beyond torch's: what it says, what it leaves alone, what else it refuses."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import wengert
from tests.autograd.functions import check_square, counting, custom, leaf, raising_for_none
from wengert.autograd import gradcheck, gradgradcheck
from wengert.autograd.gradcheck import GradcheckError


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
    from wengert.autograd._checks import jacobians

    real = jacobians.grad

    def grad(*args: Any, **options: Any) -> Any:
        return tuple(g.flatten() for g in real(*args, **options))

    monkeypatch.setattr(jacobians, "grad", grad)
    with pytest.raises(
        GradcheckError, match=r"Analytical gradient has incorrect size: \[4\] for input 0 of size"
    ):
        gradcheck(lambda x: x * 2, leaf(wengert, 2, 2))


def test_wrong_dtype_of_a_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    from wengert.autograd._checks import jacobians

    real = jacobians.grad

    def grad(*args: Any, **options: Any) -> Any:
        return tuple(g.to(wengert.float32) for g in real(*args, **options))

    monkeypatch.setattr(jacobians, "grad", grad)
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
        gradcheck(custom(wengert, lambda g, x: g * 2 * x, materialize=False), leaf(wengert, 2))
    assert "Pass check_undefined_grad=False" in info.value.__notes__[0]


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


@pytest.mark.parametrize("fast", [False, True])
def test_outputs_without_derivative_come_first(fast: bool) -> None:
    """torch counts them differently on its two sides, and cannot subtract booleans."""

    def func(x: Any) -> Any:
        return x > 0, x.detach() * 0, x**3

    assert gradcheck(func, leaf(wengert, 2), check_forward_ad=True, fast_mode=fast)


def test_number_of_outputs_that_changes() -> None:
    x = wengert.tensor([0.5, 0.5], dtype=wengert.float64, requires_grad=True)
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
        "assert 'wengert.autograd._checks.gradcheck' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("forward", [False, True])
def test_batch_that_differs(forward: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No function written with operations has a batch that differs: the batch is replaced."""
    from wengert.autograd._checks import cotangents
    from wengert.autograd.transforms import vmap

    def grad(out: Any, variables: Any, batch: Any, **options: Any) -> Any:
        if options.get("is_grads_batched"):
            return [batch * 3]
        return wengert.autograd.grad(out, variables, batch, **options)

    monkeypatch.setattr(cotangents, "grad", grad)
    monkeypatch.setattr(vmap, "vmap", lambda func: lambda batch: (batch * 3,))
    options = {"check_batched_grad": True}
    if forward:
        options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    with pytest.raises(GradcheckError) as info:
        gradcheck(lambda x: x * 2, leaf(wengert, 2), **options)
    text = str(info.value)
    assert text.startswith("For output 0 and input 0:\n\ngradcheck ")
    assert ("with forward-mode AD" in text) == forward
    assert "Got:\ntensor([[" in text


def test_forward_mode_tells_no_tangent_from_zero() -> None:
    from wengert.autograd import forward_ad

    def product(x: Any, y: Any) -> Any:
        pairs = [forward_ad.unpack_dual(v) for v in (x, y)]
        if pairs[1].tangent is not None and pairs[0].tangent is None:
            return x * y * 1.5
        return x * y

    wrong = (leaf(wengert, 2), leaf(wengert, 2))
    with pytest.raises(GradcheckError, match="Mismatch in tangent values for output with index: 0"):
        gradcheck(product, wrong, check_forward_ad=True)
    assert gradcheck(product, wrong, check_forward_ad=True, check_undefined_grad=False)


def test_forward_mode_checks_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    from wengert.autograd import forward_ad

    real = forward_ad.unpack_dual

    def unpack_dual(x: Any) -> Any:
        pair = real(x)
        return (
            pair
            if pair.tangent is None
            else pair._replace(tangent=pair.tangent.to(wengert.complex128))
        )

    monkeypatch.setattr(forward_ad, "unpack_dual", unpack_dual)
    assert gradcheck(lambda x: x * x, leaf(wengert, 2), check_forward_ad=True)
    with pytest.raises(GradcheckError, match=r"Forward AD gradient has dtype mismatch: torch\.co"):
        gradcheck(lambda x: x * x, leaf(wengert, 2), check_forward_ad=True, check_grad_dtypes=True)
