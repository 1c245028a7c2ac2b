"""Modules that compute as compiled functions: `torch.compile(module)`."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from wengert import compiler
from wengert.compiler import wrappers
from wengert.nn.module import Module

# The key of how it is compiled among what is saved.
_HOW = "_compiled_as"
_OWN = frozenset({"__dict__", "_call", "_orig_mod", "training"})


class OptimizedModule(Module):
    """What compiling a module gives: it computes as the module does, and shares all its state.

    The module is `_orig_mod`, and a prefix of the names in `state_dict()`, as in PyTorch. Other
    attributes are the module's.

    >>> import wengert.compiler
    >>> layer = wengert.nn.Linear(2, 1)
    >>> model = wengert.compiler.compile(layer)
    >>> [*model.state_dict()], model.in_features
    (['_orig_mod.weight', '_orig_mod.bias'], 2)
    """

    _orig_mod: Module

    def __init__(self, module: Module, call: Any) -> None:
        super().__init__()
        self.__dict__["training"] = module.training
        self._orig_mod = module
        self.__dict__["_call"] = call

    def __getstate__(self) -> dict[str, Any]:
        """The module, and how it is compiled: programs stay where they were made."""
        state = self.__dict__.copy()
        state[_HOW] = _how(state.pop("_call"))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Compile the module anew."""
        state = {**state}
        how = state.pop(_HOW)
        super().__setstate__(state)
        self.__dict__["_call"] = _called(self._orig_mod, *how)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return self.__dict__["_call"](*args, **kwargs)

    def __len__(self) -> int:
        """The length of the module; TypeError if it has none."""
        if not isinstance(self._orig_mod, Sized):
            raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if name == "_orig_mod" or "_orig_mod" not in modules:
            return super().__getattr__(name)
        return getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN or "_orig_mod" not in self.__dict__.get("_modules", {}):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


def _how(call: Any) -> tuple[str | None, bool, Any]:
    """What `_called` makes such a call of."""
    if isinstance(call, compiler.AsItIs):
        return "eager", False, False
    if isinstance(call, compiler.AtOnce):
        return "at once", False, False
    if call.mode == "backend":
        return call.mode, call.fullgraph, call.backend
    return call.mode, call.fullgraph, call.exact


def _called(module: Module, how: Any, fullgraph: Any, exact: Any) -> Any:
    if how == "backend":
        return compiler.capturing(exact, bool(fullgraph))(module)
    if how == "eager":
        return compiler.AsItIs(module)
    if how == "at once":
        return compiler.AtOnce(module)
    return compiler.compiling(bool(fullgraph), bool(exact), how)(module)


def _optimized(module: Any, compiled: Any) -> OptimizedModule:
    return OptimizedModule(module, compiled(module))


wrappers.append((Module, _optimized))
