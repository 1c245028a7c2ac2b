"""ExportedProgram: a module's computation, apart from the module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

from wengert.autograd.transforms.tree import Spec, flatten_tree, unflatten_tree
from wengert.core.tensor import Tensor
from wengert.export.dims import Dim
from wengert.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from wengert.export.tracing import TracedModule, holds_registered, trace_module
from wengert.fx import Graph, GraphModule, Node
from wengert.fx.experimental.sizes import Symbol
from wengert.nn import Module, Parameter


class CallSpec(NamedTuple):
    """The structure of the arguments, ``(args, kwargs)``, and that of the result."""

    in_spec: Spec
    out_spec: Spec


class ExportedProgram:
    """What `export` returns: a graph that takes parameters and buffers as inputs, and these.

    Attributes:
        graph_module: runs the graph.
        graph_signature: what its inputs and outputs are.
        state_dict: the parameters and persistent buffers by path.
        constants: the other tensors that it takes, by name.
        example_inputs: the ``(args, kwargs)`` that it was recorded with.
        range_constraints: the dynamic dimensions by name.

    >>> import wengert
    >>> program = wengert.export.export(wengert.nn.Linear(2, 1), (wengert.ones(3, 2),))
    >>> program.graph_signature.user_inputs
    ('input',)
    >>> program.module()(wengert.ones(3, 2)).shape
    torch.Size([3, 1])
    """

    def __init__(
        self, graph: Graph, signature: ExportGraphSignature, state_dict: dict[str, Any],
        constants: dict[str, Tensor], example_inputs: Any, in_spec: Spec, out_spec: Spec,
        symbols: list[Symbol],
    ) -> None:  # fmt: skip
        self.graph_module = GraphModule({}, graph)
        self.graph_signature, self.constants = signature, constants
        self.state_dict, self.example_inputs = state_dict, example_inputs
        self.in_spec, self.out_spec = in_spec, out_spec
        self.symbols = symbols

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.graph_module.graph

    @property
    def range_constraints(self) -> dict[str, Dim]:
        """The dynamic dimensions by name."""
        return {s.name: Dim(s.name, min=s.least, max=s.most) for s in self.symbols}

    @property
    def call_spec(self) -> CallSpec:
        """The structure of the arguments and of the result."""
        return CallSpec(self.in_spec, self.out_spec)

    @property
    def tensor_constants(self) -> dict[str, Tensor]:
        """`constants`."""
        return self.constants

    def validate(self) -> None:
        """RuntimeError if the graph is not well formed."""
        self.graph.lint()

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters by path; one with two paths twice."""
        for path, tensor in self.state_dict.items():
            if isinstance(tensor, Parameter):
                yield path, tensor

    def parameters(self) -> Iterator[Parameter]:
        """The parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers by path."""
        for path, tensor in self.state_dict.items():
            if not isinstance(tensor, Parameter):
                yield path, tensor
        for path in self.graph_signature.non_persistent_buffers:
            yield path, self.constants[path]

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        for _, buffer in self.named_buffers():
            yield buffer

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()`"
            " instead."
        )

    def module(self, check_guards: bool = True) -> GraphModule:
        """A module that takes the arguments of the one that was exported, with its parameters.

        Without `check_guards` it does not look at the sizes of its inputs.
        """
        graph = Graph()
        values: dict[Node, Node] = {}
        root: dict[str, Any] = {}
        specs = {s.arg.name: s for s in self.graph_signature.input_specs}
        for node in self.graph.nodes:
            target = specs[node.name].target if node.op == "placeholder" else None
            if target is None:
                values[node] = graph.node_copy(node, lambda n: values[n])
                if node.op == "placeholder":
                    values[node].name = node.name
            else:
                values[node] = graph.get_attr(target)
                root[target] = self._tensor(target)
        return ProgramModule(self, root, graph, check_guards)

    def _tensor(self, path: str) -> Any:
        return self.state_dict[path] if path in self.state_dict else self.constants[path]

    def run_decompositions(
        self, decomp_table: dict[Any, Callable[..., Any]] | None = None, **options: Any
    ) -> ExportedProgram:
        """The program itself: its operations are the library's own, which have no parts.

        NotImplementedError for a table that is not empty.
        """
        if decomp_table:
            raise NotImplementedError("run_decompositions: decomp_table is not supported")
        return self

    def __str__(self) -> str:
        text = self.graph_module.print_readable(print_output=False)
        body = "\n".join(f"    {line}" for line in text.splitlines())
        ranges = {s.name: [s.least, s.most] for s in self.symbols}
        signature = f"Graph signature: {self.graph_signature}"
        return f"ExportedProgram:\n{body}\n{signature}\nRange constraints: {ranges}\n"


class ProgramModule(GraphModule):
    """A module around a graph, with the arguments of the module that was exported.

    Attributes:
        refusal: the class of the error for inputs that the program was not recorded for.
        fixed: whether its mode cannot be changed.
    """

    refusal: type[Exception] = AssertionError
    fixed = True

    def __init__(
        self, program: ExportedProgram, root: dict[str, Any], graph: Graph, checked: bool
    ) -> None:
        super().__init__(root, graph)
        for path, tensor in program.state_dict.items():  # those that nothing reads, too
            self._take({path: tensor}, path)
        for path in program.graph_signature.non_persistent_buffers:
            owner, _, name = path.rpartition(".")
            self.get_submodule(owner)._non_persistent_buffers_set.add(name)
        self.in_spec, self.out_spec, self.symbols = (
            program.in_spec,
            program.out_spec,
            program.symbols,
        )
        self.inputs = [n for n in graph.nodes if n.op == "placeholder"]
        self.checked, self.rebuilds = checked, holds_registered(self.out_spec)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten_tree((args, kwargs))
        if spec != self.in_spec:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: {self.in_spec}, but"
                f" actually got inputs with tree spec of: {spec}"
            )
        if self.checked:
            self._check(leaves)
        result = super().__call__(*leaves)
        if self.rebuilds:
            return unflatten_tree(flatten_tree(result)[0], self.out_spec)
        return result

    def train(self, mode: bool = True) -> Self:
        """NotImplementedError: the program is that of the mode in which it was exported."""
        if self.fixed:
            name = "train" if mode else "eval"
            raise NotImplementedError(f"Calling {name}() is not supported yet.")
        return super().train(mode)

    def _check(self, leaves: list[Any]) -> None:
        """Raise for an input that the program was not recorded for."""
        sizes: dict[str, int] = {}
        for node, leaf in zip(self.inputs, leaves, strict=True):
            info = node.meta.get("val")
            if info is None or not isinstance(leaf, Tensor):
                if leaf != node.meta.get("constant"):
                    raise self.refusal(
                        f"Guard failed: {node.name} == {node.meta.get('constant')!r}, got {leaf!r}"
                    )
                continue
            if leaf.dtype != info.dtype or leaf.ndim != info.ndim:
                raise self.refusal(
                    f"Guard failed: {node.name} has {info.ndim} dimensions of {info.dtype}, got"
                    f" {leaf.ndim} of {leaf.dtype}"
                )
            for d, expected in enumerate(node.meta.get("dims", info.shape)):
                if isinstance(expected, str):
                    expected = sizes.setdefault(expected, leaf.shape[d])
                if leaf.shape[d] != expected:
                    raise self.refusal(
                        f"Guard failed: {node.name}.size()[{d}] == {expected}, got {leaf.shape[d]}"
                    )
        for symbol in self.symbols:
            size = sizes[symbol.name]
            if size < symbol.least or (symbol.most is not None and size > symbol.most):
                raise self.refusal(
                    f"Guard failed: {symbol.name} is between {symbol.least} and {symbol.most},"
                    f" got {size}"
                )


def export(
    mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *,
    dynamic_shapes: Any = None, strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:  # fmt: skip
    """Record what a module computes, once, as a program of its own.

    The module runs with the example inputs, and every operation is written down; Python's control
    flow is what it was then. A size that is not dynamic is that of the example. With dynamic
    sizes the module runs several times.

    Args:
        mod: the module, in the mode (train or eval) that is to be recorded.
        args: example inputs.
        kwargs: example inputs by name.
        dynamic_shapes: by argument, which dimensions may change: ``{"x": {0: Dim("batch")}}``.
        strict: no difference here.

    Raises:
        RuntimeError: if the module reads the elements of a tensor, as an `if` does.
        SizeError: (a RuntimeError) if it is not clear how a number follows a dynamic size.

    >>> import wengert
    >>> batch = wengert.export.Dim("batch")
    >>> program = wengert.export.export(
    ...     wengert.nn.Flatten(), (wengert.ones(2, 3, 4),), dynamic_shapes={"input": {0: batch}}
    ... )
    >>> program.module()(wengert.ones(5, 3, 4)).shape
    torch.Size([5, 12])
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if preserve_module_call_signature:
        raise NotImplementedError("export: preserve_module_call_signature is not supported")
    return program_of(mod, trace_module(mod, args, kwargs, dynamic_shapes), (args, kwargs or {}))


def program_of(mod: Module, traced: TracedModule, example: Any) -> ExportedProgram:
    """The program of a recorded module."""
    state = dict(mod.named_parameters()) | dict(mod.named_buffers())
    saved = mod.state_dict(keep_vars=True)
    graph, inputs, constants = _lifted(traced, state, saved)
    leaves = flatten_tree(graph.output_node().args[0])[0]
    outputs = [OutputSpec(OutputKind.USER_OUTPUT, _argument(x), None) for x in leaves]
    signature = ExportGraphSignature(inputs, outputs)
    return ExportedProgram(
        graph, signature, dict(saved), constants, example, traced.in_spec, traced.out_spec,
        traced.symbols,
    )  # fmt: skip


def _argument(value: Any) -> TensorArgument | ConstantArgument:
    return TensorArgument(value.name) if isinstance(value, Node) else ConstantArgument("", value)


def _lifted(
    traced: TracedModule, state: dict[str, Any], saved: dict[str, Any]
) -> tuple[Graph, list[InputSpec], dict[str, Tensor]]:
    """The graph with inputs in the place of the attributes that it reads, in front of its own."""
    graph, old = Graph(), traced.recording.graph
    values: dict[Node, Node] = {}
    specs: list[InputSpec] = []
    constants: dict[str, Tensor] = {}
    read = {str(n.target): n for n in old.nodes if n.op == "get_attr"}
    for path in [*(p for p in state if p in read), *(p for p in read if p not in state)]:
        kind, prefix = _kind(path, state)
        node = graph.placeholder(prefix + path.replace(".", "_").lstrip("_"))
        node.meta.update(read[path].meta)
        persistent = path in saved if kind is InputKind.BUFFER else None
        specs.append(InputSpec(kind, TensorArgument(node.name), path, persistent))
        if path not in saved:
            constants[path] = state[path] if path in state else traced.recording.attributes[path]
        values[read[path]] = node
    leaves = iter(traced.leaves)
    for node in old.nodes:
        if node.op == "get_attr":
            continue
        values[node] = copy = graph.node_copy(node, lambda n: values[n])
        if "view_of" in copy.meta:
            copy.meta["view_of"] = values[copy.meta["view_of"]]
        if node.op == "placeholder":
            leaf = next(leaves)
            values[node].name = str(node.target)  # also where a builtin is called so
            specs.append(InputSpec(InputKind.USER_INPUT, _input(values[node], leaf), None))
    return graph, specs, constants


def _input(node: Node, leaf: Any) -> TensorArgument | ConstantArgument:
    if isinstance(leaf, Tensor):
        return TensorArgument(node.name)
    node.meta["constant"] = leaf
    return ConstantArgument(node.name, leaf)


def _kind(path: str, state: dict[str, Any]) -> tuple[InputKind, str]:
    if path not in state:
        return InputKind.CONSTANT_TENSOR, "c_"
    if isinstance(state[path], Parameter):
        return InputKind.PARAMETER, "p_"
    return InputKind.BUFFER, "b_"
