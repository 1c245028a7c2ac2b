"""The functions of `torch.nn.functional`, collected from the families of operations.

For type checkers they are listed in `functional.pyi`, which tools/stubs.py writes.
"""

from wengert.core.fronts import publish_module
from wengert.ops import FAMILIES as _FAMILIES

_functions = {name: getattr(family, name) for family in _FAMILIES for name in family.FUNCTIONAL}
globals().update(_functions)
__all__ = sorted(_functions)
publish_module("torch.nn.functional", __all__, _functions)
