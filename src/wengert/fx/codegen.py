"""The Python program of a graph, as text."""

from __future__ import annotations

import builtins
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import wengert
from wengert.core.device import device
from wengert.core.dtypes import dtype
from wengert.core.size import Size
from wengert.fx.node import Node, library_name, qualified_name, type_name

if TYPE_CHECKING:
    from wengert.fx.graph import Graph

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/",
    operator.floordiv: "//", operator.mod: "%", operator.pow: "**", operator.matmul: "@",
    operator.lshift: "<<", operator.rshift: ">>", operator.and_: "&", operator.or_: "|",
    operator.xor: "^", operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=",
    operator.gt: ">", operator.ge: ">=",
}  # fmt: skip
_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}
_IN_PLACE = {
    operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/=",
    operator.ifloordiv: "//=", operator.imod: "%=", operator.ipow: "**=", operator.imatmul: "@=",
    operator.ilshift: "<<=", operator.irshift: ">>=", operator.iand: "&=", operator.ior: "|=",
    operator.ixor: "^=",
}  # fmt: skip

Transform = Callable[[list[str]], list[str]]


@dataclass
class PythonCode:
    """A program's text, and the names that it reads."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = field(default=None)


class _Globals:
    """The names outside of the function, as they come to be used."""

    def __init__(self) -> None:
        library = library_name()
        self.values: dict[str, Any] = {
            "inf": float("inf"), "nan": float("nan"), "NoneType": type(None),
            "device": device, library: wengert,
        }  # fmt: skip

    def path(self, function: Any) -> str:
        """An expression for a function or a type."""
        name = qualified_name(function) if not isinstance(function, type) else type_name(function)
        module, _, last = name.rpartition(".")
        if name.startswith(f"{library_name()}.") and _stands_at(name, function):
            return name
        if getattr(builtins, last, None) is function:
            if module == "builtins" and not isinstance(function, type):
                self.values[last] = function
            return last
        if module == "operator":
            name = f"_{name}"
        free = name.replace(".", "_").replace("<", "_").replace(">", "_")
        while self.values.get(free, function) is not function:
            free += "_1"
        self.values[free] = function
        return free


def _stands_at(name: str, value: Any) -> bool:
    """Whether a dotted name of the library leads to a value."""
    place: Any = wengert
    for step in name.split(".")[1:]:
        place = getattr(place, step, None)
    return place is value


class CodeGen:
    """Writes the program of a graph; subclasses change its head, its inputs or its outputs.

    >>> import wengert
    >>> graph = wengert.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(wengert.relu, (x,)))
    >>> print(graph.python_code("self").src.strip())
    def forward(self, x):
        relu = wengert.relu(x);  x = None
        return relu
    """

    def __init__(self) -> None:
        self._body_transformer: Transform | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Any = None) -> str:
        """The line that returns."""
        return f"return {_literal(output_args, _Globals())}"

    def process_inputs(self, *args: Any) -> Any:
        """Arguments of the program as its placeholders take them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result as the caller wants it."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Further names that the program reads, with their values."""
        return []

    def with_transformer(self, make: Callable[[Transform | None], Transform | None]) -> Any:
        """Change what is done with the lines of the body; a context that undoes it."""
        before = self._body_transformer
        self._body_transformer = make(before)
        return _Undo(self, before)

    def generate(self, graph: Graph, root_module: str, verbose: bool = False) -> PythonCode:
        """The program of a graph: one line a node, and values let go of after their last use."""
        names = _Globals()
        names.values.update(self.additional_globals())
        inputs: list[str] = []
        annotation = ""
        lines: list[str] = []
        done = last_uses(graph)
        for node in graph.nodes:
            if node.op == "output" and node.type is not None:
                annotation = f" -> {_annotation(node.type, names)}"
            text = self._line(node, root_module, names, inputs)
            if text is not None:
                lines += _commented(node, verbose)
                lines.append(text + _dropped(done.get(node, ()), node))
        if not any(node.op != "placeholder" for node in graph.nodes):
            lines.append("pass")
        body = [f"{line}\n" for line in lines]
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        text = "".join(body)
        head = self.gen_fn_def(inputs, annotation)
        indented = "\n".join(f"    {line}" for line in text.split("\n"))
        return PythonCode(f"\n\n\n{head}\n{indented}", names.values)

    def _line(self, node: Node, root: str, names: _Globals, inputs: list[str]) -> str | None:
        """The statement of a node; None where it needs none."""
        if node.op == "placeholder":
            return _input(node, names, inputs)
        if node.op == "output":
            _literal(node.args[0], names)  # so that the names it reads are there
            return self.generate_output(node.args[0])
        note = "" if node.type is None else f" : {_annotation(node.type, names)}"
        if node.op == "get_attr":
            return f"{node.name}{note} = {_path(root, str(node.target))}"
        if node.op == "call_module":
            call = f"{_path(root, str(node.target))}({_call(node.args, node.kwargs, names)})"
        elif node.op == "call_method":
            owner = _literal(node.args[0], names)
            call = f"{owner}.{node.target}({_call(node.args[1:], node.kwargs, names)})"
        else:
            return _call_of_function(node, note, names)
        return f"{node.name}{note} = {call}"


class _Undo:
    def __init__(self, codegen: CodeGen, before: Transform | None) -> None:
        self.codegen, self.before = codegen, before

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        self.codegen._body_transformer = self.before


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """By node, the values that nothing behind it reads.

    >>> import wengert
    >>> from wengert.fx.codegen import last_uses
    >>> last_uses(wengert.fx.symbolic_trace(lambda x: x.relu() * x).graph)
    {output: [mul], mul: [relu, x]}
    """
    last: dict[Node, list[Node]] = {}
    read: set[Node] = set()
    for node in reversed(graph.nodes):
        for value in node.all_input_nodes:
            if value not in read:
                read.add(value)
                last.setdefault(node, []).append(value)
    return last


def _dropped(values: Iterable[Node], node: Node) -> str:
    """The end of a line that lets go of values: one that nothing reads, its own result too."""
    if node.op in ("placeholder", "output"):
        return ""
    names = [value.name for value in values]
    if not node.users:
        names.append(node.name)
    return f";  {' = '.join(names)} = None" if names else ""


def _commented(node: Node, verbose: bool) -> list[str]:
    if not verbose or not node.stack_trace:
        return []
    return ["", *(f"# {line.strip()}" for line in node.stack_trace.strip().splitlines()[-2:])]


def _input(node: Node, names: _Globals, inputs: list[str]) -> str | None:
    target = str(node.target)
    note = "" if node.type is None else f" : {_annotation(node.type, names)}"
    default = f" = {_literal(node.args[0], names)}" if node.args else ""
    inputs.append(f"{target}{note}{default}")
    bare = target.lstrip("*")
    return None if bare == node.name else f"{node.name} = {bare}"


def _call_of_function(node: Node, note: str, names: _Globals) -> str:
    target, args = node.target, node.args
    assert callable(target)
    operands = [_literal(x, names) for x in args]
    result = f"{node.name}{note} = "
    if not node.kwargs:
        if target in _INFIX and len(args) == 2:
            return f"{result}{operands[0]} {_INFIX[target]} {operands[1]}"
        if target in _PREFIX and len(args) == 1:
            return f"{result}{_PREFIX[target]}{operands[0]}"
        if target in _IN_PLACE and len(args) == 2:
            return f"{operands[0]} {_IN_PLACE[target]} {operands[1]};  {result}{operands[0]}"
        if target is operator.getitem and len(args) == 2:
            return f"{result}{operands[0]}[{operands[1]}]"
        if target is getattr and len(args) == 2 and str(args[1]).isidentifier():
            return f"{result}{operands[0]}.{args[1]}"
    return f"{result}{names.path(target)}({_call(args, node.kwargs, names)})"


def _call(args: Iterable[Any], kwargs: dict[str, Any], names: _Globals) -> str:
    positional = [_literal(x, names) for x in args]
    return ", ".join(positional + [f"{k} = {_literal(v, names)}" for k, v in kwargs.items()])


def _path(root: str, target: str) -> str:
    """An attribute by its dotted path, some of whose names may be numbers."""
    text = root
    for name in target.split("."):
        text = f"{text}.{name}" if name.isidentifier() else f'getattr({text}, "{name}")'
    return text


def _literal(value: Any, names: _Globals) -> str:
    """An expression for an argument."""
    if isinstance(value, Node):
        return value.name
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{names.path(type(value))}({', '.join(_literal(x, names) for x in value)})"
    if isinstance(value, tuple) and not isinstance(value, Size):
        items = ", ".join(_literal(x, names) for x in value)
        return f"({items},)" if len(value) == 1 else f"({items})"
    if isinstance(value, Size):
        return f"{library_name()}.Size([{', '.join(map(repr, value))}])"
    if isinstance(value, list):
        return f"[{', '.join(_literal(x, names) for x in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_literal(v, names)}" for k, v in value.items()) + "}"
    if isinstance(value, slice):
        return (
            f"slice({', '.join(_literal(x, names) for x in (value.start, value.stop, value.step))})"
        )
    if isinstance(value, dtype):
        return f"{library_name()}.{str(value).rpartition('.')[2]}"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return names.path(value)
    return repr(value)


def _annotation(annotation: Any, names: _Globals) -> str:
    if isinstance(annotation, type) and not hasattr(annotation, "__origin__"):
        return names.path(annotation)
    return repr(annotation) if isinstance(annotation, str) else _generic(annotation, names)


def _generic(annotation: Any, names: _Globals) -> str:
    """A name for a type that no expression of builtins spells, such as ``list[Tensor]``."""
    name = re.sub(r"\W+", "_", str(annotation)).strip("_")
    names.values[name] = annotation
    return name
