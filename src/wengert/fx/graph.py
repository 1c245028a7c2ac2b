"""Graph: a program as a list of nodes."""

from __future__ import annotations

import builtins
import copy
import keyword
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from wengert.fx.codegen import CodeGen, PythonCode
from wengert.fx.node import OPS, Argument, Node, Target, map_aggregate, map_arg

_RESERVED = frozenset({"inf", "nan", "NoneType", "torch", "wengert", "device", "pytree"})
_NUMBERED = re.compile(r"(.*)_(\d+)$")
_NOT_IN_NAMES = re.compile(r"[^0-9a-zA-Z_]+")


class Namespace:
    """Names that are taken; gives out others.

    >>> from wengert.fx.graph import Namespace
    >>> names = Namespace()
    >>> names.create_name("relu"), names.create_name("relu")
    ('relu', 'relu_1')
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._highest: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """A free name like `candidate`, as an identifier."""
        name = _NOT_IN_NAMES.sub("_", candidate) or "_unnamed"
        if name[0].isdigit():
            name = f"_{name}"
        numbered = _NUMBERED.match(name)
        base, number = (numbered[1], int(numbered[2])) if numbered else (name, None)
        if number is None and self._highest.get(base):
            number = self._highest[base]
        while name in self._taken or _reserved(name):
            number = 1 if number is None else number + 1
            name = f"{base}_{number}"
        self._taken.add(name)
        if number is not None:
            self._highest[base] = max(number, self._highest.get(base, 0))
        return name


def _reserved(name: str) -> bool:
    return keyword.iskeyword(name) or hasattr(builtins, name) or name in _RESERVED


class NodeList:
    """The nodes of a graph in their order; also ``reversed``.

    >>> import wengert
    >>> graph = wengert.fx.Graph()
    >>> _ = graph.output(graph.placeholder("x"))
    >>> [node.name for node in reversed(graph.nodes)]
    ['output', 'x']
    """

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self.graph, self.backwards = graph, backwards

    def __len__(self) -> int:
        return self.graph._length

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = root.prev if self.backwards else root.next
        while node is not root:
            following = node.prev if self.backwards else node.next
            if not node.erased:
                yield node
                # What was put behind the node while it was looked at belongs to the list, too;
                # an erased node has lost its neighbours.
                if not node.erased:
                    following = node.prev if self.backwards else node.next
            node = following

    def __reversed__(self) -> NodeList:
        return NodeList(self.graph, not self.backwards)


class InsertPoint:
    """Where new nodes of a graph go, until the context ends.

    >>> import wengert
    >>> graph = wengert.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> with graph.inserting_before(x):
    ...     _ = graph.placeholder("first")
    >>> [node.name for node in graph.nodes]
    ['first', 'x']
    """

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        self.graph._insert = self.before


class Graph:
    """A program: inputs, calls and an output, in the order in which they run.

    >>> import wengert
    >>> graph = wengert.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(wengert.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=wengert.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: Any = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._length = 0
        self._insert: Callable[[Node], None] = self._root.prepend
        self._namespace = Namespace()
        self._codegen = CodeGen()
        self._owner: weakref.ref[Any] | None = None
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras

    @property
    def owning_module(self) -> Any:
        """The module whose forward the program is, or None."""
        return None if self._owner is None else self._owner()

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        # Weak: the module holds its graph.
        self._owner = None if module is None else weakref.ref(module)

    @property
    def nodes(self) -> NodeList:
        """The nodes, in their order."""
        return NodeList(self)

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes with this `op` and, unless it is None, this `target`."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self) -> Node:
        """The node of the output; RuntimeError without one."""
        for node in reversed(self.nodes):
            if node.op == "output":
                return node
        raise RuntimeError("the graph has no output node: call graph.output(result)")

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node at the place where nodes are inserted: behind all others, unless said otherwise.

        Args:
            op: "placeholder", "get_attr", "call_function", "call_module", "call_method", "output".
            target: the function, or the name of the input, attribute, module or method.
            name: what its result is to be called; a number is appended if the name is taken.
            type_expr: the type of its result, for the annotations of the code.

        Raises:
            AssertionError: if `op` is none of these.
        """
        if op not in OPS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        args, kwargs = args or (), kwargs or {}
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError("args must be a tuple, and kwargs must be a dict")
        candidate = name if name is not None else _name_of_target(target)
        node = Node(
            self, self._namespace.create_name(candidate), op, target, args, kwargs, type_expr
        )
        self._insert(node)
        self._length += 1
        return node

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node whose result nothing reads; RuntimeError if something does."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in"
                f" the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase.erased:
            return
        to_erase._unlink()
        to_erase._set_arguments((), {})
        to_erase.erased = True
        self._length -= 1

    def inserting_before(self, n: Node | None = None) -> InsertPoint:
        """New nodes go in front of `n` (without it, of all): from here on, or in a ``with``."""
        self._check_own(n)
        return InsertPoint(self, (n or self._root.next).prepend)

    def inserting_after(self, n: Node | None = None) -> InsertPoint:
        """New nodes go behind `n`, in their order: from here on, or in a ``with``."""
        self._check_own(n)
        if n is None:
            return InsertPoint(self, self._root.next.prepend)
        last = n

        def insert(node: Node) -> None:
            nonlocal last
            last.append(node)
            last = node

        return InsertPoint(self, insert)

    def _check_own(self, n: Node | None) -> None:
        if n is not None and n.graph is not self:
            raise AssertionError("Node to insert at is not in graph.")

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input of the program; ``*name`` and ``**name`` take the rest of the arguments."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module, by its dotted path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a submodule, by its dotted path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """What the program returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda n: n
    ) -> Node:
        """A copy of a node, perhaps of another graph, reading ``arg_transform(n)`` for each `n`."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        made = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Copy all nodes of `g` but its output into this graph; returns what `g` returns, here.

        Args:
            val_map: nodes of `g` and what stands for them here; the copies are added to it.
            return_output_node: returns the output node of `g` beside it.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = {} if memo is None else memo
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        made._codegen = copy.deepcopy(self._codegen)
        copies: dict[Node, Node] = {}
        for node in self.nodes:
            twin = made.node_copy(node, lambda n: copies[n])
            # Constants among the arguments are copied as whoever asked for the copy says.
            twin.args, twin.kwargs = map_aggregate(
                (twin.args, dict(twin.kwargs)),
                lambda a: a if isinstance(a, Node) else copy.deepcopy(a, memo),
            )
            copies[node] = twin
        return made

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase the nodes whose results nothing reads; whether there were any.

        Inputs, the output, in-place methods, random draws and what `has_side_effect` names stay.

        >>> import wengert
        >>> graph = wengert.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> unused, _ = graph.call_function(wengert.relu, (x,)), graph.output(x)
        >>> graph.eliminate_dead_code()
        True
        """
        impure = Node.is_impure if is_impure_node is None else is_impure_node
        before = len(self.nodes)
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return len(self.nodes) < before

    def lint(self) -> None:
        """Raise RuntimeError if a node reads a later one, or a path leads nowhere."""
        earlier: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            for read in node.all_input_nodes:
                if read.graph is not self:
                    raise RuntimeError(
                        f"Argument '{read}' of Node '{node}' does not belong to this Graph, but was"
                        " used as an argument! If you are copying nodes from another graph, make"
                        " sure to use ``arg_transform`` on node_copy() to remap values"
                    )
                if read not in earlier:
                    raise RuntimeError(
                        f"Argument '{read}' of Node '{node}' was used before it has been defined!"
                        f" Please check that Nodes in the graph are topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            earlier.add(node)
            names.add(node.name)
            self._lint_path(node)

    def _lint_path(self, node: Node) -> None:
        owner = self.owning_module
        if owner is None or node.op not in ("get_attr", "call_module"):
            return
        for name in str(node.target).split("."):
            if not hasattr(owner, name):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {name} of"
                    f" {type(owner).__name__}"
                )
            owner = getattr(owner, name)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let `codegen` write the program."""
        self._codegen = codegen

    def python_code(self, root_module: str, *, verbose: bool = False) -> PythonCode:
        """The program in Python, with the module called `root_module`."""
        return self._codegen.generate(self, root_module, verbose)

    def process_inputs(self, *args: Any) -> Any:
        """Arguments of the program as its placeholders take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of the program as its caller wants it."""
        return self._codegen.process_outputs(out)

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Let a function change the lines of the body: it gets the earlier one, or None."""
        return self._codegen.with_transformer(make_transformer)

    def print_tabular(self) -> None:
        """Print the nodes as a table; it is the package `tabulate` that draws it."""
        try:
            from tabulate import tabulate  # type: ignore[import-untyped]
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on"
                " this machine. Run `pip install tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def __str__(self) -> str:
        inputs: list[str] = []
        returned = [""]
        lines = [node.format_node(None, returned) for node in self.nodes]
        return "\n    ".join([f"graph({', '.join(inputs)}){returned[0]}:", *filter(None, lines)])


def _name_of_target(target: Target) -> str:
    """A name for the result: snake_case, of the function's or the path's name."""
    text = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
    text = text.strip("_") if not isinstance(target, str) and text.startswith("__") else text
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", text.replace(".", "_")).lower()
