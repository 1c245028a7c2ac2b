"""Where PyTorch's classes say they are defined, as programs ask for it: ``type(x).__module__``.

Only the bases answer for PyTorch, and only under the alias: programs look through the bases of a
class, and a pickle names the class of an object, which then loads without the alias as well.
"""

from __future__ import annotations

from typing import Any

_HOMES = {
    "wengert.core.tensor.Tensor": "torch",
    "wengert.nn.module.Module": "torch.nn.modules.module",
    "wengert.nn.parameter.Parameter": "torch.nn.parameter",
    "wengert.optim.optimizer.Optimizer": "torch.optim.optimizer",
}
_moved: dict[type[Any], str] = {}


def move(value: Any) -> None:
    """Have a class say that it is PyTorch's, if it is one of those."""
    if isinstance(value, type):
        home = _HOMES.get(f"{value.__module__}.{value.__qualname__}")
        if home is not None:
            _moved[value] = value.__module__
            value.__module__ = home


def move_back() -> None:
    """Undo `move` for all classes."""
    for kind, home in _moved.items():
        kind.__module__ = home
    _moved.clear()
