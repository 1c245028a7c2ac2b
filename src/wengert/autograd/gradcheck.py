"""Checks of derivatives against finite differences.

Both a module and, in `wengert.autograd`, the function of that name. The checks themselves are
in `_checks` and are loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.errors import GradcheckError as GradcheckError

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the derivatives of `func` against central differences; return whether they agree.

    Unless `raise_exception` is False, raises GradcheckError if they do not, if the backward is
    not linear in its cotangent, or if running it twice gives different values.

    Args:
        func: takes `inputs` and returns a tensor or a tuple of tensors. Complex outputs are
            checked by their imaginary and real parts.
        inputs: a tensor or a tuple. Those that require grad are checked; they should be float64
            or complex128; they are perturbed in place and restored.
        eps: the step of the differences.
        atol, rtol: the tolerance is atol + rtol * |numerical|.
        nondet_tol: by how much two backward passes may differ.
        check_undefined_grad: check that a missing cotangent is treated as zero.
        check_grad_dtypes: check that gradients have the dtypes of the inputs.
        check_batched_grad: check a batch of cotangents against one at a time.
        check_batched_forward_grad: the same for tangents, in forward mode.
        check_forward_ad: check forward mode as well.
        check_backward_ad: check reverse mode.
        fast_mode: compare along one random direction instead of all entries of the Jacobian.
        masked: check the derivatives of sparse inputs where they store values, and only there;
            and allow rounding where a zero cotangent must give zero gradients.

    >>> import wengert
    >>> x = wengert.tensor([0.5, 2.0], dtype=wengert.float64, requires_grad=True)
    >>> wengert.autograd.gradcheck(wengert.log, x)
    True
    """
    _need_one(check_forward_ad=check_forward_ad, check_backward_ad=check_backward_ad)
    _need("check_backward_ad", check_backward_ad, check_batched_grad=check_batched_grad)
    _need(
        "check_forward_ad", check_forward_ad, check_batched_forward_grad=check_batched_forward_grad
    )
    return _checked(
        func, inputs, raise_exception, eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol,
        undefined=check_undefined_grad, dtypes=check_grad_dtypes, batched=check_batched_grad,
        batched_forward=check_batched_forward_grad, forward=check_forward_ad,
        backward=check_backward_ad, fast=fast_mode, masked=bool(masked),
    )  # fmt: skip


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the second derivatives of `func` against central differences of the first.

    Runs `gradcheck` on the function that maps inputs and cotangents to gradients; the other
    arguments are those of `gradcheck`.

    Args:
        func: takes `inputs` and returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple.
        grad_outputs: the cotangents; None means random ones, uniform in [-1, 1).
        gen_non_contig_grad_outputs: make the random cotangents non-contiguous.
        check_fwd_over_rev: check forward mode through the gradient.
        check_rev_over_rev: check reverse mode through the gradient.

    >>> import wengert
    >>> x = wengert.tensor([0.5, 2.0], dtype=wengert.float64, requires_grad=True)
    >>> wengert.autograd.gradgradcheck(wengert.log, x)
    True
    """
    from wengert.autograd._checks import gradcheck as checks

    _need_one(check_fwd_over_rev=check_fwd_over_rev, check_rev_over_rev=check_rev_over_rev)
    _need("check_rev_over_rev", check_rev_over_rev, check_undefined_grad=check_undefined_grad)
    _need("check_rev_over_rev", check_rev_over_rev, check_batched_grad=check_batched_grad)
    gradient, arguments = checks.gradient_function(
        func, inputs, grad_outputs, gen_non_contig_grad_outputs
    )
    return _checked(
        gradient, arguments, raise_exception, eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol,
        undefined=check_undefined_grad, dtypes=check_grad_dtypes, batched=check_batched_grad,
        batched_forward=False, forward=check_fwd_over_rev, backward=check_rev_over_rev,
        fast=fast_mode, masked=masked,
    )  # fmt: skip


def _checked(func: Callable[..., Any], inputs: Any, raise_exception: bool, **options: Any) -> bool:
    from wengert.autograd._checks import gradcheck as checks

    try:
        checks.check(func, inputs, checks.GradcheckOptions(**options))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _need_one(**checks: bool) -> None:
    if not any(checks.values()):
        raise AssertionError(f"Expected at least one of {' or '.join(checks)} to be True")


def _need(name: str, value: bool, **checks: bool) -> None:
    for check, enabled in checks.items():
        if enabled and not value:
            raise AssertionError(f"Setting {check}=True requires {name} to be True")
