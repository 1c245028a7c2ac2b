"""``torch.autograd.function``: functions with custom derivatives."""

from wengert.autograd.custom.function import Function as Function
from wengert.autograd.custom.function import FunctionCtx as FunctionCtx
from wengert.autograd.custom.function import FunctionMeta as FunctionMeta
from wengert.autograd.custom.function import FunctionNode as BackwardCFunction
from wengert.autograd.custom.function import InplaceFunction as InplaceFunction
from wengert.autograd.custom.function import once_differentiable as once_differentiable

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction",
    "once_differentiable",
]  # fmt: skip
