"""Programs: graphs in normal form as Python functions of arrays.

Each node is one line of the function that is written, so that the line on which an error is raised
says which node it was. A value is dropped after its last use.
"""

from __future__ import annotations

import linecache
import weakref
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from wengert.core.storage import quoted_location
from wengert.core.tensor import internal
from wengert.symbolic.expressions.elemwise import CAReduce, Elemwise
from wengert.symbolic.expressions.indexing import in_place
from wengert.symbolic.graph import Apply, Constant, NullType, toposort
from wengert.symbolic.modes import Watch
from wengert.symbolic.programs.branches import branches_of, is_lazy, moved_nodes
from wengert.symbolic.programs.fusion import PASSING, Fused
from wengert.symbolic.programs.grouping import with_constants
from wengert.symbolic.programs.numbers import SCOPE as NUMBERS
from wengert.symbolic.programs.numbers import is_number, number_form
from wengert.symbolic.settings import config

_numbers = count()
_OUTER = "    "  # the indentation of what runs in any case


class Program:
    """A function of the values of inputs that gives the values of outputs.

    Args:
        loose: whether arrays without dimensions may be NumPy's scalars, which it takes and gives.

    Attributes:
        nodes: the nodes in the order in which they run.
        source: the text of the function.
    """

    def __init__(
        self, inputs: Sequence[Any], outputs: Sequence[Any],
        watch: Watch | None = None, loose: bool = False,
    ) -> None:  # fmt: skip
        self.inputs, self.outputs, self.watch = list(inputs), list(outputs), watch
        self.loose = loose and watch is None
        self.nodes = toposort(outputs, set(inputs))
        self.file = f"<symbolic program {next(_numbers)}>"
        self._write()

    def _write(self) -> None:
        self.names: dict[Any, str] = {x: f"i{k}" for k, x in enumerate(self.inputs)}
        self.numbers: dict[Any, str] = {}  # of arrays without dimensions, what they hold
        if self.loose:
            for x in filter(is_number, self.inputs):
                self.numbers[x] = self.names.pop(x)
        # Warnings of numbers are those of the package.
        self.scope: dict[str, Any] = {"__name__": __name__} | NUMBERS
        self.lines = [f"def program({', '.join(f'i{k}' for k in range(len(self.inputs)))}):"]
        self.nodes_by_line: dict[int, Apply] = {}
        self._count_uses()
        self._emit(self.nodes, _OUTER, drop=True)
        known = self.numbers if self.loose else {}
        results = "".join(f"{known.get(v) or self._name(v)}, " for v in self.outputs)
        self.lines.append(f"    return ({results})")
        self.source = "\n".join(self.lines) + "\n"
        linecache.cache[self.file] = (
            len(self.source), None, self.source.splitlines(keepends=True), self.file,
        )  # fmt: skip
        weakref.finalize(self, linecache.cache.pop, self.file, None).atexit = False
        internal.add(self.file)
        exec(compile(self.source, self.file, "exec"), self.scope)
        self.function = self.scope.pop("program")

    def _count_uses(self) -> None:
        self.last_use: dict[Any, Apply | None] = {}
        self.uses: dict[Any, int] = {}
        self.inside = branches_of(self.nodes, self.outputs)
        moved = moved_nodes(self.inside)
        for node in self.nodes:
            if node in moved:  # it runs where the choice does
                continue
            first, second = self.inside.get(node, ([], []))
            for run in (*first, *second, node):
                for x in run.inputs:
                    self.last_use[x] = node
                    self.uses[x] = self.uses.get(x, 0) + 1
        for v in self.outputs:
            self.last_use[v] = None
            self.uses[v] = self.uses.get(v, 0) + 1
        self.dying: dict[Apply | None, list[Any]] = {}
        for x, last in self.last_use.items():
            self.dying.setdefault(last, []).append(x)

    def _name(self, variable: Any, indent: str = _OUTER) -> str:
        """What an array is called; a number is made one first."""
        name = self.names.get(variable)
        if name is None and variable in self.numbers:
            text = f"np_array({self.numbers[variable]})"
            if indent != _OUTER:  # other branches do not see what is named here
                return text
            name = self.names[variable] = f"v{len(self.names)}"
            self._add(f"{indent}{name} = {text}", variable.owner or self.nodes[0])
        if name is None:
            if not isinstance(variable, Constant):
                raise _missing(variable)
            name = self.names[variable] = f"c{len(self.names)}"
            self.scope[name] = variable.data
        return name

    def _number(self, variable: Any, node: Apply) -> str:
        """What the only element of an array is called."""
        name = self.numbers.get(variable)
        if name is None:
            name = f"s{len(self.numbers)}"
            if isinstance(variable, Constant):
                self.scope[name] = variable.data[()]
            else:
                self._add(f"{_OUTER}{name} = {self._name(variable)}[()]", node)
            self.numbers[variable] = name
        return name

    def _emit(self, nodes: Sequence[Apply], indent: str, drop: bool) -> None:
        inside = self.inside if drop else branches_of(nodes, self.outputs)
        moved = moved_nodes(inside)
        for node in nodes:
            if node in moved:
                continue
            if is_lazy(node):
                self._emit_choice(node, inside[node], indent)
            else:
                self._emit_node(node, indent, drop)
            if drop:
                self._drop(node, indent)

    def _emit_node(self, node: Apply, indent: str, drop: bool) -> None:
        if drop and self.watch is None and self._emit_number(node):
            return
        arguments = ", ".join([self._argument(x, node, indent) for x in node.inputs])
        k = len(self.lines)
        for out in node.outputs:
            self.names[out] = f"v{len(self.names)}"
        targets = ", ".join(self.names[out] for out in node.outputs)
        kernel = self._kernel(node, drop)
        if self.watch is not None:
            kernel = _watched(kernel, node, self.watch)
        self.scope[f"k{k}"] = kernel
        self._add(f"{indent}{targets} = k{k}({arguments})", node)

    def _emit_number(self, node: Apply) -> bool:
        """Write a node as an expression of numbers, if it is one."""
        plain = with_constants(node, {}) if isinstance(node.op, Elemwise) else node
        form = number_form(plain)
        if form is None:
            return False
        places = [self._number(x, node) if is_number(x) else self._name(x) for x in plain.inputs]
        out = node.outputs[0]
        self.numbers[out] = f"s{len(self.numbers)}"
        self._add(f"{_OUTER}{self.numbers[out]} = {form.format(*places)}", node)
        return True

    def _argument(self, x: Any, node: Apply, indent: str) -> str:
        if isinstance(node.op, Fused) and self.watch is None and x in self.numbers:
            return self.numbers[x]
        return self._name(x, indent)

    def _kernel(self, node: Apply, drop: bool) -> Any:
        if hasattr(node.op, "kernel_for"):
            return node.op.kernel_for(node, {v for v in node.outputs if v in self.last_use})
        writing = in_place(node) if drop and self._is_free(node) else None
        return writing or node.op.kernel(node)

    def _is_free(self, node: Apply) -> bool:
        """Whether the array of a node's first input is nobody else's."""
        x = node.inputs[0] if node.inputs else None
        return x is not None and self.uses.get(x) == 1 and _is_fresh(x)

    def _emit_choice(self, node: Apply, branches: Any, indent: str) -> None:
        half = (len(node.inputs) - 1) // 2
        condition, ways = node.inputs[0], (node.inputs[1 : half + 1], node.inputs[half + 1 :])
        for out in node.outputs:
            self.names[out] = f"v{len(self.names)}"
        targets = "".join(f"{self.names[out]}, " for out in node.outputs)
        self._add(f"{indent}if {self._name(condition, indent)}:", node)
        for k, (nodes, values) in enumerate(zip(branches, ways, strict=True)):
            if k:
                self._add(f"{indent}else:", node)
            self._emit(nodes, indent + "    ", drop=False)
            results = "".join(f"{self._name(v, indent + '    ')}, " for v in values)
            self._add(f"{indent}    {targets}= {results}", node)

    def _drop(self, node: Apply, indent: str) -> None:
        dead = [
            self.names[x] for x in self.dying.get(node, ())
            if self.names.get(x, "").startswith("v")
        ]  # fmt: skip
        dead += [self.names[v] for v in node.outputs
                 if v not in self.last_use and v in self.names]  # fmt: skip
        if dead:
            self._add(f"{indent}{' = '.join(dead)} = None", node)

    def _add(self, line: str, node: Apply) -> None:
        self.lines.append(line)
        self.nodes_by_line[len(self.lines)] = node

    def __call__(self, *values: Any) -> Any:
        try:
            return self.function(*values)
        except Exception as error:
            raise self.explained(error) from None

    def of_any(self, *values: Any) -> Any:
        """The same of values at which nobody has looked: kernels read them by their dtypes."""
        return self(*map(as_declared, self.inputs, values))

    def explained(self, error: Exception) -> Exception:
        """An error, with the node that raised it and the line where that was built."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != self.file:
            trace = trace.tb_next
        node = None if trace is None else self.nodes_by_line.get(trace.tb_lineno)
        if node is None or trace is None or hasattr(error, "symbolic_node"):
            return error
        local = trace.tb_frame.f_locals
        values = [local.get(self.names.get(x) or self.numbers[x]) for x in node.inputs]
        shapes = [getattr(v, "shape", "unknown") for v in values]
        text = f"Apply node that caused the error: {node}"
        if node.trace is not None:
            text += f"\nBuilt at {quoted_location(*node.trace)}"
        text += f"\nInputs types: {[x.type for x in node.inputs]}\nInputs shapes: {shapes}"
        if config.exception_verbosity == "high":
            text += f"\nInputs values: {values}"
        if error.args and isinstance(error.args[0], str):
            error.args = (f"{error.args[0]}\n{text}", *error.args[1:])
        else:
            error.add_note(text)
        error.symbolic_node = node  # type: ignore[attr-defined]
        return error

    def __reduce__(self) -> Any:
        return Program, (self.inputs, self.outputs, self.watch, self.loose)


def as_declared(variable: Any, value: Any) -> Any:
    """A value as an array of its variable's dtype; TypeError where that loses something."""
    dtype = getattr(variable.type, "numpy_dtype", None)
    if dtype is None or (type(value) is np.ndarray and value.dtype is dtype):
        return value
    return variable.type.filter(value)


class MissingInputError(Exception):
    """An output depends on a variable that has no value."""


def _missing(variable: Any) -> Exception:
    """The error for a variable that has no value."""
    if isinstance(variable.type, NullType):
        return TypeError(f"A gradient is needed that is not defined: {variable.type.why_null}")
    where = variable.where()
    return MissingInputError(
        f"Undeclared input: {variable} has no value. It is needed to compute the"
        " outputs; provide it as an input of the function, in `givens`, or make it a"
        " shared variable" + (f". It was made at {where}" if where else "")
    )


def apart_from_others(program: Program) -> list[bool]:
    """For each output of a program, whether its memory is known to be nobody else's."""
    computed = set(program.nodes) if program.watch is None else set()
    counts = Counter(program.outputs)
    return [v.owner in computed and counts[v] == 1 and _is_fresh(v) for v in program.outputs]


# Operations whose results are arrays of their own.
_FRESH = frozenset({"Elemwise", "Alloc", "IncSubtensor", "Dot", "Fused"})


def _is_fresh(variable: Any) -> bool:
    """Whether an operation has made an array for a variable's value."""
    if variable.owner is None:
        return False
    op = variable.owner.op
    if isinstance(op, Elemwise):
        return op.scalar_op.name not in PASSING
    return type(op).__name__ in _FRESH or getattr(type(op), "kernel", None) is CAReduce.kernel


def _watched(kernel: Any, node: Apply, watch: Watch) -> Any:
    def run(*values: Any) -> Any:
        return watch(node, kernel, values)

    return run
