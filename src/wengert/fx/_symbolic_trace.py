"""Recording a module: symbolic_trace and Tracer."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import wengert
from wengert.core.conditions import _assert
from wengert.core.tensor import Tensor
from wengert.fx.graph import Graph
from wengert.fx.graph_module import GraphModule
from wengert.fx.node import Argument, Node, map_aggregate
from wengert.fx.proxy import ParameterProxy, Proxy, TracerBase
from wengert.nn import Module, ModuleList, Parameter, Sequential

# What `wrap` names: the globals of a module, and the name in them.
_wrapped: dict[tuple[int, str], tuple[dict[str, Any], str]] = {}

# The functions behind these names, which the programs of graphs call by others.
_wrapped_functions: dict[int, Callable[..., Any]] = {}

_tracing: ContextVar[Tracer | None] = ContextVar("tracing", default=None)


def is_fx_tracing() -> bool:
    """Whether a program is being recorded.

    >>> from wengert.fx._symbolic_trace import is_fx_tracing
    >>> is_fx_tracing()
    False
    """
    return _tracing.get() is not None


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Record calls of a function as they are, not what the function does.

    To be called at the top of a module: as a decorator, or with the name of a global there, or of
    a builtin.

    Raises:
        RuntimeError: if `fn_or_name` is neither a function nor a name.
        NotImplementedError: if it is not called at the top of a module.

    >>> import wengert
    >>> @wengert.fx.wrap
    ... def scaled(x, length):
    ...     return x * (2 if length > 1 else 1)
    >>> print(wengert.fx.symbolic_trace(lambda x: scaled(x, 3)).code.strip())
    def forward(self, x):
        scaled = __main___scaled(x, 3);  x = None
        return scaled
    """
    if not isinstance(fn_or_name, str) and not callable(fn_or_name):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(caller.f_globals), name] = (caller.f_globals, name)
    if callable(fn_or_name):
        _wrapped_functions[id(fn_or_name)] = fn_or_name
    return fn_or_name


class _Patches:
    """Attributes and globals that are others while a program is recorded."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> _Patches:
        return self

    def __exit__(self, *exception: object) -> None:
        for undo in reversed(self._undo):
            undo()

    def entry(self, table: dict[str, Any], name: str, value: Any) -> None:
        if name in table:
            self._undo.append(partial(table.__setitem__, name, table[name]))
        else:
            self._undo.append(partial(table.__delitem__, name))
        table[name] = value

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        own = vars(owner)
        undo = (
            partial(setattr, owner, name, own[name])
            if name in own
            else partial(delattr, owner, name)
        )
        self._undo.append(undo)
        setattr(owner, name, value)


def _recording(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is recorded as a call if a proxy is among its arguments."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = _first_proxy((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", function, args, kwargs)

    return call


def _first_proxy(arguments: Any) -> Proxy | None:
    proxies: list[Proxy] = []

    def look(value: Any) -> Any:
        if isinstance(value, Proxy):
            proxies.append(value)
        return value

    map_aggregate(arguments, look)
    return proxies[0] if proxies else None


class Tracer(TracerBase):
    """Records what a module or a function does as a `Graph`.

    Args:
        autowrap_modules: Python modules whose functions are recorded as calls.
        autowrap_functions: further functions that are.
        param_shapes_constant: whether shapes of parameters are read now, not by the program.

    >>> import wengert
    >>> graph = wengert.fx.Tracer().trace(wengert.nn.Sequential(wengert.nn.ReLU()))
    >>> [node.target for node in graph.nodes]
    ['input', '0', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_modules = autowrap_modules
        self._autowrap_functions = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self.param_shapes_constant = param_shapes_constant
        self.root: Any = None
        self.tensor_attrs: dict[int, str] = {}
        self._parameter_paths: dict[int, str] = {}
        self.module_stack: dict[str, tuple[str, Any]] = {}
        self.submodule_paths: dict[Module, str] | None = None

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of `m` is recorded as a call, and not followed.

        So are the modules of the library, except for `Sequential` and its like.
        """
        own = m.__module__.startswith(("wengert.nn", "torch.nn"))
        return own and not isinstance(m, Sequential | ModuleList)

    def path_of_module(self, mod: Module) -> str:
        """The dotted path of a submodule.

        Raises:
            NameError: if it is no submodule of what is recorded.
        """
        paths = self.submodule_paths or {}
        if mod in paths:
            return paths[mod]
        for name, module in self.root.named_modules(remove_duplicate=False):
            if module is mod:
                return str(name)
        raise NameError("module is not installed as a submodule")

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name beginning with `prefix` that the recorded module has no attribute of."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def _create_leaf(self, a: Any) -> Argument:
        if isinstance(a, Tensor):
            return self._attribute(a)
        return super()._create_leaf(a)

    def _attribute(self, tensor: Tensor) -> Node:
        path = self.tensor_attrs.get(id(tensor))
        if path is None and isinstance(tensor, Parameter):
            raise NameError("parameter is not a member of this module")
        if path is None:
            path = self.get_fresh_qualname("_tensor_constant")
            setattr(self.root, path, tensor)
            self.tensor_attrs[id(tensor)] = path
        return self.create_node("get_attr", path, (), {})

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        """A node at the end of the graph, with the modules that it was made in as metadata."""
        node = super().create_node(*args, **kwargs)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What a call of a submodule gives: a recorded call of a leaf, else what `forward` does."""
        path = self.path_of_module(m)
        self.module_stack[path] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.pop(path, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What reading the attribute `attr` of a module gives while a program is recorded.

        A parameter is read by the program: what is computed of it alone depends on it, too.
        """
        path = self._parameter_paths.get(id(attr_val))
        if path is None or not isinstance(attr_val, Parameter):
            return attr_val
        if path not in parameter_proxy_cache:
            options: dict[str, Any] = {}
            takes = inspect.signature(self.create_proxy).parameters  # subclasses have their own
            if self.param_shapes_constant and "proxy_factory_fn" in takes:
                make = partial(ParameterProxy, self, name=path, param=attr_val)
                options["proxy_factory_fn"] = make
            proxy = self.create_proxy("get_attr", path, (), {}, **options)
            parameter_proxy_cache[path] = proxy
        return parameter_proxy_cache[path]

    def trace(
        self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
    ) -> Graph:
        """Record a module's forward, or a function.

        Args:
            concrete_args: inputs that have these values and are none of the program's.
        """
        if isinstance(root, Module):
            self.root = root
            function = getattr(type(root), self.traced_func_name)
            self.submodule_paths = {
                module: name for name, module in root.named_modules(remove_duplicate=False)
            }
        else:
            self.root, function = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = dict(_tensors(self.root))
        self._parameter_paths = {id(p): path for path, p in self.root.named_parameters()}
        function, arguments = self.create_args_for_root(
            function, isinstance(root, Module), concrete_args
        )
        returned = getattr(function, "__annotations__", {}).get("return")
        if isinstance(returned, str):
            returned = None
        token = _tracing.set(self)
        try:
            with _Patches() as patches:
                self._patch(patches, function)
                result = function(*arguments)
            self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=returned)
        finally:
            _tracing.reset(token)
            self.submodule_paths = None
        return self.graph

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """A function that takes all arguments by position, and a placeholder for each of them."""
        function = inspect.unwrap(root_fn)
        if inspect.ismethod(function):
            function = partial(function.__func__, function.__self__)
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        flat = _by_position(function)
        arguments: list[Any] = []
        if is_module:
            if not parameters or parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            arguments.append(self.root)
            parameters = parameters[1:]
        parameters.sort(key=_place)
        concrete = dict(concrete_args or {})
        arguments += [self._input(parameter, concrete) for parameter in parameters]
        if concrete:
            raise TypeError(f"concrete_args names inputs that do not exist: {sorted(concrete)}")
        return flat, arguments

    def _input(self, parameter: inspect.Parameter, concrete: dict[str, Any]) -> Any:
        """The placeholder for one input, or the value that it is known to have."""
        name = parameter.name
        note = parameter.annotation
        if note is parameter.empty or isinstance(note, str):  # nobody here knows its names
            note = None
        default = () if parameter.default is parameter.empty else (parameter.default,)
        if name in concrete:
            return self._known_input(name, concrete.pop(name), note, default)
        stars: dict[Any, str] = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        star = stars.get(parameter.kind, "")
        own_name = name if not star else f"_{name}"
        return self.create_proxy("placeholder", star + name, default, {}, own_name, note)

    def _known_input(self, name: str, value: Any, note: Any, default: tuple[Any, ...]) -> Any:
        """An input with a value of its own: the program checks that it is given that."""
        own = f"{name}_1"
        proxy = self.create_proxy("placeholder", own, default, {}, own, note)
        if value is PH:
            return proxy
        if not isinstance(value, str | int | float | complex | None):
            raise NotImplementedError(
                f"concrete_args[{name!r}]: expected None, a number or a string, got"
                f" {type(value).__name__}"
            )
        condition = _recording(operator.is_)(proxy, None) if value is None else proxy == value
        message = f"{name} has been specialized to have value {value} but got another value"
        self.create_proxy("call_function", _assert, (condition, message), {})
        return value

    def _patch(self, patches: _Patches, function: Callable[..., Any]) -> None:
        """Let calls of modules and of wrapped functions come here."""
        call = Module.__call__

        @functools.wraps(call)
        def call_here(module: Module, *args: Any, **kwargs: Any) -> Any:
            if _tracing.get() is not self:
                return call(module, *args, **kwargs)
            return self.call_module(module, partial(call, module), args, kwargs)

        patches.attribute(Module, "__call__", call_here)
        self._patch_attributes(patches)
        for table, name in list(_wrapped.values()):
            original = table.get(name, getattr(builtins, name, None))
            if original is not None:
                patches.entry(table, name, _recording(original))
                _wrapped_functions[id(original)] = original
        calls = self._autowrap_functions | _wrapped_functions.keys()
        own_globals = getattr(function, "__globals__", {})
        for table in (own_globals, *map(vars, self._autowrap_modules)):
            for name, value in list(table.items()):
                if id(value) in calls:
                    patches.entry(table, name, _recording(value))

    def _patch_attributes(self, patches: _Patches) -> None:
        read = Module.__getattr__
        cache: dict[str, Any] = {}

        @functools.wraps(read)
        def read_here(module: Module, name: str) -> Any:
            value = read(module, name)
            return self.getattr(name, value, cache) if _tracing.get() is self else value

        patches.attribute(Module, "__getattr__", read_here)


def _tensors(root: Module) -> Iterator[tuple[int, str]]:
    """The tensors that a module and its submodules hold, by identity, with their paths."""
    for path, module in root.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        tables = (vars(module), module._parameters, module._buffers)
        for name, value in (item for table in tables for item in table.items()):
            if isinstance(value, Tensor):
                yield id(value), prefix + name


_KINDS = [
    inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD,
]  # fmt: skip


def _place(parameter: inspect.Parameter) -> int:
    """Where a code object has a parameter: those by name only in front of *args and **kwargs."""
    return _KINDS.index(parameter.kind)


def _by_position(function: Any) -> Any:
    """The function, with its keyword arguments, *args and **kwargs as ordinary ones."""
    if isinstance(function, partial):
        inner = _by_position(function.func)
        return partial(inner, *function.args) if not function.keywords else function
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None:
        return function
    collecting = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    if not stars and not code.co_kwonlyargcount:
        return function
    flat = FunctionType(
        code.replace(
            co_argcount=code.co_argcount + code.co_kwonlyargcount + stars,
            co_kwonlyargcount=0,
            co_flags=code.co_flags & ~collecting,
        ),
        function.__globals__,
        function.__name__,
        closure=function.__closure__,
    )
    flat.__annotations__ = function.__annotations__
    return flat


class _Placeholder:
    """In `concrete_args`: an input that stays one."""

    def __repr__(self) -> str:
        return "PH"


PH = _Placeholder()


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """A module with the recorded program of another, or of a function.

    Args:
        root: what is called once, with proxies for its inputs.
        concrete_args: inputs that have these values.

    Raises:
        TraceError: if the program depends on values that only a run can tell.

    >>> import wengert
    >>> print(wengert.fx.symbolic_trace(lambda x, y: (x + y).relu()).code.strip())
    def forward(self, x, y):
        add = x + y;  x = y = None
        relu = add.relu();  add = None
        return relu
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


class _Calls(Tracer):
    """Follows no module."""

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


def restored(
    state: dict[str, Any], src: str, names: dict[str, Any], class_name: str
) -> GraphModule:
    """A module from its state and its program, which is recorded again: what pickles hold.

    >>> import pickle, wengert
    >>> module = wengert.fx.symbolic_trace(lambda x: x + 1)
    >>> pickle.loads(pickle.dumps(module))(wengert.ones(1))
    tensor([2.])
    """
    names = {**names, "wengert": wengert, "torch": wengert}
    exec(compile(src, "<fx program>", "exec", dont_inherit=True), names)
    body: Any = type(class_name, (Module,), {"forward": names["forward"]})
    root = body.__new__(body)
    root.__dict__.update(state)
    made = GraphModule(root, _Calls().trace(root), class_name)
    made.__dict__.update({k: v for k, v in state.items() if k not in made.__dict__})
    return made


GraphModule.restore = staticmethod(restored)
