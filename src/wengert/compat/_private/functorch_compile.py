"""``functorch.compile``: functions that `wengert.compiler` compiles, and no other compiler."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from wengert import compiler


def nop(fx_g: Any, _: Any) -> Any:
    """The graph module as it is."""
    return fx_g


def make_boxed_func(f: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """A function that takes its arguments as one list, which it may empty."""

    @functools.wraps(f)
    def boxed(args: list[Any]) -> Any:
        return f(*args)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler whose functions take their arguments as one list."""

    @functools.wraps(compiler)
    def compile_boxed(fx_g: Any, inps: Any) -> Any:
        return make_boxed_func(compiler(fx_g, inps))

    return compile_boxed


def aot_function(
    fn: Callable[..., Any],
    fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any] | None = None,
    *args: Any,
    **options: Any,
) -> Callable[..., Any]:
    """The function, compiled by `wengert.compiler.compile`.

    No graph module is made of it or of its derivative, so that the compilers are not called, of
    which a warning tells: `nop` is none.
    """
    if {fw_compiler, bw_compiler} - {nop, None}:
        warnings.warn(
            f"functorch.compile: {_named(fw_compiler)} is not called: wengert compiles what"
            " operations do, and makes no graph module of the function",
            UserWarning,
            stacklevel=2,
        )
    compiled: Callable[..., Any] = compiler.compile(fn)
    return compiled


def _named(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def aot_module(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """`aot_function` of a module, which stays one."""
    return aot_function(mod, *args, **kwargs)


def memory_efficient_fusion(fn: Any, **kwargs: Any) -> Any:
    """A function or module, compiled: values that are cheap are computed again in a backward."""
    return compiler.compile(fn)


compiled_function, compiled_module = aot_function, aot_module

__all__ = [
    "aot_function", "aot_module", "compiled_function", "compiled_module", "make_boxed_compiler",
    "make_boxed_func", "memory_efficient_fusion", "nop",
]  # fmt: skip
