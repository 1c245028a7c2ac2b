"""Names of parts of ``torch._dynamo`` by which packages know compiled modules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wengert.compat._compilers import (
    compile_times,
    forbid_in_graph,
    mark_dynamic,
    mark_static,
    mark_static_address,
    mark_unbacked,
    maybe_mark_dynamic,
    substitute_in_graph,
)
from wengert.compat._private.compiler_comparisons import (
    clone_input,
    ifdynstaticdefault,
    istype,
    rmse,
    same,
)
from wengert.compiler import allow_in_graph, assume_constant_result, disable, is_compiling
from wengert.fx.captured.settings import counters
from wengert.nn.module.optimized import OptimizedModule


def is_compile_supported(device_type: Any) -> bool:
    """Whether `torch.compile` compiles for a device."""
    return str(device_type).startswith("cpu")


@contextmanager
def disable_cache_limit() -> Iterator[None]:
    """A context; programs are not limited by the settings in it either."""
    yield


def is_dynamo_supported() -> bool:
    """Whether `torch.compile` compiles: it does."""
    return True


__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "clone_input",
    "compile_times",
    "counters",
    "disable",
    "disable_cache_limit",
    "forbid_in_graph",
    "ifdynstaticdefault",
    "is_compile_supported",
    "is_compiling",
    "is_dynamo_supported",
    "istype",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "rmse",
    "same",
    "substitute_in_graph",
]
