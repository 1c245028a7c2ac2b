"""Names of parts of ``torch._dynamo`` by which packages know compiled modules."""

from __future__ import annotations

import warnings
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
from wengert.compat._private.guards import detect_fake_mode
from wengert.compiler import allow_in_graph, assume_constant_result, disable, is_compiling
from wengert.core.tensor import Tensor
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


def clone_inputs(example_inputs: Any) -> Any:
    """A list, or dictionary, with copies of the tensors of one."""
    if isinstance(example_inputs, dict):
        return {
            name: (clone_inputs if isinstance(value, tuple | list) else _cloned)(value)
            for name, value in example_inputs.items()
        }
    return [*map(_cloned, example_inputs)]


def _cloned(value: Any) -> Any:
    return clone_input(value) if isinstance(value, Tensor) else value


@contextmanager
def dynamo_timed(key: str, phase_name: str | None = None, **options: Any) -> Iterator[None]:
    """A context, or decorator: `compile_times` tells of no parts of compilation."""
    yield


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn, once for each text."""
    if msg not in _warned:
        _warned.add(msg)
        warnings.warn(msg, stacklevel=stacklevel + 1)


_warned: set[str] = set()

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "clone_input",
    "clone_inputs",
    "compile_times",
    "counters",
    "detect_fake_mode",
    "disable",
    "disable_cache_limit",
    "dynamo_timed",
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
    "warn_once",
]
