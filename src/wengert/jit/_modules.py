"""Modules whose methods are programs, with the parameters and buffers that these read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.jit._scripting import RecursiveScriptModule, ScriptModule
from wengert.nn import Module, Parameter


class _Methods(ScriptModule):
    """A module whose methods are programs; below it, the tree of the modules with its state."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.__dict__["_name"] = name
        self.__dict__["_methods"] = {}
        self.__dict__["_places"] = {}

    @property
    def original_name(self) -> str:
        """The name of the class that was traced."""
        name: str = self.__dict__["_name"]
        return name

    def saved_methods(self) -> dict[str, Any]:
        """The methods by name."""
        methods: dict[str, Any] = self.__dict__["_methods"]
        return methods if methods else super().saved_methods()

    def add_method(self, name: str, method: Any) -> None:
        """Take a method in: what it reads stands in the tree, or with its program."""
        if name != "forward" and hasattr(type(self), name):
            raise RuntimeError(f"trace_module: every module has a method {name!r} of its own")
        self.__dict__["_methods"][name] = method
        places = []
        for path in method.paths:
            held = _place_of(self, str(path))
            places.append(held or (method.program.constants, str(path)))
        self.__dict__["_places"][name] = places

    def call_method(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a method with the parameters that stand in the tree now."""
        state = [held[key] for held, key in self.__dict__["_places"][name]]
        return self.__dict__["_methods"][name].run(state, args, kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The program of the forward."""
        if "forward" not in self.__dict__["_methods"]:
            raise NotImplementedError(f"{self.original_name}: no forward was traced")
        return self.call_method("forward", args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_methods", ()):
            return lambda *args, **kwargs: self.call_method(name, args, kwargs)
        return super().__getattr__(name)


class TracedModule(_Methods):
    """A module of a traced one."""


class TopLevelTracedModule(TracedModule):
    """What `trace` makes of a module."""


class LoadedModule(_Methods, RecursiveScriptModule):
    """What `load` makes of a file."""


def _place_of(module: Module, path: str) -> tuple[dict[str, Any], str] | None:
    """The dictionary that holds a parameter or buffer, and its key there."""
    *way, name = path.split(".")
    for step in way:
        inner = module._modules.get(step)
        if inner is None:
            return None
        module = inner
    for held in (module._parameters, module._buffers):
        if name in held:
            return held, name
    return None


def with_state(
    kind: type[_Methods], names: dict[str, str], state: Iterable[tuple[str, Any, bool]]
) -> Any:
    """A tree of modules that holds state.

    Args:
        kind: of the topmost.
        names: the names of the classes that were traced, by the path of the module.
        state: path, tensor and, of buffers, whether they are persistent.
    """
    root = kind(names.get("", "Module"))
    modules: dict[str, Any] = {"": root}
    for path, name in names.items():
        if path:
            above, _, own = path.rpartition(".")
            modules[path] = TracedModule(name)
            modules[above].add_module(own, modules[path])
    for path, tensor, persistent in state:
        above, _, own = path.rpartition(".")
        if isinstance(tensor, Parameter):
            modules[above].register_parameter(own, tensor)
        else:
            modules[above].register_buffer(own, tensor, persistent)
    return root
