"""PyTorch's place for Module."""

from wengert.nn._module import Module as Module
from wengert.nn._module.state import _IncompatibleKeys as _IncompatibleKeys

__all__ = ["Module"]
