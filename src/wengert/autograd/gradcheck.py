"""Checks of derivatives against finite differences.

Both a module and, in `wengert.autograd`, the function of that name. The checks themselves are
in `_gradcheck` and load with the first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise for a derivative that is wrong."""


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
    """Whether the derivatives of `func` agree with central differences.

    GradcheckError, unless `raise_exception` is False, if they do not; if the backward is not
    linear in its cotangent; or if running it twice gives different values.

    Args:
        func: takes `inputs` and returns a tensor or a tuple of tensors. Complex outputs are
            checked by their imaginary and real parts.
        inputs: a tensor or a tuple; derivatives are checked for those that require grad, which
            should be float64 or complex128. They are perturbed in place and put back.
        eps: the step of the differences.
        atol, rtol: allowed is a difference of atol + rtol * |numerical|.
        nondet_tol: by how much two backward passes may differ.
        check_undefined_grad: check that outputs without a cotangent count as if it were zero.
        check_grad_dtypes: check that gradients have the dtypes of the inputs.
        check_batched_grad: check a batch of cotangents against one at a time.
        check_batched_forward_grad: the same of tangents, in forward mode.
        check_forward_ad: check forward mode as well.
        check_backward_ad: check reverse mode.
        fast_mode: compare along one random direction instead of all entries of the Jacobian.
        masked: allow rounding where a zero cotangent must give zero gradients.

    >>> import wengert
    >>> x = wengert.tensor([0.5, 2.0], dtype=wengert.float64, requires_grad=True)
    >>> wengert.autograd.gradcheck(wengert.log, x)
    True
    """
    _require(
        check_forward_ad or check_backward_ad,
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
    )
    _require(
        check_backward_ad or not check_batched_grad,
        "Setting check_batched_grad=True requires check_backward_ad to be True",
    )
    _require(
        check_forward_ad or not check_batched_forward_grad,
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
    )
    return _checked(
        func,
        inputs,
        raise_exception,
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        undefined=check_undefined_grad,
        dtypes=check_grad_dtypes,
        batched=check_batched_grad,
        batched_forward=check_batched_forward_grad,
        forward=check_forward_ad,
        backward=check_backward_ad,
        fast=fast_mode,
        masked=bool(masked),
    )


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
    """Whether the second derivatives of `func` agree with central differences of the first.

    It is `gradcheck` of the function from inputs and cotangents to gradients, and other
    arguments are as there.

    Args:
        func: takes `inputs` and returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple.
        grad_outputs: the cotangents; None stands for random ones, uniform in [-1, 1).
        gen_non_contig_grad_outputs: make random cotangents that are not contiguous.
        check_fwd_over_rev: check forward mode through the gradient.
        check_rev_over_rev: check reverse mode through the gradient.

    >>> import wengert
    >>> x = wengert.tensor([0.5, 2.0], dtype=wengert.float64, requires_grad=True)
    >>> wengert.autograd.gradgradcheck(wengert.log, x)
    True
    """
    from wengert.autograd import _gradcheck

    _require(
        check_fwd_over_rev or check_rev_over_rev,
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
    )
    for name, value in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        _require(
            check_rev_over_rev or not value,
            f"Setting {name}=True requires check_rev_over_rev to be True",
        )
    gradient, arguments = _gradcheck.gradient(
        func, inputs, grad_outputs, gen_non_contig_grad_outputs
    )
    return _checked(
        gradient,
        arguments,
        raise_exception,
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        undefined=check_undefined_grad,
        dtypes=check_grad_dtypes,
        batched=check_batched_grad,
        batched_forward=False,
        forward=check_fwd_over_rev,
        backward=check_rev_over_rev,
        fast=fast_mode,
        masked=masked,
    )


def _checked(func: Callable[..., Any], inputs: Any, raise_exception: bool, **options: Any) -> bool:
    from wengert.autograd import _gradcheck

    try:
        _gradcheck.check(func, inputs, _gradcheck.Options(**options))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise AssertionError(text)
