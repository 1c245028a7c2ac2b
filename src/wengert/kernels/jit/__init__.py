"""Kernels compiled on the user's machine, from functions in a subset of Python.

`@kernel` marks a function of `kernels/` written in the language of `language.py`. Its last two
arguments, `start` and `stop`, are the range of work of one call; the function called from Python
takes the total size and the chunk size instead. `double.f32` is the kernel for float32, compiled
(or read from disk) on first access:

    @kernel
    def double(x: reals, out: reals, start: i64, stop: i64) -> None:
        for i in range(start, stop):
            out[i] = x[i] + x[i]

    if usable(x):
        double.f32(x, out, x.size, CHUNK)

Kernels check nothing. Callers do, and have a fallback for when there is no llvmlite (or
WENGERT_JIT=0 disables it): see `usable`.
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

# Elements from which calling a kernel pays off, and elements per chunk for one thread.
LARGE = 1 << 12
CHUNK = 1 << 14

_F32 = np.dtype(np.float32)


class TracedArray:
    """The placeholder for an array while a function is traced: `tracing.Expression`."""

    __slots__ = ()


# The non-Tensor operands of an operation's function.
ARRAYS = (np.ndarray, np.generic, TracedArray)


class _Threads:
    """The number of threads a kernel may use."""

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
    """Set the number of threads for kernels, including the calling one."""
    _Threads.count = count
    # While another thread imports the compiler there is no pool, nor a function that makes it.
    pool = getattr(sys.modules.get(_COMPILER), "pool", None)
    if pool is not None:
        pool()[0](count - 1)


def get_threads() -> int:
    """The number of threads for kernels: initially OMP_NUM_THREADS, or the available cores."""
    return _Threads.count


class Kernel:
    """A function in the kernel language, compiled for float types on demand.

    With `instead` it calls other functions than it says: of LLVM's text (`native.Native`), or
    marked `@inline`. Its arrays of `stored` are of another type than `real` if that is given.
    """

    def __init__(
        self,
        function: Callable[..., None],
        exact: bool = False,
        instead: dict[Any, Any] | None = None,
        stored: str = "",
    ) -> None:
        self.python, self.exact, self.instead = function, exact, instead or {}
        self.stored = stored
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    @cached_property
    def f32(self) -> Callable[..., Any]:
        """It with `real` float32."""
        return self._compiled("f32")

    @cached_property
    def f64(self) -> Callable[..., Any]:
        """It with `real` float64."""
        return self._compiled("f64")

    @cached_property
    def brain(self) -> Callable[..., Any]:
        """It with `real` float32, of which bfloat16 is `stored`."""
        return Kernel(self.python, self.exact, self.instead, "brain").f32

    @cached_property
    def half(self) -> Callable[..., Any]:
        """It with `real` float32, of which float16 is `stored`; see `halves.has_halves`."""
        return Kernel(self.python, self.exact, self.instead, "half").f32

    @cached_property
    def u16(self) -> Callable[..., Any]:
        """It with halves of whichever kind `stored`, of which it reads and writes the bits."""
        return Kernel(self.python, self.exact, self.instead, "u16").f32

    def _compiled(self, real: str) -> Callable[..., Any]:
        from wengert.kernels.jit import compiler, language, machine_types

        name = self.__name__
        kinds = machine_types.argument_kinds(machine_types.signature_of(self.python, real))

        def text() -> str:
            unit = language.Unit(real, "all" if self.exact else "", self.instead, self.stored)
            unit.add(self.python, inline=False)
            return unit.text()

        identity = f"{self.python.__module__}|{real}{self.stored}"
        identity += "".join([f"|{a.__name__}>{b.__name__}" for a, b in self.instead.items()])
        if not self.python.__module__.startswith("wengert.kernels."):
            # The package's own sources are in every key; others change on their own.
            with open(self.python.__code__.co_filename, encoding="utf-8") as file:
                identity += file.read()
        return compiler.load(name, kinds, text, identity)

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


def kernel(function: Callable[..., None]) -> Kernel:
    """Mark a function as written in the kernel language."""
    return Kernel(function)


def exact_kernel(function: Callable[..., None]) -> Kernel:
    """As `kernel`, with all its arithmetic rounded step by step: it computes what Python does."""
    return Kernel(function, exact=True)


@cache
def compiled(source: str, kind: str = "") -> Callable[..., Any]:
    """A kernel whose text was made by a program, of one of the `reals.REALS`."""
    from wengert.kernels.jit import compiler, language, machine_types
    from wengert.kernels.jit.reals import REALS

    real = REALS[kind]

    def tree(source: str) -> ast.FunctionDef:
        (parsed,) = ast.parse(source).body
        assert isinstance(parsed, ast.FunctionDef)
        return parsed

    def text() -> str:
        unit = language.Unit(real.real, exact="kernel")
        unit.add_tree(tree(source), real.scope, inline=False)
        return unit.text()

    head = tree(source.partition("\n")[0] + " pass")  # all that is asked of a kernel on disk
    kinds = machine_types.argument_kinds(machine_types.signature_of(head, real.real))
    return compiler.load(head.name, kinds, text, kind + source)


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


def loaded() -> bool:
    """Whether kernels are in use already, so that another one costs little."""
    return _COMPILER in sys.modules


_COMPILER = f"{__name__}.compiler"


def usable(*arrays: np.ndarray) -> bool:
    """Whether kernels for float32 can read these arrays in place: C-contiguous and aligned."""
    for array in arrays:
        if array.dtype != _F32 or not array.flags.c_contiguous or not array.flags.aligned:
            return False
    return available()
