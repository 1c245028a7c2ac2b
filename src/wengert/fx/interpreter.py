"""Running a graph node by node, and rewriting it while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.fx._symbolic_trace import Tracer
from wengert.fx._traceback import preserve_node_meta, set_current_meta
from wengert.fx.codegen import last_uses
from wengert.fx.graph import Graph
from wengert.fx.graph_module import GraphModule
from wengert.fx.node import Argument, Node, Target, map_aggregate, map_arg
from wengert.fx.proxy import Proxy
from wengert.nn import Module


class Interpreter:
    """Runs the program of a module one node at a time; subclasses say what a node does.

    Args:
        module: whose graph is run, and whose attributes it reads.
        garbage_collect_values: lets go of each value after its last use.
        graph: another program, over the same attributes.

    >>> import wengert
    >>> class Names(wengert.fx.Interpreter):
    ...     def run_node(self, n):
    ...         print(n.name)
    ...         return super().run_node(n)
    >>> Names(wengert.fx.symbolic_trace(lambda x: x + 1)).run(wengert.ones(1))
    x
    add
    output
    tensor([2.])
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else module.graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """The program's result for these inputs.

        Args:
            initial_env: values of nodes that are not to run.
            enable_io_processing: passes inputs and output through the graph's code generator.
        """
        self.env = dict(initial_env) if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        done = last_uses(self.graph) if self.garbage_collect_values else {}
        try:
            for node in self.graph.nodes:
                if node not in self.env:
                    self.env[node] = self._run_named(node)
                for value in done.get(node, ()):
                    del self.env[value]
                if node.op == "output":
                    result = self.env[node]
                    return self.graph.process_outputs(result) if enable_io_processing else result
        finally:
            self.args_iter = iter(())
        return None

    def _run_named(self, node: Node) -> Any:
        try:
            with set_current_meta(node):
                return self.run_node(node)
        except Exception as error:
            if self.extra_traceback:
                error.add_note(f"While executing {node.format_node()}")
                if node.stack_trace:
                    error.add_note(f"Original traceback:\n{node.stack_trace}")
            raise

    def boxed_run(self, args_list: list[Any]) -> Any:
        """As `run`, emptying the list of inputs, so that their memory can go early."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """The result of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An input: the next one that was given, or its default."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function."""
        assert not isinstance(target, str)
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a method of the first argument."""
        owner, *others = args
        return getattr(owner, str(target))(*others, **kwargs)

    def call_module(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a submodule."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """What stands at a path of the module; RuntimeError if there is nothing."""
        value: Any = self.module
        names = target.split(".")
        for i, name in enumerate(names):
            if not hasattr(value, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(names[: i + 1])}")
            value = getattr(value, name)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with values for nodes."""
        args, kwargs = self.map_nodes_to_values((n.args, n.kwargs), n)
        return args, kwargs

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """Nested arguments of the node `n`, with values for nodes."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose"
                    " such issues"
                )
            return self.env[node]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Runs a program on proxies, which records another: `transform` gives its module.

    >>> import operator, wengert
    >>> class Doubled(wengert.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(target, args, kwargs) * 2
    >>> traced = wengert.fx.symbolic_trace(lambda x: x + 1)
    >>> print(Doubled(traced).transform().code.strip())
    def forward(self, x):
        add = x + 1;  x = None
        mul = add * 2;  add = None
        return mul
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _Follower(module, self.new_graph)

    def placeholder(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """An input of the new program."""
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(str(target), default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """An attribute that the new program reads."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a submodule in the new program."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function in the new program."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new program, whose nodes know the lines of code of the old ones."""
        with preserve_node_meta():
            result = self.run(enable_io_processing=False)
        if result is not None:
            nodes = map_aggregate(result, lambda x: x.node if isinstance(x, Proxy) else x)
            self.new_graph.output(nodes)
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)


class _Follower(Tracer):
    """The tracer of a Transformer's proxies."""

    def __init__(self, module: GraphModule, graph: Graph) -> None:
        super().__init__()
        self.graph, self.root = graph, module
        self.tensor_attrs = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True
