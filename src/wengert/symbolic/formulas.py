"""Expressions as formulas, by rules that programs may add to."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from wengert.symbolic.expressions.elemwise import DimShuffle, Elemwise
from wengert.symbolic.expressions.indexing import Subtensor
from wengert.symbolic.expressions.shapes import MakeVector
from wengert.symbolic.graph import Apply, Constant

_INFIX = {"add": "+", "sub": "-", "mul": "*", "true_div": "/", "int_div": "//", "pow": "**"}


class PrinterState:
    """What rules are called with: `pprinter`, which writes operands."""

    def __init__(self, pprinter: PPrinter, precedence: float = -1000) -> None:
        self.pprinter, self.precedence = pprinter, precedence


class PPrinter:
    """Writes expressions, by rules for operations and for variables of which something holds.

    >>> from wengert.symbolic import pp
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.printing import OperatorPrinter, pprint
    >>> x, y = T.dscalars("x", "y")
    >>> pp(x**2 + T.exp(y))
    '((x ** TensorConstant{2}) + exp(y))'
    >>> own = pprint.clone_assign(T.mul, OperatorPrinter("times", -1, "either"))
    >>> own(2 * T.exp(x) + y)
    '((TensorConstant{2} times exp(x)) + y)'
    """

    def __init__(self) -> None:
        self.by_op: dict[Any, Any] = {}
        self.by_condition: list[tuple[Callable[[Any, Any], Any], Any]] = []

    def assign(self, condition: Any, printer: Any) -> None:
        """Have `printer` write the results of an operation, or what a condition accepts.

        A condition is a function of a state and a variable; the one that came last is asked first.
        A printer is a function of the variable and the state, or has such a method `process`.
        """
        if hasattr(condition, "make_node"):
            self.by_op[condition] = printer
        else:
            self.by_condition.insert(0, (condition, printer))

    def clone(self) -> PPrinter:
        """A printer with the same rules."""
        other = copy.copy(self)
        other.by_op, other.by_condition = dict(self.by_op), list(self.by_condition)
        return other

    def clone_assign(self, condition: Any, printer: Any) -> PPrinter:
        """A printer with one more rule."""
        other = self.clone()
        other.assign(condition, printer)
        return other

    def process(self, r: Any, pstate: PrinterState | None = None) -> str:
        """A variable as text."""
        state = PrinterState(self) if pstate is None else pstate
        printer = None if r.owner is None else self.by_op.get(r.owner.op)
        if printer is None:
            found = (p for condition, p in self.by_condition if condition(state, r))
            printer = next(found, None)
        if printer is not None:
            return str(getattr(printer, "process", printer)(r, state))
        return _formula(r, lambda x: state.pprinter.process(x, state))

    def __call__(self, *args: Any) -> str:
        """Variables as text, a line for each."""
        return "\n".join(self.process(v) for v in args)


pp = pprint = PPrinter()


def _operands(output: Any, pstate: PrinterState) -> list[str]:
    if output.owner is None:
        raise TypeError(f"{output} is not the result of an operation, and its printer is for one")
    return [pstate.pprinter.process(x, pstate) for x in output.owner.inputs]


class OperatorPrinter:
    """Writes a symbol between operands, or before a single one."""

    def __init__(self, operator: str, precedence: float, assoc: str = "left") -> None:
        self.operator, self.precedence, self.assoc = operator, precedence, assoc

    def process(self, output: Any, pstate: PrinterState) -> str:
        """In parentheses."""
        pieces = _operands(output, pstate)
        if len(pieces) == 1:
            return f"({self.operator}{pieces[0]})"
        return f"({f' {self.operator} '.join(pieces)})"


class PatternPrinter:
    """Writes a text in which ``%(0)s`` stands for the first operand; one text for each output.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.printing import PatternPrinter, pprint
    >>> pprint.clone_assign(T.exp, PatternPrinter(("e^%(0)s", -1)))(T.exp(T.dscalar("x")))
    'e^x'
    """

    def __init__(self, *patterns: Any) -> None:
        self.patterns = [p if isinstance(p, str) else p[0] for p in patterns]

    def process(self, output: Any, pstate: PrinterState) -> str:
        """The text of an output."""
        pieces = _operands(output, pstate)
        return str(self.patterns[output.index]) % {str(k): s for k, s in enumerate(pieces)}


class FunctionPrinter:
    """Writes a call: the name of each output, and operands."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)

    def process(self, output: Any, pstate: PrinterState) -> str:
        """The call."""
        pieces = _operands(output, pstate)
        return f"{self.names[output.index]}({', '.join(pieces)})"


class IgnorePrinter:
    """Writes the only operand, or a call of ``ignore``."""

    def process(self, output: Any, pstate: PrinterState) -> str:
        """The operand."""
        pieces = _operands(output, pstate)
        return pieces[0] if len(pieces) == 1 else f"ignore({', '.join(pieces)})"


class DefaultPrinter:
    """Writes a call of the operation."""

    def process(self, output: Any, pstate: PrinterState) -> str:
        """The call, or the name of what no operation computes."""
        if output.owner is None:
            return str(output)
        return f"{output.owner.op}({', '.join(_operands(output, pstate))})"


class LeafPrinter:
    """Writes what no operation computes: its name."""

    def process(self, output: Any, pstate: PrinterState) -> str:
        """The name."""
        return str(output)


default_printer, leaf_printer = DefaultPrinter(), LeafPrinter()


def _formula(variable: Any, text_of: Callable[[Any], str]) -> str:
    """What is written of a variable for which there is no rule."""
    node = variable.owner
    if node is None:
        return str(variable)
    pieces = [text_of(x) for x in node.inputs]
    if isinstance(node.op, Elemwise):
        return _elementwise_formula(node.op.scalar_op.name, pieces)
    if isinstance(node.op, DimShuffle):
        if node.op.new_order == (1, 0):
            return f"{pieces[0]}.T"
        if node.op.shuffle == sorted(node.op.shuffle) and not node.op.drop:
            return pieces[0]
        order = ", ".join("'x'" if d == "x" else str(d) for d in node.op.new_order)
        return f"DimShuffle{{{order}}}({pieces[0]})"
    if str(node.op) == "dot":
        return f"({pieces[0]} \\dot {pieces[1]})"
    if isinstance(node.op, Subtensor) and not {"a", "x"} & set(node.op.key.entries):
        return f"{pieces[0]}[{_index_formula(node, text_of)}]"
    if isinstance(node.op, MakeVector):
        return f"[{', '.join(pieces)}]"
    return f"{node.op}({', '.join(pieces)})"


def _index_formula(node: Apply, text_of: Callable[[Any], str]) -> str:
    """As Theano writes an index: numbers, and the dtypes of what slices have."""
    remaining = iter(node.inputs[1:])
    pieces = []
    for entry in node.op.key.entries:
        if isinstance(entry, tuple):
            start, stop, step = (next(remaining).dtype if has else "" for has in entry)
            pieces.append(f"{start}:{stop}:{step}" if step else f"{start}:{stop}")
        else:
            x = next(remaining)
            number = isinstance(x, Constant)
            pieces.append(
                f"Constant{{{int(x.data)}}}" if number else f"ScalarFromTensor({text_of(x)})"
            )
    return ", ".join(pieces)


def _elementwise_formula(name: str, pieces: list[str]) -> str:
    if name in _INFIX:
        return f"({f' {_INFIX[name]} '.join(pieces)})"
    if name == "neg":
        return f"(-{pieces[0]})"
    if name == "abs_":
        return f"|{pieces[0]}|"
    if name.startswith("Cast{"):
        name = name[len("Cast{") : -1]
    return f"{'fill' if name == 'second' else name}({', '.join(pieces)})"
