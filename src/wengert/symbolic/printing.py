"""Expressions as text and as drawings, and values printed while they are computed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.formulas import DefaultPrinter as DefaultPrinter
from wengert.symbolic.formulas import FunctionPrinter as FunctionPrinter
from wengert.symbolic.formulas import IgnorePrinter as IgnorePrinter
from wengert.symbolic.formulas import LeafPrinter as LeafPrinter
from wengert.symbolic.formulas import OperatorPrinter as OperatorPrinter
from wengert.symbolic.formulas import PatternPrinter as PatternPrinter
from wengert.symbolic.formulas import PPrinter as PPrinter
from wengert.symbolic.formulas import PrinterState as PrinterState
from wengert.symbolic.formulas import default_printer as default_printer
from wengert.symbolic.formulas import leaf_printer as leaf_printer
from wengert.symbolic.formulas import pp as pp
from wengert.symbolic.formulas import pprint as pprint
from wengert.symbolic.functions import Function
from wengert.symbolic.gof.fg import FunctionGraph
from wengert.symbolic.graph import Apply, Constant, Operation, Variable, toposort
from wengert.symbolic.looping import Loop

pydot_imported = True  # `pydotprint` writes files by itself
pydot_imported_msg = ""


def _letters(number: int) -> str:
    """A, B, ..., Z, BA, BB, ..."""
    text = chr(ord("A") + number % 26)
    while number >= 26:
        number //= 26
        text = chr(ord("A") + number % 26) + text
    return text


class _Tree:
    """The lines of `debugprint`."""

    def __init__(self, depth: int, print_type: bool, ids: str, stop_on_name: bool) -> None:
        self.depth, self.print_type, self.ids = depth, print_type, ids
        self.stop_on_name = stop_on_name
        self.lines: list[str] = []
        self.numbers: dict[Any, str] = {}
        self.shown: set[Any] = set()
        self.loops: list[Apply] = []
        self.order: dict[Apply, int] = {}  # of the nodes of functions

    def _id(self, entry: Any) -> str:
        if not self.ids:
            return ""
        if self.ids == "id":
            return f" [id {id(entry)}]"
        place = len(self.numbers)
        known = self.numbers.setdefault(entry, str(place) if self.ids == "int" else _letters(place))
        return f" [id {known}]"

    def add(self, variable: Any, prefix: str, below: str, depth: int) -> None:
        """A variable, and what it is made of."""
        if depth == 0:
            return
        kind = f" <{variable.type}>" if self.print_type else ""
        node = variable.owner
        if node is None:
            self.lines.append(f"{prefix}{variable}{self._id(variable)}{kind}")
            return
        output = f".{variable.index}" if len(node.outputs) != 1 else ""
        name = f" '{variable.name or ''}'"
        again = node in self.shown
        place = self.order.get(node, "")
        self.lines.append(f"{prefix}{node.op}{output}{self._id(node)}{kind}{name}   {place}")
        if again or (self.stop_on_name and variable.name):
            return
        self.shown.add(node)
        if isinstance(node.op, Loop):
            self.loops.append(node)
        for k, x in enumerate(node.inputs):
            last = k == len(node.inputs) - 1
            self.add(x, below + " |", below + ("  " if last else " |"), depth - 1)


def debugprint(
    obj: Any, depth: int = -1, print_type: bool = False, file: Any = None, ids: str = "CHAR",
    stop_on_name: bool = False, ran: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """Print expressions, or a function, as trees; ``file="str"`` gives the text.

    Nodes of a function have numbers behind them: the order in which they run.

    >>> from wengert.symbolic import printing
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dvector("x")
    >>> for line in printing.debugprint(T.exp(x) + x, file="str").splitlines():
    ...     print(line.rstrip())
    Elemwise{add,no_inplace} [id A] ''
     |Elemwise{exp,no_inplace} [id B] ''
     | |x [id C]
     |x [id C]
    """
    objects = list(obj) if isinstance(obj, list | tuple) else [obj]
    tree = _Tree(depth, print_type, ids, stop_on_name)
    for entry in objects:
        if isinstance(entry, Function):
            variables: Sequence[Any] = entry.program.outputs
            tree.order |= {node: k for k, node in enumerate(entry.program.nodes)}
        elif isinstance(entry, FunctionGraph):
            variables = entry.outputs
            tree.order |= {node: k for k, node in enumerate(entry.toposort())}
        elif isinstance(entry, Apply):
            variables = entry.outputs
        elif isinstance(entry, Variable):
            variables = [entry]
        else:
            raise TypeError(f"debugprint cannot print an object of this type: {type(entry)}")
        for v in variables:
            tree.add(v, "", "", depth)
    for node in tree.loops:
        tree.lines += ["", f"Inner graph of {node.op}{tree._id(node)}:"]
        for v in node.op.step.outputs:
            tree.add(v, " >", "  ", depth)
    text = "\n".join(tree.lines) + "\n"
    if file == "str":
        return text
    (file or sys.stdout).write(text)
    (file or sys.stdout).flush()
    return None


class Print(Operation):
    """The value itself, printed (with what attributes say) whenever it is computed.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.printing import Print
    >>> x = T.dvector()
    >>> function([x], Print("x", attrs=["shape"])(x) * 2)([1.0, 2.0])
    x shape = (2,)
    array([2., 4.])
    """

    has_effect = True

    def __init__(
        self, message: str = "", attrs: Sequence[str] = ("__str__",),
        global_fn: Callable[[Any, Any], None] | None = None,
    ) -> None:  # fmt: skip
        self.message, self.attrs, self.global_fn = message, tuple(attrs), global_fn

    def make_node(self, x: Any) -> Apply:
        """The same type."""
        x = x if isinstance(x, Variable) else as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def compute(self, x: Any) -> Any:
        """Print, and pass on."""
        if self.global_fn is not None:
            self.global_fn(self, x)
            return x
        for name in self.attrs:
            value = getattr(x, name)
            print(self.message, name, "=", value() if callable(value) else value)
        return x

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient, not printed."""
        return output_gradients

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __str__(self) -> str:
        return f"Print{{message={self.message!r}}}"


def dot_source(variables: Sequence[Any]) -> str:
    """Expressions in the language of Graphviz."""
    lines = ["digraph expression {", '  node [fontname="sans-serif", fontsize=10];']
    names: dict[Any, str] = {}

    def name_of(entry: Any) -> str:
        if entry not in names:
            names[entry] = f"n{len(names)}"
            if isinstance(entry, Apply):
                shape, color, text = "ellipse", "#e8e8f8", str(entry.op)
            else:
                text = f"{entry}\\n{entry.type}"
                color = "#f0e0e0" if isinstance(entry, Constant) else "#e0f0e0"
                shape = "box"
            label = text.replace('"', "'")
            lines.append(
                f'  {names[entry]} [shape={shape}, style=filled, fillcolor="{color}",'
                f' label="{label}"];'
            )
        return names[entry]

    for node in toposort(variables):
        for k, x in enumerate(node.inputs):
            source = name_of(x if x.owner is None else x.owner)
            lines.append(f'  {source} -> {name_of(node)} [label="{k}"];')
    for v in variables:
        start = name_of(v if v.owner is None else v.owner)
        lines.append(f"  {start} -> {name_of(v)};" if v.owner is not None else "")
    return "\n".join([*lines, "}"]) + "\n"


def pydotprint(
    fct: Any, outfile: Any = None, compact: bool = True, format: str = "svg",
    with_ids: bool = False, high_contrast: bool = True, cond_highlight: Any = None,
    colorCodes: Any = None, max_label_size: int = 70, scan_graphs: bool = False,  # noqa: N803
    var_with_name_simple: bool = False, print_output_file: bool = True,
    return_image: bool = False,
) -> Any:  # fmt: skip
    """Write a function, or expressions, as a graph for Graphviz: its source, in a ``.dot`` file.

    >>> import os, tempfile
    >>> from wengert.symbolic import printing
    >>> from wengert.symbolic import tensor as T
    >>> file = os.path.join(tempfile.mkdtemp(), "graph.dot")
    >>> printing.pydotprint(T.dvector("x").sum(), file, print_output_file=False)
    >>> open(file).readline()
    'digraph expression {\\n'
    """
    if isinstance(fct, Function | FunctionGraph):
        graph = fct.program if isinstance(fct, Function) else fct
        variables: list[Any] = list(graph.outputs)
    elif isinstance(fct, list | tuple):
        variables = list(fct)
    else:
        variables = [fct] if isinstance(fct, Variable) else list(fct.outputs)
    text = dot_source(variables)
    if return_image:
        return text
    path = str(outfile or "theano.pydotprint.dot")
    if not path.endswith(".dot"):
        path = path.rpartition(".")[0] + ".dot" if "." in path.rpartition("/")[2] else path + ".dot"
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    if print_output_file:
        print("The output file is available at", path)
    return None


def min_informative_str(obj: Any, indent_level: int = 0, _prev_obs: dict[Any, str] | None = None,
                        _tag_generator: Any = None) -> str:  # fmt: skip
    """An expression as an indented tree in which each line has letters, by which it is named again.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.printing import min_informative_str
    >>> x = T.dscalar("x")
    >>> print(min_informative_str(T.exp(x) + x))
    A. Elemwise{add,no_inplace}
     B. Elemwise{exp,no_inplace}
      C. x
     <C>
    """
    seen = {} if _prev_obs is None else _prev_obs
    indent = " " * indent_level
    if obj in seen:
        return f"{indent}<{seen[obj]}>"
    seen[obj] = tag = _letters(len(seen))
    named = getattr(obj, "name", None) is not None or getattr(obj, "owner", None) is None
    line = f"{indent}{tag}. {obj if named else obj.owner.op}"
    below = [] if named else obj.owner.inputs
    return "\n".join([line, *[min_informative_str(x, indent_level + 1, seen) for x in below]])


def hex_digest(x: Any) -> str:
    """A digest of an array's elements, with its strides and its shape.

    >>> import numpy as np
    >>> from wengert.symbolic.printing import hex_digest
    >>> hex_digest(np.zeros(2))[-22:]
    '|strides=[8]|shape=[2]'
    """
    digest = sha256(np.asarray(x).tobytes()).hexdigest()
    strides, shape = (",".join(str(n) for n in numbers) for numbers in (x.strides, x.shape))
    return f"{digest}|strides=[{strides}]|shape=[{shape}]"


def var_descriptor(obj: Any, _prev_obs: dict[Any, str] | None = None, _tag_generator: Any = None
                   ) -> str:  # fmt: skip
    """A value as text that says whether it is another one: arrays by their digests.

    >>> from wengert.symbolic.printing import var_descriptor
    >>> var_descriptor(3)
    'A=3'
    """
    seen = {} if _prev_obs is None else _prev_obs
    if id(obj) in seen:
        return f"<{seen[id(obj)]}>"
    seen[id(obj)] = tag = _letters(len(seen))
    if isinstance(obj, np.ndarray):
        strides = ",".join(str(n) for n in obj.strides)
        digest = sha256(np.asarray(obj).tobytes()).hexdigest()
        return f"{tag}=<ndarray:strides=[{strides}],digest={digest}>"
    return f"{tag}={obj}"
