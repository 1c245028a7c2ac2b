"""Scripted functions and modules: they run as Python, and hold the names of ``torch.jit``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from wengert.nn.module import Module

_NO_PROGRAM = (
    "{name} runs as Python and has no program. Make one with torch.jit.trace(...), or give"
    " torch.jit.script(..., example_inputs=[(...)]) the inputs of a call, which is then recorded"
)


class ScriptModule(Module):
    """The class of modules that `script`, `trace` and `load` give; also a base for own modules.

    `graph` and `code` show the program of a traced module; `save` writes it to a file.

    >>> import wengert, wengert.jit
    >>> traced = wengert.jit.trace(wengert.nn.ReLU(), wengert.ones(2))
    >>> isinstance(traced, wengert.jit.ScriptModule), traced.original_name
    (True, 'ReLU')
    """

    @property
    def original_name(self) -> str:
        """The name of the class of the module that this one was made of."""
        return type(self).__name__

    def saved_methods(self) -> dict[str, Any]:
        """The traced methods by name; RuntimeError where there are none."""
        raise RuntimeError(_NO_PROGRAM.format(name=self.original_name))

    def program_of(self, method: str) -> Any:
        """The program of a method; RuntimeError where there is none."""
        methods = self.saved_methods()
        if method not in methods:
            raise RuntimeError(f"{self.original_name}: no {method} was traced")
        return methods[method].program

    @property
    def graph(self) -> Any:
        """The graph of the forward: what it computes, an operation a node."""
        return self.program_of("forward").graph

    @property
    def inlined_graph(self) -> Any:
        """The graph of the forward."""
        return self.graph

    def graph_for(self, *args: Any, **kwargs: Any) -> Any:
        """The graph of the forward, which is the same for all arguments."""
        return self.graph

    @property
    def code(self) -> str:
        """The forward's program as Python text."""
        text: str = self.program_of("forward").graph_module.code
        return text

    @property
    def code_with_constants(self) -> tuple[str, dict[str, Any]]:
        """The forward's program as Python text, and the constants that it reads."""
        return self.code, dict(self.program_of("forward").constants)

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write the programs and tensors to a file, as `wengert.jit.save` does."""
        from wengert.jit._files import write_module

        write_module(self, f, _extra_files)

    def extra_repr(self) -> str:
        """The name of the class that it was made of."""
        return f"original_name={self.original_name}"


class RecursiveScriptModule(ScriptModule):
    """What `script` makes of a module, and `load` of a file."""


class _Scripted(RecursiveScriptModule):
    """A module seen as a script module: it shares everything with the one it was made of."""

    _example: Any

    @property
    def original_name(self) -> str:
        """The name of the class of the module that was scripted."""
        return type(self).__mro__[1 + type(self).__mro__.index(ScriptModule)].__name__

    @property
    def original(self) -> Module:
        """The module itself, as one of its own class."""
        kind: Any = type(self).__mro__[1 + type(self).__mro__.index(ScriptModule)]
        made: Module = kind.__new__(kind)
        made.__dict__ = self.__dict__
        return made

    def saved_methods(self) -> dict[str, Any]:
        """The program of a call with the example inputs that `script` was given."""
        example = self.__dict__.get("_example")
        if example is None:
            return super().saved_methods()
        from wengert.jit._tracing import method_of

        return {"forward": method_of(self.original, "forward", example, {})}


def scripted_module(module: Module, example: Any) -> RecursiveScriptModule:
    """A module of a class that is the module's and `RecursiveScriptModule`, with its attributes."""
    if isinstance(module, ScriptModule):
        return module  # type: ignore[return-value]
    own: Any = type(module)
    kind: Any = _scripted_class(own)
    made: RecursiveScriptModule = kind.__new__(kind)
    made.__dict__ = module.__dict__
    if example is not None:
        made.__dict__["_example"] = example
    return made


@functools.cache
def _scripted_class(kind: Any) -> type[Any]:
    own = {"__module__": kind.__module__, "__repr__": kind.__repr__, "extra_repr": kind.extra_repr}
    metaclass: Any = type(kind)
    made: type[Any] = metaclass("RecursiveScriptModule", (_Scripted, kind), own)
    return made


class ScriptFunction:
    """What `script` and `trace` make of a function.

    Attributes:
        name: of the function.

    >>> import wengert, wengert.jit
    >>> double = wengert.jit.trace(lambda x: x * 2, wengert.ones(2))
    >>> double(wengert.ones(3)), double.name
    (tensor([2., 2., 2.]), '<lambda>')
    """

    def __init__(
        self, function: Callable[..., Any], program: Any = None, example: Any = None
    ) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self._run, self._method, self._example = function, program, example
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        method = self._method
        return self._run(*args, **kwargs) if method is None else method(*args, **kwargs)

    @property
    def qualified_name(self) -> str:
        """The name, with those of the module and classes around it."""
        return f"{getattr(self._run, '__module__', '')}.{getattr(self, '__qualname__', self.name)}"

    def method(self) -> Any:
        """The traced program; RuntimeError where there is none."""
        if self._method is None and self._example is not None:
            from wengert.jit._tracing import function_method

            return function_method(self._run, self._example, {})
        if self._method is None:
            raise RuntimeError(_NO_PROGRAM.format(name=self.name))
        return self._method

    @property
    def graph(self) -> Any:
        """The graph of a traced function."""
        return self.method().program.graph

    inlined_graph = graph

    def graph_for(self, *args: Any, **kwargs: Any) -> Any:
        """The graph, which is the same for all arguments."""
        return self.graph

    @property
    def code(self) -> str:
        """The program as Python text; of a scripted function its source."""
        if self._method is None:
            return inspect.getsource(self._run)
        text: str = self._method.program.graph_module.code
        return text

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write the program to a file, as `wengert.jit.save` does."""
        from wengert.jit._files import write_module

        write_module(self, f, _extra_files)

    def __repr__(self) -> str:
        return f"<torch.jit.ScriptFunction {self.name}>"
