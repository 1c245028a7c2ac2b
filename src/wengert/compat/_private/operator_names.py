"""``torch._ops``: the classes of operators and of their namespaces, under PyTorch's names."""

from wengert.compat._private.higher_order import HigherOrderOperator
from wengert.dispatch.overloads import OperatorBase
from wengert.dispatch.overloads import OpNamespace as _OpNamespace

__all__ = ["HigherOrderOperator", "OperatorBase", "_OpNamespace"]
