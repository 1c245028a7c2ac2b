"""``torch._ops``: the class of ``torch.ops.aten`` and other namespaces, under PyTorch's name."""

from wengert.dispatch.overloads import OpNamespace as _OpNamespace

__all__ = ["_OpNamespace"]
