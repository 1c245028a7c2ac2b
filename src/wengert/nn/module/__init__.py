"""Module, the base of all layers; README.md describes its parts."""

from __future__ import annotations

from collections import OrderedDict
from types import FunctionType
from typing import Any, TypeVar

from wengert.nn.module import call, tree
from wengert.nn.module.call import Calls
from wengert.nn.module.convert import Conversion
from wengert.nn.module.in_place import without_compiled
from wengert.nn.module.state import StateDict
from wengert.nn.module.state import _IncompatibleKeys as _IncompatibleKeys

M = TypeVar("M", bound="Module")


class Module(Calls, StateDict, Conversion):
    """A function with state: parameters, buffers and other modules, found by assignment.

    Subclasses call `super().__init__()` first, assign what they own, and define `forward`.

    >>> import wengert
    >>> from wengert import nn
    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.Parameter(wengert.tensor(2.0))
    ...
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> Scale()(wengert.tensor(3.0))
    tensor(6., grad_fn=<MulBackward0>)
    """

    training: bool
    dump_patches: bool = False
    call_super_init: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Operations among the attributes of a class do not bind, as built-in functions do not."""
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            if type(value) is FunctionType and _is_operation(value):
                setattr(cls, name, staticmethod(value))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            what = (
                f"got an unexpected keyword argument '{next(iter(kwargs))}'"
                if kwargs
                else f"takes 1 positional argument but {len(args) + 1} were given"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {what}")
        self.__dict__.update(_fresh_state())  # not by a `__setattr__` of a subclass
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __getstate__(self) -> Any:
        """What copies and pickles have: a module that is compiled in place is not, in these."""
        state: Any = super().__getstate__()
        if "forward" not in self.__dict__:
            return state
        own, slots = state if isinstance(state, tuple) else (state, None)
        own = without_compiled(own)
        return own if slots is None else (own, slots)

    def __setstate__(self, state: Any) -> None:
        """Restore the state of a copy or pickle; missing attributes are as in a new module."""
        state, slots = state if isinstance(state, tuple) else (state, None)
        self.__dict__.update(_fresh_state() | (state or {}))
        for name, value in (slots or {}).items():
            setattr(self, name, value)

    def _replicate_for_data_parallel(self: M) -> M:
        """A module for another device: its own dicts of members, and no parameters yet.

        All else is shared. Who replicates sets the parameters, as attributes.
        """
        own = self.__dict__
        state = without_compiled(own) if "forward" in own else own
        members = {name: own[name].copy() for name in ("_buffers", "_modules")}
        replica = self.__new__(type(self))
        replica.__dict__.update({**state, **members, "_parameters": {}, "_is_replica": True})
        return replica

    def train(self: M, mode: bool = True) -> M:
        """Put this module and its submodules in training mode (dropout drops, norms update)."""
        if not isinstance(mode, bool):
            raise ValueError(
                f"training mode is expected to be boolean, got {type(mode).__name__}: {mode!r}"
            )
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: M) -> M:
        """Put this module and its submodules in evaluation mode.

        >>> import wengert
        >>> wengert.nn.Dropout(0.5).eval()(wengert.ones(2))
        tensor([1., 1.])
        """
        return self.train(False)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the text in the parentheses of the module's repr; for subclasses to override."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        below = [f"({name}): {_indent(repr(module))}" for name, module in self._modules.items()]
        if len(lines) == 1 and not below:
            return f"{self._get_name()}({extra})"
        if not lines and not below:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + below) + "\n)"


for _part in (call, tree):  # where `typing.get_type_hints` looks for what annotations name
    vars(_part)["Module"] = Module


def _fresh_state() -> dict[str, Any]:
    """The attributes of a module that owns nothing yet."""
    return {
        "training": True,
        "_parameters": {},
        "_buffers": {},
        "_modules": {},
        "_non_persistent_buffers_set": set(),
        "_forward_pre_hooks": OrderedDict(),
        "_forward_pre_hooks_with_kwargs": OrderedDict(),
        "_forward_hooks": OrderedDict(),
        "_forward_hooks_with_kwargs": OrderedDict(),
        "_forward_hooks_always_called": OrderedDict(),
        "_backward_pre_hooks": OrderedDict(),
        "_backward_hooks": OrderedDict(),
        "_state_dict_hooks": OrderedDict(),
        "_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_post_hooks": OrderedDict(),
    }


def _is_operation(function: FunctionType) -> bool:
    """Whether a function is one of wengert's, and not a method of a class."""
    home = function.__module__ or ""  # None of what was compiled without a module
    return home.startswith("wengert.") and "." not in function.__qualname__


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")
