"""Node: one step of a recorded program."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

import wengert
from wengert.core.dtypes import dtype
from wengert.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from wengert.fx.graph import Graph

Argument = Any  # a node, a constant, or tuples, lists, dictionaries and slices of them
Target = Callable[..., Any] | str
OPS = frozenset(
    {"placeholder", "get_attr", "call_function", "call_module", "call_method", "output"}
)

_impure: set[Callable[..., Any]] = set()


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of `fn` in the graph although nothing uses their result; returns `fn`.

    >>> import wengert
    >>> wengert.fx.has_side_effect(print) is print
    True
    """
    _impure.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Any], Any]) -> Any:
    """`fn` of everything in nested tuples, lists, dictionaries and slices, in their structure.

    Lists and dictionaries become immutable ones.

    >>> from wengert.fx.node import map_aggregate
    >>> map_aggregate((1, [2, {"a": 3}]), lambda x: x * 10)
    (10, [20, {'a': 30}])
    """
    if isinstance(a, tuple):
        items = [map_aggregate(x, fn) for x in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(*[map_aggregate(x, fn) for x in (a.start, a.stop, a.step)])
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Any]) -> Any:
    """`fn` of each node among nested arguments; everything else stays.

    >>> import wengert
    >>> graph = wengert.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> wengert.fx.map_arg((x, 2), lambda node: node.name)
    ('x', 2)
    """
    if not callable(fn):
        raise AssertionError("wengert.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def library_name() -> str:
    """What a program here calls the library: torch, where that is what it imports.

    >>> from wengert.fx.node import library_name
    >>> library_name()
    'wengert'
    """
    alias = sys.modules.get("torch")
    return "torch" if getattr(alias, "Tensor", None) is wengert.Tensor else "wengert"


def qualified_name(function: Callable[..., Any]) -> str:
    """The dotted name under which a program can reach a function.

    >>> import wengert
    >>> from wengert.fx.node import qualified_name
    >>> qualified_name(wengert.relu)
    'wengert.relu'
    """
    name = getattr(function, "__name__", None) or type(function).__name__
    if getattr(builtins, name, None) is function:
        return f"builtins.{name}"
    if getattr(operator, name, None) is function:
        return f"operator.{name}"
    library = library_name()
    public = {
        library: wengert,
        f"{library}.nn.functional": wengert.nn.functional,
        f"{library}.Tensor": wengert.Tensor,
        **{f"{library}.{field}": getattr(wengert, field) for field in ("linalg", "fft", "special")},
    }
    for path, place in public.items():
        if getattr(place, name, None) is function:
            return f"{path}.{name}"
    module = getattr(function, "__module__", None) or "builtins"
    return f"{module}.{getattr(function, '__qualname__', name)}".replace("_operator.", "operator.")


class Node:
    """One step of a `Graph`: an input, an attribute, a call, or the output.

    Made by the graph's methods, not directly. `args` and `kwargs` hold other nodes where the
    step reads their results; assigning to them keeps `users` of those nodes right.

    >>> import wengert
    >>> graph = wengert.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(wengert.relu, (x,))
    >>> x.users
    {relu: None}
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type"
                    f" {type(target)} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type"
                f" {type(target)} but a str is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self.next: Node = self
        self.prev: Node = self
        self.erased = False
        self._input_nodes: dict[Node, None] = {}
        self._set_arguments(args, kwargs)

    def _set_arguments(self, args: Any, kwargs: Any) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args, self._kwargs = map_arg((tuple(args), dict(kwargs)), use)

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._set_arguments(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._set_arguments(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose results this one reads, each once."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """The lines of code that made the node, where the tracer recorded them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def prepend(self, x: Node) -> None:
        """Move `x`, a node of the same graph, in front of this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self.prev
        before.next, x.prev, x.next, self.prev = x, before, self, x

    def append(self, x: Node) -> None:
        """Move `x`, a node of the same graph, behind this one."""
        self.next.prepend(x)

    def _unlink(self) -> None:
        self.prev.next, self.next.prev = self.next, self.prev

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace the positional argument at `idx`."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put a positional argument in front of the one at `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(
                f"insert_args index must be between 0 and len(self.args): got {idx} of"
                f" {len(self.args)}"
            )
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set the keyword argument `key`."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let everything that reads this node read `replace_with`; returns those nodes.

        Args:
            delete_user_cb: asked for each user whether it is to change.
            propagate_meta: copies `meta`, which `replace_with` must not have of its own.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but"
                    " replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Read `new_input` wherever this node reads `old_input`."""
        args, kwargs = map_arg(
            (self.args, self.kwargs), lambda node: new_input if node is old_input else node
        )
        self._set_arguments(args, kwargs)

    @property
    def asserts(self) -> bool:
        """Whether it raises where a condition does not hold, and gives nothing."""
        name = getattr(self.target, "__name__", "")
        return self.op == "call_function" and name in ("_assert", "_assert_async")

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node may do more than compute its result: it stays without users, too."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            draws = impure_random and name in _RANDOM
            return self.target in _impure or self.asserts or draws
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                return True
            module = owner.get_submodule(str(self.target))
            return bool(getattr(module, "_is_impure", False))
        return self.op == "call_method" and str(self.target).endswith("_")

    def _rename(self, candidate: str) -> None:
        """Take that name, or one that begins with it if another node has it."""
        if candidate != self.name:
            self.name = self.graph._namespace.create_name(candidate)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node as a line of ``print(graph)``.

        Args:
            placeholder_names: for inputs, appended to instead of returning a line.
            maybe_return_typename: for the output, its first element is set to the type.
            include_tensor_metadata: names the dtype and shape of the result where they are known.
        """
        note = f"{type_name(self.type)} " if self.type else ""
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(str(self.target) + (f": {note.strip()}" if note else ""))
            default = f"(default={self.args[0]})" if self.args else ""
            return (
                f"%{self.name} : {note}{self._uses()} = placeholder[target={self.target}]{default}"
            )
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_name(self.type)}"
            return f"return {self.args[0]}"
        value = self.meta.get("tensor_meta") if include_tensor_metadata else None
        if value is not None:
            note += f"{value.dtype}[{', '.join(map(str, value.shape))}] "
        head = f"%{self.name} : {note}{self._uses()} = {self.op}[target={self.pretty_target()}]"
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_arguments(self.args)}, kwargs = {_arguments(self.kwargs)})"

    def _uses(self) -> str:
        return f"[num_users={len(self.users)}]"

    def pretty_target(self) -> str:
        """The target: a dotted name."""
        return self.target if isinstance(self.target, str) else qualified_name(self.target)

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: Node) -> bool:
        """Whether this node stands in front of the other in their graph."""
        return any(node is other for node in _behind(self))

    def __gt__(self, other: Node) -> bool:
        return other < self


def _behind(node: Node) -> Iterator[Node]:
    while (node := node.next).op != "root":
        yield node


_RANDOM = frozenset({
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal",
    "bernoulli", "multinomial", "poisson", "dropout",
})  # fmt: skip


def _arguments(arguments: Any) -> str:
    """Arguments as a graph prints them: nodes with a %, text without quotes."""
    if isinstance(arguments, tuple):
        items = ", ".join(_arguments(x) for x in arguments)
        return f"({items},)" if len(arguments) == 1 else f"({items})"
    if isinstance(arguments, list):
        return f"[{', '.join(_arguments(x) for x in arguments)}]"
    if isinstance(arguments, dict):
        return "{" + ", ".join(f"{k}: {_arguments(v)}" for k, v in arguments.items()) + "}"
    if isinstance(arguments, slice):
        parts = ", ".join(_arguments(x) for x in (arguments.start, arguments.stop, arguments.step))
        return f"slice({parts})"
    return f"%{arguments}" if isinstance(arguments, Node) else str(arguments)


def type_name(annotation: Any) -> str:
    """A type as an annotation names it.

    >>> import wengert
    >>> from wengert.fx.node import type_name
    >>> type_name(wengert.Tensor), type_name(list[int])
    ('wengert.Tensor', 'list[int]')
    """
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, dtype):
        return str(annotation)
    origin = getattr(annotation, "__origin__", None)
    if origin is not None:
        inner: Iterable[Any] = getattr(annotation, "__args__", ())
        name = getattr(annotation, "_name", None) or getattr(origin, "__name__", str(origin))
        return f"{name}[{', '.join(type_name(x) for x in inner)}]"
    if isinstance(annotation, type | FunctionType | BuiltinFunctionType):
        if annotation.__module__ == "builtins":
            return annotation.__qualname__
        name = annotation.__qualname__
        if getattr(wengert, name, None) is annotation:
            return f"{library_name()}.{name}"
        return f"{annotation.__module__}.{name}"
    return str(annotation)
