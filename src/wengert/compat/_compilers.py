"""``torch._dynamo``, as scripts reach into it: `wengert.compiler` under the names of its parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def mark_dynamic(t: Any, index: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Nothing to mark: shapes may always change."""


maybe_mark_dynamic = mark_static = mark_unbacked = mark_dynamic


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
    """`wengert.compiler.explain`; with further arguments the explanation itself."""
    explained = _explain(f)
    return explained(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else explained


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
