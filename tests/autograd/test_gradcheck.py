"""gradcheck and gradgradcheck: they pass what is right, and refuse what is wrong.

Most cases run in wengert and in torch alike, and must end the same way in both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import wengert
from tests.autograd.functions import (
    Case,
    Library,
    check,
    check_square,
    counting,
    custom,
    leaf,
    raising_for_none,
)


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
    "same input twice": lambda t: check(t, lambda x, y: x * y.sin(), *[leaf(t, 2)] * 2),
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
    "forward": lambda t: check(
        t, lambda x, y: (x**3 * y, y.sum()), leaf(t, 2), leaf(t, 2), check_forward_ad=True
    ),
    "forward, integer output": lambda t: check(
        t, lambda x: (x**2, (x > 0).long()), leaf(t, 2), check_forward_ad=True
    ),
    "forward alone": lambda t: check(
        t, lambda x, k: x**k, leaf(t, 2), 3, check_forward_ad=True, check_backward_ad=False
    ),
    "forward, complex": lambda t: check(
        t,
        lambda x, y: x * x.conj() * x * y,
        leaf(t, 2, dtype="complex128"),
        leaf(t, 2),
        check_forward_ad=True,
    ),
    "forward, complex to real": lambda t: check(
        t, lambda x: x.abs(), leaf(t, 2, dtype="complex128"), check_forward_ad=True
    ),
    "forward, real to complex": lambda t: check(
        t, lambda x: x * (1 + 2j), leaf(t, 2), check_forward_ad=True
    ),
    "forward, no elements": lambda t: check(t, lambda x: x * 2, leaf(t, 0), check_forward_ad=True),
    "forward by hand": lambda t: check(t, by_hand(t, 2), leaf(t, 2), check_forward_ad=True),
    "forward over reverse": lambda t: check_second(
        t, lambda x, y: x**3 * y, leaf(t, 2), leaf(t, 2), check_fwd_over_rev=True
    ),
    "forward over reverse, complex": lambda t: check_second(
        t, lambda x: x**3, leaf(t, 2, dtype="complex128"), check_fwd_over_rev=True
    ),
    "batched": lambda t: check(
        t,
        lambda x, y: (x**3 * y, y.sum() * 2),
        leaf(t, 2),
        leaf(t, 2),
        check_batched_grad=True,
    ),
    "batched, unused input": lambda t: check(
        t, lambda x, y: x * 2, leaf(t, 2), leaf(t, 2), check_batched_grad=True
    ),
    "batched, complex": lambda t: check(
        t, lambda x: x * x, leaf(t, 2, dtype="complex128"), check_batched_grad=True
    ),
    "batched, custom": lambda t: check_square(t, lambda g, x: g * 2 * x, check_batched_grad=True),
    "batched, second": lambda t: check_second(
        t, lambda x: x**3, leaf(t, 2), check_batched_grad=True
    ),
    "batched forward": lambda t: check(
        t,
        lambda x, y: (x**3 * y, y * 2),
        leaf(t, 2),
        leaf(t, 2),
        check_forward_ad=True,
        check_batched_forward_grad=True,
    ),
}


def by_hand(library: Library, factor: Any) -> Callable[..., Any]:
    """The square, whose tangent is `factor` times the input times the tangent."""
    forward_ad = library.autograd.forward_ad

    def square(x: Any) -> Any:
        primal, tangent = forward_ad.unpack_dual(x)
        if tangent is None:
            return x * x
        return forward_ad.make_dual(primal * primal, factor * primal * tangent)

    return square


cases = pytest.mark.parametrize("name", RIGHT)


@cases
@pytest.mark.parametrize("mode", ["slow", "fast"])
def test_right_derivatives_pass(name: str, mode: str) -> None:
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
        home = self.library.autograd if name in ("Function", "forward_ad") else self.library
        return getattr(home, name)


FORWARD = (
    "GradcheckError: Jacobian computed with forward mode mismatch for output 0 with respect to"
    " input 0,\nnumerical:"
)
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
    "forward": (
        lambda t: check(t, by_hand(t, 3), leaf(t, 2), check_forward_ad=True), FORWARD
    ),
    "forward alone": (
        lambda t: check(
            t, by_hand(t, 3), leaf(t, 2), check_forward_ad=True, check_backward_ad=False
        ),
        FORWARD,
    ),
    "forward, tangent left out": (
        lambda t: check(
            t, lambda x: x * t.autograd.forward_ad.unpack_dual(x).primal, leaf(t, 2),
            check_forward_ad=True,
        ),
        FORWARD,
    ),
    "forward, complex": (
        lambda t: check(
            t, by_hand(t, 3), leaf(t, 2, dtype="complex128"), check_forward_ad=True
        ),
        "GradcheckError: While considering the imaginary part of complex inputs only, Jacobian"
        " computed with forward mode mismatch for output 0 with respect to input 0,\nnumerical:",
    ),
    "batched, element read": (
        lambda t: check_square(
            t, lambda g, x: g * 2 * x * (1 if g.sum().item() > -9 else 2), check_batched_grad=True
        ),
        "GradcheckError: While computing batched gradients, got: ",
    ),
    "batched forward, element read": (
        lambda t: check(
            t, lambda x: x * reading(t, x), leaf(t, 2), check_forward_ad=True,
            check_batched_forward_grad=True,
        ),
        "GradcheckError: While computing batched gradients, got: ",
    ),
}  # fmt: skip


def reading(library: Library, x: Any) -> float:
    """1, of which only reading the tangent tells."""
    tangent = library.autograd.forward_ad.unpack_dual(x).tangent
    return 1.0 if tangent is None or tangent.sum().item() > -99 else 2.0


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
