"""Proxy: what flows through a program while it is recorded."""

from __future__ import annotations

import dis
import inspect
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from types import EllipsisType
from typing import Any

import numpy as np

import wengert
from wengert import overrides as overrides  # programs are recorded through __torch_function__
from wengert.core.device import device
from wengert.core.dtypes import dtype
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.fx._traceback import taken_over
from wengert.fx.graph import Graph
from wengert.fx.node import Argument, Node, Target, map_aggregate

_CONSTANTS = (
    str | int | float | complex | None | EllipsisType | dtype | device | Tensor | range | Size
    | wengert.layout | wengert.memory_format | np.dtype | np.generic
)  # fmt: skip


class TraceError(ValueError):
    """A program asked a recorded value for what only a run can tell.

    >>> import wengert
    >>> wengert.fx.symbolic_trace(lambda x: -x if x.sum() < 0 else x)
    Traceback (most recent call last):
        ...
    wengert.fx.proxy.TraceError: symbolically traced variables cannot be used as inputs to...
    """


class TracerBase:
    """Makes nodes of a graph, and the proxies that stand for their results.

    >>> import wengert
    >>> tracer = wengert.fx.proxy.TracerBase()
    >>> tracer.graph = wengert.fx.Graph()
    >>> tracer.create_proxy("placeholder", "x", (), {})
    Proxy(x)
    """

    graph: Graph
    record_stack_traces = False
    traced_func_name = "forward"

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node at the end of the graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        node.meta.update(taken_over())
        return node

    def proxy(self, node: Node) -> Proxy:
        """What stands for the result of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:
        """A node of arguments that may hold proxies, and the proxy for its result."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args_, kwargs_, name, type_expr)
        if self.record_stack_traces:
            frames = traceback.extract_stack(sys._getframe(1))
            own = __name__.rpartition(".")[0].replace(".", "/")
            users = [f for f in frames if own not in f.filename.replace("\\", "/")]
            node.stack_trace = "".join(traceback.format_list(users))
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """What a node keeps of an argument: proxies become their nodes.

        Raises:
            NotImplementedError: for what no program text can spell.
        """
        if isinstance(a, dict):
            for key in a:
                if isinstance(key, Proxy):
                    raise RuntimeError(
                        "Keys for dictionaries used as an argument cannot contain a Node. Got key:"
                        f" {key}"
                    )
        return map_aggregate(a, self._create_leaf)

    def _create_leaf(self, a: Any) -> Argument:
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, _CONSTANTS | Node | type) or hasattr(a, "__qualname__"):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """Whether a recorded value is true: which nobody knows. Subclasses may decide."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The elements of a recorded value, if it is unpacked into a known number of names."""
        count = _unpacked(sys._getframe(2))
        if count is None:
            raise TraceError(
                "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a"
                " loop or as a *args or **kwargs function argument: how many elements there are"
                " is known when the program runs"
            )
        item = operator.getitem
        return iter([self.create_proxy("call_function", item, (obj, i), {}) for i in range(count)])

    def keys(self, obj: Proxy) -> Any:
        """The keys of a recorded value, for ``**``."""
        return Attribute(obj, "keys")()


def _unpacked(frame: Any) -> int | None:
    """How many names the instruction that a frame is at unpacks to."""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti:
            return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


class Proxy:
    """Stands for a value while a program is recorded: what is done with it becomes nodes.

    >>> import wengert
    >>> graph = wengert.fx.Graph()
    >>> x = wengert.fx.Proxy(graph.placeholder("x"))
    >>> wengert.relu(x + 1)
    Proxy(relu)
    """

    node: Node
    tracer: TracerBase

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        if tracer is None:
            tracer = GraphAppendingTracer(node.graph)
        self.node, self.tracer = node, tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Any:
        if name in ("node", "tracer"):  # while it is unpickled or copied, it has neither
            raise AttributeError(name)
        return Attribute(self, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        return Proxy(self.node, self.tracer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be"
            " recorded, please call wengert.fx.wrap('len') at module scope"
        )

    def __index__(self) -> int:
        raise TypeError("'Proxy' object cannot be interpreted as an integer")

    def keys(self) -> Any:
        """The keys of a dictionary."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None
    ) -> Any:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def look(value: Any) -> Any:
            if isinstance(value, Proxy):
                tracers[value.tracer] = None
            return value

        map_aggregate((tuple(args), dict(kwargs)), look)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations"
                f" {orig_method}"
            )
        (tracer,) = tracers
        if _is_method(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


def _is_method(function: Any) -> bool:
    """Whether a function is a method of Tensor, and none of the library's functions."""
    name = getattr(function, "__name__", "")
    if inspect.ismethoddescriptor(function) and not inspect.isfunction(function):
        return True
    return getattr(Tensor, name, None) is function and not any(
        getattr(place, name, None) is function for place in (wengert, wengert.nn.functional)
    )


class ParameterProxy(Proxy):
    """Stands for a parameter whose shape is read now, and not by the program.

    >>> import wengert
    >>> from wengert.fx.proxy import GraphAppendingTracer, ParameterProxy
    >>> graph = wengert.fx.Graph()
    >>> weight = wengert.nn.Parameter(wengert.ones(2, 3))
    >>> tracer = GraphAppendingTracer(graph)
    >>> proxy = ParameterProxy(tracer, graph.get_attr("weight"), "weight", weight)
    >>> proxy.shape, (proxy * 2).node.name
    (torch.Size([2, 3]), 'mul')
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.name, self.param = name, param

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return self.param.ndim

    def size(self, dim: int | None = None) -> Any:
        """Its shape, or the size of one dimension."""
        return self.param.size() if dim is None else self.param.size(dim)

    def dim(self) -> int:
        """The number of its dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The number of its elements."""
        return self.param.numel()

    nelement = numel


class Attribute(Proxy):
    """An attribute of a recorded value: a call of it is a method's, anything else reads it.

    >>> import wengert
    >>> graph = wengert.fx.Graph()
    >>> x = wengert.fx.Proxy(graph.placeholder("x"))
    >>> x.relu().node.op, x.shape.node.op
    ('call_method', 'call_function')
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute: made when something asks for it."""
        if self._node is None:
            read = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = read.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class GraphAppendingTracer(TracerBase):
    """The tracer of proxies that were made by hand: it appends to the graph of their node.

    >>> import wengert
    >>> graph = wengert.fx.Graph()
    >>> x = wengert.fx.Proxy(graph.placeholder("x"))
    >>> x.tracer.graph is graph
    True
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


def _records(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Proxy, *args: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (self, *args), {})

    return method


def _records_reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    return method


_REFLECTED = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift",
    "and", "or", "xor",
)  # fmt: skip

for _name in (*_REFLECTED, "eq", "ne", "lt", "le", "gt", "ge", "getitem", "neg", "pos", "invert"):
    _function = getattr(operator, f"__{_name}__")
    setattr(Proxy, f"__{_name}__", _records(_function))
    if _name in _REFLECTED:
        setattr(Proxy, f"__r{_name}__", _records_reflected(_function))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
