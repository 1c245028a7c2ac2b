"""Which line stored a value where it is held, and how that line reads without the graph.

A way has a scope and leads over attributes and containers. In the source of the scope, or of the
class that has the attribute, there are statements that assign there or put something into the
container. Of several it is the one that made the value, or that stores what the making line
assigned, or goes on from its own value, or else the last.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from wengert.core import introspection
from wengert.core.introspection import AS_KEY, PathStep
from wengert.core.storage import format_location, line_of
from wengert.core.tensor import Node, internal
from wengert.graph._holders import Store, Way
from wengert.graph._remedies import Put, remedy, writes
from wengert.graph._source import Source, contains, parsed_source, simple_statements, spans

# Which argument of a container's method becomes an item.
_METHODS = {
    "append": 0, "appendleft": 0, "add": 0, "put": 0, "put_nowait": 0, "push": 0, "insert": 1,
    "setdefault": 1, "__setitem__": 1, "extend": 0, "extendleft": 0, "update": 0,
}  # fmt: skip
_WRITING = ("write", "item", "slice", "augment")  # what may have a tensor as its target
_READING = {"setdefault", "get", "__getitem__"}  # what they return is an item
# Functions that put their second argument into their first.
_FUNCTIONS = {"heappush", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right"}
# Of classes of the standard library, what has their items.
_INNER = {
    "queue": ("queue",), "collections": ("data",), "weakref": ("data",),
    "functools": ("args", "keywords"), "builtins": ("__self__",),
}  # fmt: skip
_UNSHOWN = (
    "IPython keeps each result that it shows: end the line with a semicolon, or show loss.item();"
    " %reset -f out lets go of those so far"
)
_WITHOUT_FRAMES = (
    "keep str(error), or error.with_traceback(None), instead of the exception: its traceback keeps"
    " the variables of all calls that it ended"
)
_UNLIKELY, _ELSEWHERE, _IMPOSSIBLE, _SURE = -3, -1, -100, 4


class _Origin(NamedTuple):
    """Where a value was made."""

    file: str
    line: int
    scalar: bool


class _Likely(NamedTuple):
    """A store, and how likely it is the one."""

    rank: int
    store: Store


class _Location(NamedTuple):
    """Where a way ends: a name or an attribute, and items behind it."""

    name: str
    attribute: bool
    items: tuple[str, ...]  # keys that are strings, nothing for other items
    functions: tuple[tuple[str, int], ...]  # files and first lines of those who may store there
    inner: bool = False  # of something that is in a container itself


class Stores:
    """Finds stores; what many values share is looked up once."""

    def __init__(self) -> None:
        self.known: dict[tuple[_Location, _Origin], _Likely | None] = {}

    def store_of(self, way: Way, node: Node, scalar: bool) -> Store | None:
        """The line that stored the tensor of a node where a way leads, if the source tells.

        What an exception keeps alive was stored by the line that stored the exception.
        """
        if way.root.keeper is not None:
            store = self.store_of(way.root.keeper, node, scalar) or Store("", "", "name", "")
            return replace(store, remedy=_WITHOUT_FRAMES)
        if way.root.session_output:
            return Store("", "", "container", _UNSHOWN)
        origin = _Origin(node.code.co_filename, line_of(node.code, node.lasti), scalar)
        if not way.root.file and way.root.scope.startswith("global of"):
            # Of a session: cells store its variables, most likely the one that made the value.
            way = replace(way, root=replace(way.root, file=origin.file))
        candidates = [
            likely for location in _locations(way) if (likely := self._likeliest(location, origin))
        ]
        if not candidates:
            return None
        store = max(candidates, key=lambda likely: likely.rank).store
        return replace(store, remedy="") if way.steps[-1:] == (AS_KEY,) else store

    def _likeliest(self, location: _Location, origin: _Origin) -> _Likely | None:
        key = location, origin
        if key not in self.known:
            self.known[key] = _likeliest_store(*key)
        return self.known[key]


def _locations(way: Way) -> Iterator[_Location]:
    """Where a way ends: behind its last attribute, or behind the one before."""
    root, steps = way.root, [step for step in way.steps if not _is_inner(step)]
    scope = [(root.file, root.line)] if root.file else []
    attributes = [k for k, step in enumerate(steps) if step.is_attribute]
    for anchor in [*reversed(attributes), -1][:2]:
        items = tuple([_item(step) for step in steps[anchor + 1 :]])
        if anchor < 0:
            yield _Location(root.name, False, items, tuple(scope))
        else:
            owner = steps[anchor].owner
            functions = tuple(dict.fromkeys([*(_methods(owner) if owner else []), *scope]))
            inner = any(step.container for step in steps[:anchor])
            yield _Location(steps[anchor].name, True, items, functions, inner)


def _is_inner(step: PathStep) -> bool:
    """Whether a step leads to where a queue, or a container in Python, keeps its items."""
    return step.owner is not None and step.name in _INNER.get(
        introspection.module_of(step.owner), ()
    )


def _item(step: PathStep) -> str:
    """A key, which of a tuple, or an attribute; it says nothing which of a list that grows."""
    if step.container == "tuple" or step.text.startswith("."):
        return step.text
    return step.name if step.container else ""


def _methods(kind: type) -> list[tuple[str, int]]:
    """The files and the first lines of a class's methods, inherited ones too."""
    locations = []
    for base in introspection.bases_of(kind):
        for member in introspection.class_variables(base).values():
            for function in _functions_in(member):
                code = function.__code__
                if code.co_filename not in internal:
                    locations.append((code.co_filename, code.co_firstlineno))
    return locations


def _functions_in(member: object) -> list[types.FunctionType]:
    inner: list[object] = [member]
    if type(member) in (staticmethod, classmethod):
        inner = [member.__func__]  # type: ignore[attr-defined]
    elif type(member) is property:
        inner = [member.fget, member.fset]
    return [one for one in inner if type(one) is types.FunctionType]


def _likeliest_store(location: _Location, origin: _Origin) -> _Likely | None:
    """The likeliest store: in the scope, or else in its file, or else where the value was made."""
    names = _assigned(origin)
    likely: list[tuple[int, int, Put]] = []
    for less, puts in _stages(location, origin, names):
        likely += [
            (_likelihood(put, location, origin, names) + less, put.line, put) for put in puts
        ]
        if any(rank >= _SURE for rank, _, _ in likely):
            break
    best = max(likely, key=lambda one: one[:2], default=None)
    if best is None or best[0] <= _IMPOSSIBLE:
        return None
    rank, _, put = best
    kind, text = remedy(put, names, origin.scalar)
    at = format_location(put.source.file, put.line)
    return _Likely(rank, Store(at, put.source.line(put.line), kind, text))


def _stages(
    location: _Location, origin: _Origin, names: frozenset[str]
) -> Iterator[tuple[int, Iterator[Put]]]:
    """Where to look, and how much less likely what is found there is."""
    yield 0, _puts_in(location.functions, location)
    local = not location.attribute and location.functions and location.functions[0][1]
    if not local:
        yield _ELSEWHERE, _puts_in(((file, 0) for file, _ in location.functions), location)
    yield 0, _puts_near_origin(location, origin, names)


def _puts_in(functions: Iterable[tuple[str, int]], location: _Location) -> Iterator[Put]:
    for file, line in dict.fromkeys(functions):
        source = parsed_source(file)
        if source is not None:
            yield from _puts(source, source.function(line), location)


def _puts(source: Source, region: ast.AST, location: _Location) -> Iterator[Put]:
    """The statements of a region that store at a place."""
    for node in ast.walk(region):
        for put, base in _stores(source, node):
            if not _is_base(base, location):
                continue
            if put.depth <= len(location.items) and put.how != "write":
                yield put.inside(location.items)
            elif put.depth >= len(location.items) and put.how in _WRITING:
                yield replace(put, how="write")


def _is_base(base: ast.expr, location: _Location) -> bool:
    if isinstance(base, ast.Attribute):
        private = base.attr.startswith("__") and location.name.endswith(base.attr)
        return location.attribute and (base.attr == location.name or private)
    return isinstance(base, ast.Name) and not location.attribute and base.id == location.name


def _stores(source: Source, node: ast.AST) -> Iterator[tuple[Put, ast.expr]]:
    """What a node of the tree stores, and in what: the innermost name or attribute."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for one, value, unpacked in _unpacked(target, node.value):
                base, depth = _base(one)
                yield Put(source, node, _store_kind(one), one, value, depth, unpacked), base
    elif isinstance(node, ast.AugAssign):
        base, depth = _base(node.target)
        yield Put(source, node, "augment", node.target, node.value, depth), base
    elif isinstance(node, ast.Call):
        yield from _stores_by_call(source, node)


def _store_kind(target: ast.expr) -> str:
    """How an assignment to a target stores."""
    if isinstance(target, ast.Subscript):
        return "slice" if isinstance(target.slice, ast.Slice) else "item"
    return "assign"


def _stores_by_call(source: Source, node: ast.Call) -> Iterator[tuple[Put, ast.expr]]:
    function, arguments = node.func, node.args
    if isinstance(function, ast.Attribute) and function.attr in _METHODS:
        index = _METHODS[function.attr]
        base, depth = _base(function.value)
        if len(arguments) > index:
            value: ast.expr = arguments[index]
        elif function.attr == "update" and node.keywords:
            value = node
        else:
            return
        how = "update" if function.attr == "update" else "put"
        how = "extend" if function.attr.startswith("extend") else how
        yield Put(source, node, how, function.value, value, depth + 1), base
    elif _name_of(function) in _FUNCTIONS and len(arguments) > 1:
        base, depth = _base(arguments[0])
        yield Put(source, node, "put", arguments[0], arguments[1], depth + 1), base
    elif writes(node) is not None:
        base, depth = _base(node)
        yield Put(source, node, "write", function, node, depth), base
    elif isinstance(function, ast.Name) and function.id == "setattr" and len(arguments) == 3:
        name = arguments[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            base = ast.Attribute(arguments[0], name.value)
            yield Put(source, node, "assign", base, arguments[2], 0), base


def _name_of(function: ast.expr) -> str:
    """The last name of what is called."""
    return str(getattr(function, "attr", "") or getattr(function, "id", ""))


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """The targets of an assignment with their values; whether that is all of the right side."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value, False
        return
    same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
    for k, one in enumerate(target.elts):
        inner = one.value if isinstance(one, ast.Starred) else one
        if same:
            assert isinstance(value, (ast.Tuple, ast.List))
            yield from _unpacked(inner, value.elts[k])
        else:
            yield from ((element, value, True) for element, _, _ in _unpacked(inner, value))


def _base(expression: ast.expr) -> tuple[ast.expr, int]:
    """What is written in front of subscripts and of writes, and how many subscripts there are."""
    depth = 0
    while True:
        written = writes(expression)
        if written is not None:
            expression = written
        elif isinstance(expression, ast.Subscript):
            expression, depth = expression.value, depth + 1
        elif (
            isinstance(expression, ast.Call)
            and isinstance(expression.func, ast.Attribute)
            and expression.func.attr in _READING
        ):
            expression, depth = expression.func.value, depth + 1
        else:
            return expression, depth


def _assigned(origin: _Origin) -> frozenset[str]:
    """What the line that made a value assigned, as it is written."""
    source = parsed_source(origin.file)
    if source is None:
        return frozenset()
    return frozenset(
        ast.unparse(put.target)
        for node in simple_statements(source.around(origin.line))
        if spans(node, origin.line)
        for put, _ in _stores(source, node)
        if put.how == "assign"
    )


def _likelihood(put: Put, location: _Location, origin: _Origin, names: frozenset[str]) -> int:
    """How likely it is that a statement stored the value."""
    on_line = put.source.file == origin.file and spans(put.node, origin.line)
    if put.is_empty() or (put.how == "write" and not on_line):
        return _IMPOSSIBLE
    rank = 0
    if put.source.file == origin.file:
        rank += 8 * on_line
        near = put.source.around(origin.line)
        rank += 4 * (bool(contains(put.value, names)) and spans(near, put.line))
    rank += 2 * put.goes_on()
    if location.items and put.how == "assign":
        rank += _UNLIKELY  # it may as well be the container
    if location.inner and put.how == "assign":
        rank += _ELSEWHERE  # as many of these come to be as the container gets
    return rank


def _puts_near_origin(location: _Location, origin: _Origin, names: frozenset[str]) -> Iterator[Put]:
    """Statements next to the line that made the value, which store it under another name."""
    source = parsed_source(origin.file)
    if source is None:
        return
    region = source.around(origin.line)
    for node in ast.walk(region):
        on_line = spans(node, origin.line)
        for put, base in _stores(source, node):
            if on_line and put.how in _WRITING and not location.items:
                yield replace(put, how="write")
                continue
            if not (location.items or location.attribute) or not (
                on_line or contains(put.value, names)
            ):
                continue
            same = isinstance(base, ast.Attribute) and base.attr == location.name
            if put.how == "assign" and (location.items or not same):
                continue
            yield put
