"""``torch.autograd.function``: functions whose derivative the user writes."""

from wengert.autograd._function import Function as Function
from wengert.autograd._function import FunctionCtx as FunctionCtx
from wengert.autograd._function import once_differentiable as once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
