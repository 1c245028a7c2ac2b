"""``torch._dynamo``, as scripts reach into it: `wengert.compiler` under the names of its parts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

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


disallow_in_graph = forbid_in_graph = run


def reset_code_caches() -> None:
    """`reset`."""
    reset()


def is_inductor_supported() -> bool:
    """Whether `compile` compiles: it does."""
    return True
