"""``torch._dynamo``, as scripts reach into it: `wengert.compiler` under the names of its parts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, NamedTuple

from wengert import compiler
from wengert.compat._private.compiler_errors import InvalidBackend
from wengert.compiler import allow_in_graph as allow_in_graph
from wengert.compiler import assume_constant_result as assume_constant_result
from wengert.compiler import compile
from wengert.compiler import disable as disable
from wengert.compiler import explain as _explain
from wengert.compiler import is_compiling as is_compiling
from wengert.compiler import list_backends as list_backends
from wengert.compiler import reset as reset
from wengert.compiler import set_stance as set_stance
from wengert.compiler import substitute_in_graph as substitute_in_graph
from wengert.nn.module.optimized import OptimizedModule as OptimizedModule


def graph_break(msg: str = "") -> None:
    """Nothing to break."""


def mark_dynamic(
    t: Any, index: Any, *, hint_override: int | None = None, min: int | None = None,
    max: int | None = None, specialize_on: Any = None,
) -> None:  # fmt: skip
    """Nothing to mark: shapes may always change."""


maybe_mark_dynamic = mark_unbacked = mark_dynamic


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing to mark: shapes may always change."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Nothing to mark: no address is kept."""


def optimize(
    backend: Any = "inductor", *, nopython: bool = False, disable: bool = False,
    dynamic: bool | None = None, **options: Any,
) -> Callable[[Any], Any]:  # fmt: skip
    """What compiles a function, as `torch.compile` with `fullgraph` where `nopython` is True."""

    def optimized(function: Any) -> Any:
        return compile(
            function, backend=backend, fullgraph=nopython, disable=disable, dynamic=dynamic
        )

    return optimized


def optimize_assert(backend: Any = "inductor", **options: Any) -> Callable[[Any], Any]:
    """`optimize` with ``nopython=True``."""
    return optimize(backend, nopython=True, **options)


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """`wengert.compiler.explain`, with PyTorch's counts; with further arguments at once."""
    explained = _explain(f)

    def counted(*args: Any, **kwargs: Any) -> Any:
        found: Any = explained(*args, **kwargs)
        found.graphs = found.programs
        found.graph_count = len(found.programs)
        found.graph_break_count = max(0, found.graph_count - 1)
        found.break_reasons, found.op_count = found.splits, found.operations
        found.ops_per_graph = [[i.name for i in p.instructions] for p in found.programs]
        found.out_guards, found.compile_times = [], compile_times()
        return found

    return counted(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else counted


def compile_times(repr: str = "str", aggregate: bool = False) -> Any:
    """Nothing: programs are compiled beside the steps."""
    return "" if repr == "str" else ([], [])


_registered: dict[str, Any] = {}


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Any = ()) -> Any:
    """Let `compile` accept a backend by its name; as any backend, it is not called."""
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    if not callable(compiler_fn):
        raise AssertionError(
            f"register_backend(): argument 'compiler_fn' is {compiler_fn!r}, expected a callable"
        )
    known = name or compiler_fn.__name__
    _registered[known] = compiler_fn
    compiler.accept_backend(known)
    return compiler_fn


def lookup_backend(compiler_fn: Any) -> Any:
    """The backend that was registered by a name, or `compile`; others are as they are."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _registered and compiler.accepts_backend(compiler_fn):
        return lambda gm, example_inputs, **options: compile(gm, backend=compiler_fn)
    if compiler_fn not in _registered:
        raise InvalidBackend(
            f"Invalid backend: {compiler_fn!r}, see `torch._dynamo.list_backends()` for available"
            " backends"
        )
    return _registered[compiler_fn]


def run(fn: Any = None) -> Any:
    """The function as it is."""
    return fn


disallow_in_graph = forbid_in_graph = dont_skip_tracing = nonstrict_trace = run


def error_on_graph_break(error_on_graph_break: bool) -> Any:
    """A context or decorator in which nothing is otherwise: `compile` has `fullgraph`."""
    return _Unchanged()


class _Unchanged(ContextDecorator):
    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        pass


def skip_frame(msg: str = "") -> None:
    """Nothing to skip: the function's Python runs."""


step_unsupported = skip_frame


def reset_frame_count() -> None:
    """Nothing to reset: frames are not counted."""


reset_recompile_user_contexts = reset_frame_count


def patch_dynamo_config(arg1: Any = None, arg2: Any = None, **kwargs: Any) -> Any:
    """`config.patch`."""
    from wengert.compat._private.dynamo_settings import patch

    pairs = () if arg1 is None else (arg1,) if arg2 is None else (arg1, arg2)
    return patch(*pairs, **kwargs)


class ExportResult(NamedTuple):
    """What `export` found: the module, and the guards of its inputs, of which there are none."""

    graph_module: Any
    guards: set[Any]


def export(f: Any, *extra_args: Any, **options: Any) -> Any:
    """The program of a function or module as a graph module; with further arguments at once.

    `wengert.export.export` makes it, of positional arguments. Options of PyTorch's compiler are
    accepted, of which `dynamic_shapes` counts.
    """

    def exported(*args: Any) -> ExportResult:
        program = _export_program(_module_of(f), args, dynamic_shapes=options.get("dynamic_shapes"))
        return ExportResult(program.module(), set())

    return exported(*extra_args) if extra_args else exported


def _export_program(*args: Any, **options: Any) -> Any:
    from wengert.export import export

    return export(*args, **options)


def _module_of(f: Any) -> Any:
    from wengert.nn import Module

    if isinstance(f, Module):
        return f

    class Exported(Module):
        def forward(self, *args: Any) -> Any:
            return f(*args)

    return Exported()


def reset_code_caches() -> None:
    """`reset`."""
    reset()


def is_inductor_supported() -> bool:
    """Whether `compile` compiles: it does."""
    return True
