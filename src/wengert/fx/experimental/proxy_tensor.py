"""`make_fx`: the operations that a function makes on real tensors, as a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from wengert.autograd.transforms.tree import Spec, flatten_tree, unflatten_tree
from wengert.fx.codegen import CodeGen
from wengert.fx.experimental.recorder import record
from wengert.fx.graph_module import GraphModule


class _TreeCodeGen(CodeGen):
    """Writes a program that takes its inputs in the structure in which they were recorded."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.spec = spec

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The head, and a line that takes the arguments apart."""
        names = ", ".join(name.split(" ")[0] for name in free_vars if name != "self")
        head = f"def {self._func_name}(self, *args):"
        return f"{head}\n    {names}, = _leaves(args)" if names else head

    def _leaves(self, args: tuple[Any, ...]) -> list[Any]:
        leaves, spec = flatten_tree(args)
        if spec != self.spec:
            raise ValueError(
                f"expected arguments of the recorded structure {self.spec}, got {spec}"
            )
        return leaves

    def process_inputs(self, *args: Any) -> Any:
        """The leaves of the arguments."""
        return self._leaves(args)

    def additional_globals(self) -> list[tuple[str, Any]]:
        """What takes the arguments apart."""
        return [("_leaves", self._leaves)]


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Any = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    record_stack_traces: bool = False,
    proxy_module_inputs: bool = False,
    _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., GraphModule]:
    """A function that runs `f` on its arguments and returns what it computed, as a `GraphModule`.

    Every operation is recorded, also those inside of modules: the targets of the nodes are the
    library's functions. Tensors that `f` reads from elsewhere are constants. Sizes are those of
    the arguments.

    Args:
        f: takes tensors, also nested in tuples, lists and dictionaries.
        decomposition_table: must be empty: operations are recorded as they are.
        tracing_mode: "real", "fake" or "symbolic": all record a run on the real values.

    The other options change nothing: modules and lines are noted in any case.

    Raises:
        RuntimeError: if `f` reads the elements of a tensor that depends on its inputs.

    >>> import wengert
    >>> from wengert.fx.experimental.proxy_tensor import make_fx
    >>> print(make_fx(lambda x: wengert.exp(x).sum())(wengert.ones(3)).code.strip())
    def forward(self, x_1):
        exp = wengert.exp(x_1);  x_1 = None
        sum_over = wengert_ops_reduction_sum(exp);  exp = None
        return sum_over
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(
            f"tracing_mode must be 'real', 'fake' or 'symbolic', got {tracing_mode!r}"
        )
    if decomposition_table:
        raise NotImplementedError("make_fx: decomposition_table is not supported")

    @wraps(f)
    def recorded(*args: Any) -> GraphModule:
        leaves, spec = flatten_tree(args)
        recording = record(
            lambda state, inputs: f(*unflatten_tree(inputs, spec)), leaves, _names(f, args), {}
        )
        if any(child.kind is not None for child in spec.children_specs):
            recording.graph.set_codegen(_TreeCodeGen(spec))
        return GraphModule(dict(recording.attributes), recording.graph)

    return recorded


def _names(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """The names of the leaves of the arguments: those of parameters, numbered where nested."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for k, arg in enumerate(args):
        plain = k < len(parameters) and parameters[k].kind is not inspect.Parameter.VAR_POSITIONAL
        name = parameters[k].name if plain else f"arg{k}"
        names += [f"{name}_{j + 1}" for j in range(len(flatten_tree(arg)[0]))]
    return names


__all__ = ["make_fx"]
