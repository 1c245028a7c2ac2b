"""``torch.autograd._functions``: the function behind the old ``resize`` of variables."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

from wengert.autograd import Function
from wengert.core.tensor import Tensor


class Resize(Function):
    """A view of as many elements in another shape."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """Show the elements in the shape; RuntimeError if their numbers differ."""
        if reduce(operator.mul, sizes, 1) != tensor.numel():
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))}, but the given tensor has a size"
                f" of {'x'.join(map(str, tensor.shape))}: resize keeps the number of elements"
            )
        ctx.shape = tensor.shape
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        """The gradient in the shape of the input."""
        return grad_output.contiguous().view(ctx.shape), None


__all__ = ["Resize"]
