"""Kernels compiled on the user's machine, from functions in a subset of Python.

`@kernel` marks a function of `kernels/` that is written in the language of `language.py`. Its
last two arguments, `start` and `stop`, are the part of the work that a call does; what Python
calls takes the size of all the work and that of a chunk instead. `double.f32` is the kernel
for float32, compiled (or read from disk) when it is first asked for:

    @kernel
    def double(x: reals, out: reals, start: i64, stop: i64) -> None:
        for i in range(start, stop):
            out[i] = x[i] + x[i]

    if usable(x):
        double.f32(x, out, x.size, CHUNK)

Kernels check nothing. Their callers do, and have another way for where there is no llvmlite
(or WENGERT_JIT=0 says not to use it): `usable` knows.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.forks import cached_property, once
from wengert.kernels import buffers

if TYPE_CHECKING:
    from wengert.kernels.jit import operands as operands
else:
    from wengert.kernels import on_first_use

    __getattr__ = on_first_use(__name__)

# Elements from which a call of a kernel is worth it, and those of a chunk for one thread.
LARGE = 1 << 12
CHUNK = 1 << 14

_F32 = np.dtype(np.float32)


class TracedArray:
    """What stands for an array while a function of it is written down: `tracing.Expression`."""

    __slots__ = ()


# What an operation's function computes with that is no Tensor.
ARRAYS = (np.ndarray, np.generic, TracedArray)


class _Threads:
    """How many threads a kernel may use."""

    count = 0


def _default_threads() -> int:
    named = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if named.isdigit() and int(named):
        return int(named)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_Threads.count = _default_threads()


def set_threads(count: int) -> None:
    """Let kernels use that many threads, the calling one among them."""
    _Threads.count = count
    compiler = sys.modules.get(f"{__name__}.compiler")
    if compiler is not None:
        compiler.pool()[0](count - 1)


def get_threads() -> int:
    """How many threads kernels may use: at first OMP_NUM_THREADS, or the cores that there are."""
    return _Threads.count


class Kernel:
    """A function in the kernel language, compiled for the float types that are asked for."""

    def __init__(self, function: Callable[..., None], exact: bool = False) -> None:
        self.python, self.exact = function, exact
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    @cached_property
    def f32(self) -> Callable[..., Any]:
        """It with `real` float32."""
        return self._compiled("f32")

    @cached_property
    def f64(self) -> Callable[..., Any]:
        """It with `real` float64."""
        return self._compiled("f64")

    def _compiled(self, real: str) -> Callable[..., Any]:
        from wengert.kernels.jit import compiler, language, machine_types

        name = self.__name__
        kinds = machine_types.argument_kinds(machine_types.signature_of(self.python, real))

        def text() -> str:
            unit = language.Unit(real, exact="all" if self.exact else "")
            unit.add(self.python, inline=False)
            return unit.text()

        identity = f"{self.python.__module__}|{real}"
        if not self.python.__module__.startswith("wengert.kernels."):
            # The package's own sources are in every key; others change on their own.
            with open(self.python.__code__.co_filename, encoding="utf-8") as file:
                identity += file.read()
        return compiler.load(name, kinds, text, identity)

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


def kernel(function: Callable[..., None]) -> Kernel:
    """Mark a function of the kernel language."""
    return Kernel(function)


def exact_kernel(function: Callable[..., None]) -> Kernel:
    """As `kernel`, with all its arithmetic rounded step by step: it computes what Python does."""
    return Kernel(function, exact=True)


@cache
def compiled(source: str) -> Callable[..., Any]:
    """A kernel for float32 whose text was made by a program; it may call all of `mathlib`,
    `precise` and `special`."""
    from wengert.kernels.jit import (
        compiler,
        language,
        machine_types,
        mathlib,
        precise,
        special,
    )

    tree = ast.parse(source).body[0]
    assert isinstance(tree, ast.FunctionDef)

    def text() -> str:
        unit = language.Unit("f32", exact="kernel")
        scope = vars(special) | vars(mathlib) | vars(precise)
        unit.add_tree(tree, scope, inline=False)
        return unit.text()

    kinds = machine_types.argument_kinds(machine_types.signature_of(tree, "f32"))
    return compiler.load(tree.name, kinds, text, source)


@once
def available() -> bool:
    """Whether kernels can be compiled here; asking loads llvmlite."""
    if os.environ.get("WENGERT_JIT", "1") == "0":
        return False
    try:
        from wengert.kernels.jit import compiler
    except ImportError:
        return False
    if not compiler.reads_arrays():
        return False
    buffers.install()
    return True


def usable(*arrays: np.ndarray) -> bool:
    """Whether kernels for float32 may read these arrays as they lie: C-contiguous and aligned."""
    for array in arrays:
        if array.dtype != _F32 or not array.flags.c_contiguous or not array.flags.aligned:
            return False
    return available()
