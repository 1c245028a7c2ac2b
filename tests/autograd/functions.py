"""What tests of checks of derivatives are made of: inputs, and Functions with any backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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


def counting(change: float) -> Callable[[Any, Any], Any]:
    """A backward of x * x that differs a little from one call to the next."""
    calls = [0]

    def backward(g: Any, x: Any) -> Any:
        calls[0] += 1
        return g * 2 * x * (1 + change * calls[0])

    return backward


def raising_for_none(g: Any, x: Any) -> Any:
    if g is None:
        raise RuntimeError("no cotangent")
    return g * 2 * x
