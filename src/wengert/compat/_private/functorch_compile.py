"""``functorch.compile``: the forward and the backward of functions as graphs for compilers."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from wengert import compiler
from wengert.compat._private.compiler_backends import aot_autograd
from wengert.compat._private.graph_drawings import FxGraphDrawer
from wengert.fx.graph import Graph
from wengert.fx.graph_module import GraphModule
from wengert.fx.joint import compiled_with_backward, default_partition
from wengert.jit import trace


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
    partition_fn: Callable[..., Any] | None = None,
    *args: Any,
    **options: Any,
) -> Callable[..., Any]:
    """A function whose forward and backward are graphs, which the compilers are given.

    They are called again for calls of another kind, as those of a backend of `torch.compile` are.
    """
    backend = aot_autograd(
        fw_compiler=fw_compiler, bw_compiler=bw_compiler, partition_fn=partition_fn
    )
    compiled: Callable[..., Any] = compiler.compile(fn, backend=backend)
    return compiled


def aot_module(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """`aot_function` of a module, which stays one."""
    return aot_function(mod, *args, **kwargs)


def aot_module_simplified(
    mod: Any, args: Any, fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any] | None = None,
    partition_fn: Callable[..., Any] | None = None, **options: Any,
) -> Callable[..., Any]:  # fmt: skip
    """What a backend gives whose graph is compiled with its backward: a function of tensors."""
    return compiled_with_backward(mod, args, fw_compiler, bw_compiler, partition_fn)


def print_compile(fx_g: Any, _: Any) -> Any:
    """The graph module as it is; its code is printed."""
    print(fx_g.code)
    return fx_g


def ts_compile(fx_g: Any, inps: Any) -> Any:
    """The graph module as a program of `torch.jit.trace`."""
    return trace(fx_g, tuple(inps))


def draw_graph(
    traced: Any, fname: str, figname: str = "fx_graph", clear_meta: bool = True,
    prog: Any = None, parse_stack_trace: bool = False, dot_graph_shape: str | None = None,
) -> None:  # fmt: skip
    """Write a picture of a graph module to a file, by default an SVG; pydot draws it."""
    if clear_meta:
        graph = Graph()
        result = graph.graph_copy(traced.graph, {})
        graph.output(result)
        for node in graph.nodes:
            node.meta = {}
        traced = GraphModule(traced, graph)
    base, ext = os.path.splitext(fname)
    drawer = FxGraphDrawer(
        traced, figname, parse_stack_trace=parse_stack_trace, dot_graph_shape=dot_graph_shape
    )
    write = getattr(drawer.get_main_dot_graph(), "write_" + (ext or ".svg").removeprefix("."))
    write(f"{base}{ext or '.svg'}", **({} if prog is None else {"prog": prog}))


def memory_efficient_fusion(fn: Any, **kwargs: Any) -> Any:
    """A function or module, compiled: values that are cheap are computed again in a backward."""
    return compiler.compile(fn)


compiled_function, compiled_module = aot_function, aot_module
# What is cheap is not computed again.
min_cut_rematerialization_partition = default_partition

__all__ = [
    "aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module",
    "default_partition", "draw_graph", "make_boxed_compiler", "make_boxed_func",
    "memory_efficient_fusion", "min_cut_rematerialization_partition", "nop", "print_compile",
    "ts_compile",
]  # fmt: skip
