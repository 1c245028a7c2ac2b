"""What users wrote is asked for its parameters, and its annotations are let be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert
from wengert import nn
from wengert.autograd import Function
from wengert.core.signatures import signature


def annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as of a module that imports its types for type checkers only."""

    def annotate(format: int) -> dict[str, Any]:
        if format > 2:  # annotationlib then runs it with names that stand for themselves
            raise NotImplementedError
        return {"x": OnlyForTypeCheckers}  # type: ignore[name-defined]  # noqa: F821

    function.__annotate__ = annotate  # type: ignore[attr-defined]
    return function


def test_of_a_function() -> None:
    assert list(signature(annotated(lambda x, y=2: x)).parameters) == ["x", "y"]


def test_of_a_users_function() -> None:
    class Scaled(Function):
        @staticmethod
        @annotated
        def forward(x, k=3):  # type: ignore[no-untyped-def]
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):  # type: ignore[no-untyped-def]
            return g * ctx.k, None

    x = wengert.ones(2, requires_grad=True)
    Scaled.apply(x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_of_a_users_module() -> None:
    class Scaled(nn.Module):
        @annotated
        def __init__(self, x, device=None):  # type: ignore[no-untyped-def]
            super().__init__()
            self.weight = nn.Parameter(wengert.ones(x, device=device))

    assert nn.utils.skip_init(Scaled, 2).weight.tolist() == [1, 1]
