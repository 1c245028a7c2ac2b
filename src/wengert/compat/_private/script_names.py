"""Names of ``torch.jit`` for annotations, `isinstance` and settings."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from wengert.compat._private.jit_internal import (
    Error,
    _copy_to_script_wrapper,
    _overload,
    _overload_method,
    _script_if_tracing,
    _unwrap_optional,
)
from wengert.platform.absences import Absent, refusing


def __getattr__(name: str) -> Any:
    if name == "Future":  # brings threads along
        from wengert.distributed.futures import Future

        return Future
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class RecursiveScriptClass(Absent):
    """The type of no object."""


class CompilationUnit(Absent):
    """The type of no program text that is compiled."""

    @staticmethod
    def _refusal(name: str) -> Exception:
        return NotImplementedError(
            f"torch.jit.{name}: wengert does not compile TorchScript; write its functions in Python"
        )


class ScriptWarning(Warning):
    """What programs filter out around `script`; nothing warns of it."""


class TracingCheckError(Exception):
    """What PyTorch raises for a trace whose graph changes; here a `TracerWarning` tells."""


def script_method(fn: Any) -> Any:
    """The method as it is."""
    return fn


def onednn_fusion_enabled() -> bool:
    """False: nothing is compiled."""
    return False


def optimized_execution(should_optimize: bool) -> AbstractContextManager[None]:
    """Accepted, without effect: nothing is compiled."""
    return nullcontext()


def strict_fusion() -> AbstractContextManager[None]:
    """Accepted, without effect: nothing is compiled."""
    return nullcontext()


def run_frozen_optimizations(
    mod: Any, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Nothing to optimize: the module stays as it is."""


def set_module(obj: Any, mod: str) -> None:
    """Have a function or class say that it is defined in a module."""
    obj.__module__ = mod


def _uncompiled(name: str, instead: str) -> Any:
    text = f"torch.jit.{name}(): there is no TorchScript program; {instead}"
    return refusing(name, __name__, NotImplementedError, text)


export_opnames = _uncompiled("export_opnames", "torch.export.export() has a graph of operations")
last_executed_optimized_graph = _uncompiled(
    "last_executed_optimized_graph", "torch.export.export() has a graph of operations"
)
_get_trace_graph = _uncompiled("_get_trace_graph", "use torch.export.export() or torch.fx")
jit_module_from_flatbuffer = _uncompiled("jit_module_from_flatbuffer", "use torch.load()")
save_jit_module_to_flatbuffer = _uncompiled("save_jit_module_to_flatbuffer", "use torch.save()")

__all__ = [
    "CompilationUnit",
    "Error",
    "RecursiveScriptClass",
    "ScriptWarning",
    "TracingCheckError",
    "_copy_to_script_wrapper",
    "_get_trace_graph",
    "_overload",
    "_overload_method",
    "_script_if_tracing",
    "_unwrap_optional",
    "export_opnames",
    "jit_module_from_flatbuffer",
    "last_executed_optimized_graph",
    "onednn_fusion_enabled",
    "optimized_execution",
    "run_frozen_optimizations",
    "save_jit_module_to_flatbuffer",
    "script_method",
    "set_module",
    "strict_fusion",
]
