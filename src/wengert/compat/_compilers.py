"""``torch._dynamo``, as scripts reach into it: `wengert.compiler` under the names of its parts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from traceback import FrameSummary
from typing import Any, NamedTuple

from wengert import compiler
from wengert.compat._private import eager_backends
from wengert.compiler import allow_in_graph as allow_in_graph
from wengert.compiler import assume_constant_result as assume_constant_result
from wengert.compiler import compile
from wengert.compiler import disable as disable
from wengert.compiler import is_compiling as is_compiling
from wengert.compiler import list_backends as list_backends
from wengert.compiler import register_backend as register_backend
from wengert.compiler import reset as reset
from wengert.compiler import set_stance as set_stance
from wengert.compiler import substitute_in_graph as substitute_in_graph
from wengert.fx.captured.functions import Captured
from wengert.fx.captured.functions import graph_break as graph_break
from wengert.nn.module.optimized import OptimizedModule as OptimizedModule
from wengert.replay.failures import InvalidBackend


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


class GraphCompileReason(NamedTuple):
    """Why a graph ends: what was called, and the lines that called it."""

    reason: str
    user_stack: list[FrameSummary]
    graph_break: bool = True


class ExplainOutput(NamedTuple):
    """The graphs that a backend is given for a call, and why they are several."""

    graphs: list[Any]
    graph_count: int
    graph_break_count: int
    break_reasons: list[GraphCompileReason]
    op_count: int
    ops_per_graph: list[list[Any]]
    out_guards: list[Any]
    compile_times: str

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}", "Break Reasons:",
        ]  # fmt: skip
        for k, reason in enumerate(self.break_reasons):
            stack = "".join(f"\n      {frame}" for frame in reason.user_stack)
            lines.append(f"  Break Reason {k + 1}:\n    Reason: {reason.reason}")
            lines.append(f"    User Stack:{stack}")
        return "\n".join(lines)


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """The graphs of a call, counted; with further arguments at once."""
    function = getattr(f, "_torchdynamo_orig_callable", getattr(f, "_orig_mod", f))

    def counted(*args: Any, **kwargs: Any) -> ExplainOutput:
        graphs: list[Any] = []

        def kept(gm: Any, example_inputs: Any) -> Any:
            graphs.append(gm)
            return gm.forward

        own = Captured(function, kept)
        own(*args, **kwargs)
        steps = [step for path in own.paths for step in path.breaks]
        reasons = [GraphCompileReason(_named_step(s), [s.where]) for s in steps]
        if own.reason:
            reasons.append(GraphCompileReason(own.reason, []))
        ops = [[n.target for n in gm.graph.nodes if n.op == "call_function"] for gm in graphs]
        breaks, count = max(0, len(graphs) - 1), sum(map(len, ops))
        return ExplainOutput(graphs, len(graphs), breaks, reasons, count, ops, [], compile_times())

    return counted(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else counted


def _named_step(step: Any) -> str:
    return "graph_break()" if step.function is None else f"{step.function.__name__}()"


def compile_times(repr: str = "str", aggregate: bool = False) -> Any:
    """Nothing: programs are compiled beside the steps."""
    return "" if repr == "str" else ([], [])


def lookup_backend(compiler_fn: Any) -> Any:
    """The backend of a name: a registered one, or what runs a graph module."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    known = compiler.registered_backend(compiler_fn)
    if known is not None:
        return known
    if not compiler.accepts_backend(compiler_fn):
        raise InvalidBackend(compiler_fn)
    own: Any = getattr(eager_backends, compiler_fn, None)
    if own is not None:
        return own
    return lambda gm, example_inputs, **options: compile(gm, backend=compiler_fn)


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
