"""How a statement that stores a tensor reads without the graph: in the program's own words."""

from __future__ import annotations

import ast
from collections.abc import Set
from dataclasses import dataclass, replace

from wengert.graph._source import Edit, Source, contains

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_FACTORS = (ast.Mult, ast.Div)


@dataclass(frozen=True, eq=False)
class Put:
    """A statement that stores a value.

    Attributes:
        source: the file.
        node: the statement, or the call.
        how: ``"assign"``, ``"augment"``, ``"item"``, ``"put"``, ``"extend"``, ``"slice"``,
            ``"update"``, or ``"write"`` into the tensor itself.
        target: where to: a name, an attribute, an item, or of a call the container.
        value: what.
        depth: how many items behind the name or attribute the value is.
        unpacked: whether the target is one of several, and the value that of all.
        path: the items inside of the value that lead to the tensor.
    """

    source: Source
    node: ast.stmt | ast.expr
    how: str
    target: ast.expr
    value: ast.expr
    depth: int
    unpacked: bool = False
    path: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        """Its first line."""
        return self.node.lineno

    def inside(self, items: tuple[str, ...]) -> Put:
        """The same for a tensor that is behind so many items."""
        start = self.depth - (self.how == "update")
        return replace(self, path=items[start:])

    def goes_on(self) -> bool:
        """Whether the value is computed from what was there before."""
        if self.how == "augment":
            return True
        assigned = self.how in ("assign", "item")
        return assigned and bool(contains(self.value, {ast.unparse(self.target)}))

    def is_empty(self) -> bool:
        """Whether it can't be a tensor, nor have one inside."""
        value = self.value
        if isinstance(value, ast.Dict):
            return all(map(_is_constant, value.values))
        if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            return all(map(_is_constant, value.elts))
        if isinstance(value, ast.Lambda):
            return not self.path  # it may have the tensor as a default argument
        return _is_constant(value) or isinstance(value, ast.JoinedStr)


def remedy(put: Put, names: Set[str], scalar: bool) -> tuple[str, str]:
    """The kind of a store, and its statement without the graph, or nothing.

    `names` are what the line that made the tensor has assigned.
    """
    cut = ".item()" if scalar else ".detach()"
    if put.how == "write":
        return _written(put, cut)
    if put.how == "augment" and not put.path:
        sums = isinstance(put.node, ast.AugAssign) and isinstance(put.node.op, (ast.Add, ast.Sub))
        return ("sum", _edited(put, put.value, cut)) if sums else ("state", "")
    if (put.how == "assign" or (put.how == "item" and put.goes_on())) and not put.path:
        return _assignment(put, cut)
    if put.how == "assign" and put.goes_on() and not _literals(put.value):
        name = ast.unparse(put.target)
        return "state", f"{name} = tuple(s.detach() for s in {name})"
    return "container", _contained(put, names, cut)


def writes(call: ast.expr) -> ast.expr | None:
    """What a call of an in-place method writes into."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        name = call.func.attr
        if name.endswith("_") and not name.startswith("_"):
            return call.func.value
    return None


def _written(put: Put, cut: str) -> tuple[str, str]:
    """A statement that writes into a tensor: graphs of all that was written become its own."""
    node = put.node
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        kind = "sum" if isinstance(getattr(node, "op", None), (ast.Add, ast.Sub)) else "state"
        return kind, _edited(put, put.value, ".detach()")
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    adds = node.func.attr in ("add_", "sub_") and len(node.args) == 1 and not node.keywords
    if adds and writes(node.func.value) is None:
        return "sum", _edited(put, node.args[0], cut)
    return "state", f"with torch.no_grad(): {put.source.written(node)}"


def _contained(put: Put, names: Set[str], cut: str) -> str:
    """A statement that puts something into a container."""
    value = put.value
    if put.how == "assign" and len(put.path) == 1 and _literals(value):
        return _edited_all(put, _literals(value), cut)
    if put.how in ("extend", "slice", "augment"):
        inner = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
        if len(inner) == 1:
            return _edited(put, inner[0], cut)
        if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
            return _edited(put, value.elt, cut)
        if not inner and isinstance(value, _ATOMS):
            edit: Edit = value, f"x{cut} for x in ", ""
            return put.source.written(put.node, [edit]) if put.how == "extend" else ""
        if put.how == "slice":
            return ""
    expression = _part(value, put.path)
    inside = contains(value, names)
    is_whole = expression is None or (isinstance(expression, ast.Call) and expression is value)
    if is_whole and len(inside) == 1 and not _is_method(value, inside[0]):
        expression = inside[0]
    if expression is not value and isinstance(value, ast.Call):
        cut = ".detach()"  # whoever is called may want a tensor
    return "" if expression is None else _edited(put, expression, cut)


def _literals(value: ast.expr) -> list[ast.expr]:
    """What is written out of tuples and lists that are assigned, or added to another one."""
    literals = [term for term in _terms(value) if isinstance(term, (ast.Tuple, ast.List))]
    inner = [one for literal in literals for one in literal.elts]
    return [one for one in inner if not _is_constant(one) and not _is_cut(one)]


def _is_cut(value: ast.expr) -> bool:
    """Whether an expression has no graph by the look of it."""
    function = value.func if isinstance(value, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in ("item", "detach", "tolist")


def _is_method(value: ast.expr, inner: ast.expr) -> bool:
    """Whether a call is one of a tensor's methods, or of their results'."""
    while isinstance(value, (ast.Call, ast.Attribute)):
        value = value.func if isinstance(value, ast.Call) else value.value
    return value is inner


def _part(value: ast.expr, path: tuple[str, ...]) -> ast.expr | None:
    """What is in a literal behind so many items."""
    for step in path:
        inner: list[ast.expr] = []
        if isinstance(value, ast.Dict):
            pairs = zip(value.keys, value.values, strict=True)
            inner = [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == step]
            inner = inner or value.values
        elif isinstance(value, ast.Call):
            inner = [word.value for word in value.keywords if word.arg == step.removeprefix(".")]
            inner = inner or (value.args if step.startswith(".") else [])
        elif isinstance(value, ast.Tuple) and step.startswith("["):
            inner = value.elts[int(step[1:-1]) :][:1]
        elif isinstance(value, (ast.List, ast.Tuple)):
            inner = [v for v in value.elts if not _is_constant(v)]
        elif isinstance(value, (ast.ListComp, ast.GeneratorExp)):
            inner = [value.elt]
        if len(inner) != 1 or isinstance(inner[0], ast.Starred):
            return None
        value = inner[0]
    return value


def _assignment(put: Put, cut: str) -> tuple[str, str]:
    """An assignment of the tensor itself."""
    name, value = ast.unparse(put.target), put.value
    terms = _terms(value)
    others = [term for term in terms if not contains(term, {name}) and not _is_number(term)]
    own = [term for term in terms if contains(term, {name})]
    if len(own) == 1 and others and _is_scaled(own[0], name):
        if ast.unparse(own[0]) != name:
            return "average", _edited_all(put, [_factor(term) for term in others], cut)
        if len(terms) == 2 and isinstance(value, ast.BinOp) and isinstance(put.node, ast.Assign):
            sign = "+" if isinstance(value.op, ast.Add) else "-"
            if sign == "+" or terms[0] is own[0]:
                return "sum", f"{name} {sign}= {_cut(put, others[0], cut)}"
        return "sum", _edited_all(put, others, cut)
    again = contains(value, {name})
    if again and put.unpacked and isinstance(put.node, ast.Assign):
        together = [one for target in put.node.targets for one in getattr(target, "elts", ())]
        again = contains(value, set(map(ast.unparse, together)))
    if again:
        return "state", put.source.written(put.node, [(one, "", ".detach()") for one in again])
    if put.unpacked:
        return "name", f"{name} = {name}.detach()"
    return "name", _edited(put, value, ".detach()")


def _terms(value: ast.expr) -> list[ast.expr]:
    """What is added up."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        return [*_terms(value.left), *_terms(value.right)]
    return [value]


def _is_scaled(term: ast.expr, name: str) -> bool:
    """Whether a term is what has that name, or a multiple of it."""
    if isinstance(term, ast.BinOp) and isinstance(term.op, _FACTORS):
        return any(ast.unparse(side) == name for side in (term.left, term.right))
    return ast.unparse(term) == name


def _factor(term: ast.expr) -> ast.expr:
    """Of a multiple of something, that; a term that is no such product as it is."""
    if isinstance(term, ast.BinOp) and isinstance(term.op, _FACTORS):
        if _is_number(term.left):
            return term.right
        if _is_number(term.right):
            return term.left
    return term


def _is_constant(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or (
        isinstance(value, (ast.List, ast.Tuple)) and not value.elts
    )


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is a number by the look of it: ``0.9``, ``1 - decay``."""
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        subtracts_name = isinstance(value.op, ast.Sub) and isinstance(value.right, ast.Name)
        return _is_number(value.left) and (subtracts_name or _is_number(value.right))
    return isinstance(value, ast.Constant)


def _cut(put: Put, expression: ast.expr, cut: str) -> str:
    return put.source.written(expression, [_edit(expression, cut)])


def _edited(put: Put, expression: ast.expr, cut: str) -> str:
    return _edited_all(put, [expression], cut)


def _edited_all(put: Put, expressions: list[ast.expr], cut: str) -> str:
    return put.source.written(put.node, [_edit(expression, cut) for expression in expressions])


def _edit(expression: ast.expr, cut: str) -> Edit:
    return (expression, "", cut) if isinstance(expression, _ATOMS) else (expression, "(", f"){cut}")
