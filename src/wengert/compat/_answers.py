"""Classes that answer `__torch_function__` and are no Tensors, in what a program has imported.

Nothing tells of such a class before its first instance is an argument, and then the function that
gets it may not be looking. So whenever something is imported, or a name of torch is used for the
first time, the modules that have come since are looked through, until there is one.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import ClassVar

from wengert.core.fronts import arm_for_classes, armed_for_classes


class _Seen:
    """The modules that need no second look."""

    names: ClassVar[set[str]] = set()


def look_for_answers() -> None:
    """Have all functions ask their arguments if a module has a class that answers."""
    if armed_for_classes():
        return
    for name in set(sys.modules) - _Seen.names:  # made in one step: other threads may be importing
        module = sys.modules.get(name)
        if name.partition(".")[0] not in ("torch", "wengert") and _has_answers(module):
            arm_for_classes()
            return
        loading = getattr(getattr(module, "__spec__", None), "_initializing", False)
        if name != "__main__" and not loading:
            _Seen.names.add(name)


def _has_answers(module: ModuleType | None) -> bool:
    values = [*getattr(module, "__dict__", {}).values()]
    return any(isinstance(v, type) and "__torch_function__" in vars(v) for v in values)
