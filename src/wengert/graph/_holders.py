"""Finding holders: the names, attributes and containers through which a program reaches an object.

It follows the garbage collector's referrers of an object up to a name: a local variable of a
running function, a global one, a variable kept by a function, a class, a paused generator or an
exception. Nothing has to be recorded beforehand, none of the program's code runs (see `_parts`),
and nothing is kept alive.
"""

from __future__ import annotations

import contextvars
import gc
import re
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wengert.autograd.naming import op_name
from wengert.core import introspection
from wengert.core.introspection import (
    CACHED,
    CONTAINERS,
    GENERATORS,
    LOCAL,
    PathStep,
    attribute_path,
    attribute_step,
    is_a,
)
from wengert.core.storage import format_location
from wengert.core.tensor import Node, NodeState, internal
from wengert.graph.formatting import shorten_path

_LEVELS = 12  # levels of referrers searched
_REFERRERS = 12  # of one object
_WIDEST = 5_000  # objects in one level
_VISITED = 400  # objects on the ways to one
_MOST = 4  # ways to one object
# Asking the collector for the referrers of as many objects takes about as long as looking
# through what all objects refer to.
_FEW = 60
_CHUNK = 256
_LOOP = 3  # steps that are looked at for whether they repeat


@dataclass(frozen=True, slots=True)
class Holder:
    """One way to an object.

    Attributes:
        path: how a program writes it: ``losses[3]``, ``self.state[0]``.
        scope: where the first name of the path lives: ``"local of train"``, ``"global of
            __main__"``, ``"kept by the function step"``.
        where: ``file:line``: of a local variable the line that its function is at.
        containers: the kinds of the containers on the way, outermost first.
        places: the path with a star for which item it is, ``losses[*]``, and for how often what
            repeats: ``head(.next)*.value``.
        stored: ``file:line`` that stored the tensor there, if the source tells.
        text: that line.
        remedy: the statement of that line as it is without the graph, if that can be said.
        kind: what that statement does: ``"sum"``, ``"average"``, ``"state"``, ``"container"``,
            ``"name"``, or nothing.
        scopes: the scope with a star for which item of a container keeps it.
    """

    path: str
    scope: str
    where: str
    containers: tuple[str, ...] = ()
    places: str = ""
    stored: str = ""
    text: str = ""
    remedy: str = ""
    kind: str = ""
    scopes: str = ""

    def __str__(self) -> str:
        at = f" ({shorten_path(self.where)})" if self.where else ""
        return f"{self.path}, {self.scope}{at}"


@dataclass(frozen=True, slots=True)
class Store:
    """A line that stored a value: ``file:line``, its text, and what `Holder` says of it."""

    where: str
    text: str
    kind: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Root:
    """Where a way begins: a name, the scope that it is in, and the source of that.

    Attributes:
        name: the name.
        scope: as in `Holder`.
        where: as in `Holder`.
        file: where the source of the scope is, if it has one.
        line: the first line of the function, 0 for a module or a class.
        keeper: of a call that has ended: the way to the exception that keeps it.
        session_output: whether an interactive session has it because it was shown.
    """

    name: str
    scope: str
    where: str = ""
    file: str = ""
    line: int = 0
    keeper: Way | None = None
    session_output: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """From a root over steps to an object, outermost first."""

    root: Root
    steps: tuple[PathStep, ...] = ()

    @property
    def path(self) -> str:
        """The way as a program writes it."""
        return self.root.name + "".join([step.text for step in self.steps])

    def order(self) -> tuple[str, str]:
        """What tells it from others."""
        return self.path, self.root.scope

    def holder(self, store: Store | None = None) -> Holder:
        """The way as plain data, with the line that stored at its end."""
        containers = tuple([step.container for step in self.steps if step.container])
        last = max((k for k, step in enumerate(self.steps) if step.container), default=-1)
        stars = [
            "[*]" if step.container and (k == last or not step.name) else step.text
            for k, step in enumerate(self.steps)
        ]
        root, places = self.root, self.root.name + _folded(stars)
        scopes = root.scope
        if root.keeper is not None:
            keeper = root.keeper
            scopes = f"{scopes.removesuffix(keeper.path)}{keeper.holder().places}"
        plain = Holder(self.path, root.scope, root.where, containers, places, scopes=scopes)
        if store is None:
            return plain
        return replace(
            plain, stored=store.where, text=store.text, remedy=store.remedy, kind=store.kind
        )


def _folded(steps: list[str]) -> str:
    """Steps as a program writes them, but what repeats, as in a linked list, once."""
    text, k = "", 0
    while k < len(steps):
        unit, many = [steps[k]], 1
        for size in range(1, _LOOP + 1):
            inner = steps[k : k + size]
            turns = 1
            while steps[k + turns * size : k + (turns + 1) * size] == inner:
                turns += 1
            if turns > 2 and any(step != "[*]" for step in inner):
                unit, many = inner, turns
                break
        text += "".join(unit) if many == 1 else f"({''.join(unit)})*"
        k += len(unit) * many
    return text


@dataclass(frozen=True, slots=True)
class _Climb:
    """An object on the way up, and the steps from it down to the one that is asked about."""

    obj: Any
    steps: tuple[PathStep, ...] = ()
    cell: types.CellType | None = None  # of a closure, when the way has just come through one

    def path(self) -> str:
        """The steps as a program writes them."""
        return "".join([step.text for step in self.steps])


class Search:
    """Looks for the holders of objects: of all at once, a level of referrers at a time.

    It empties the list of all objects, if it is given one.
    """

    def __init__(
        self, targets: Sequence[Any], objects: list[Any] | None = None, own: Sequence[Any] = ()
    ) -> None:
        objects = gc.get_objects() if objects is None else objects
        self.seen_objects: dict[int, Any] = {id(obj): obj for obj in targets}
        self.referrers: dict[int, list[Any]] = {}  # who refers to an object, by its id
        self.parts: dict[int, dict[int, PathStep]] = {}
        self.names: dict[int, list[Root]] = {}
        self.asking: set[int] = set()  # the frames whose keepers are looked for
        self.frames = _frames()
        ours = (targets, objects, own, *own, self.seen_objects, self.referrers, self.frames)
        self.ignored = {id(obj) for obj in (*ours, *self.frames)}
        self.ignored |= {id(namespace) for _, _, namespace in self._namespaces()}
        self._climb(dict(self.seen_objects), objects)
        reached = self.referrers.keys() | self.names.keys()
        lost = {id(obj): obj for obj in targets if id(obj) not in reached}
        if lost:
            self._climb_thoroughly(lost)

    def _climb(self, level: dict[int, Any], objects: list[Any]) -> None:
        """Meet who refers to some objects, and to those in turn, and note their names."""
        for _ in range(_LEVELS):
            level = self._next(level, _candidates(level, objects))
        objects.clear()  # `variables_of` counts who refers to a frame's variables
        self.names.clear()
        self._note_names()

    def _climb_thoroughly(self, lost: dict[int, Any]) -> None:
        """As `_climb`, where the collector does not tell who refers to some objects.

        It does not know what is in an array of objects; and some objects name it all that they
        refer to, but do not answer for one.
        """
        variables = [
            value for frame in self.frames for _, value in introspection.variables_of(frame)
        ]
        objects = gc.get_objects()
        arrays = [*filter(introspection.is_of_objects, variables), *_arrays_in(objects)]
        self.ignored |= {id(lost), id(variables), id(arrays), id(objects)}
        distinct = {id(array): array for array in arrays}
        self._climb(self._next(lost, [*_referring(lost, objects), *distinct.values()]), objects)

    def ways(self, target: Any) -> list[Way]:
        """The ways to an object, the shortest first; one without a name if there is no other.

        Of equally short ones in the order of their names: that of referrers is the collector's.
        What an interactive session has shown it keeps under several names, of which one is last.
        """
        ways: list[Way] = []
        session_ways: list[Way] = []
        visited = {id(target): target}
        level = [_Climb(target)]
        while level and len(ways) < _MOST:
            ends: list[Way] = []
            above: list[_Climb] = []
            for climb in sorted(level, key=_Climb.path):
                ends += [Way(root, climb.steps) for root in self.names.get(id(climb.obj), ())]
                for referrer in self.referrers.get(id(climb.obj), ()):
                    if id(referrer) in visited or len(visited) > _VISITED:
                        continue
                    begun, higher = self._up(referrer, climb)
                    ends += begun
                    if higher is not None:
                        visited[id(referrer)] = referrer
                        above.append(higher)
            session_ways += [way for way in ends if way.root.session_output]
            ways += sorted([way for way in ends if not way.root.session_output], key=Way.order)
            level = above
        session_ways.sort(
            key=lambda way: (way.root.name != "Out", way.root.name == "IPython", way.order())
        )
        ways += session_ways[:1]
        return ways[:_MOST] or [Way(Root("(no name)", _nameless(list(visited.values())[1:])))]

    def holders(self, target: Any) -> list[Holder]:
        """The ways to an object as plain data."""
        return [way.holder() for way in self.ways(target)]

    def _next(self, level: dict[int, Any], candidates: list[Any]) -> dict[int, Any]:
        """Who refers to the objects of a level, and was not met before."""
        above: dict[int, Any] = {}
        for referrer in candidates:
            if id(referrer) in self.ignored or referrer is level or _says_nothing(referrer):
                continue
            for key in {id(target) for target in _referents(referrer)} & level.keys():
                if key not in self.referrers:
                    self.referrers[key] = []
                    self.ignored.add(id(self.referrers[key]))
                if key != id(referrer) and len(self.referrers[key]) < _REFERRERS:
                    self.referrers[key].append(referrer)
                    if id(referrer) not in self.seen_objects and len(above) < _WIDEST:
                        above[id(referrer)] = referrer
        self.seen_objects.update(above)
        return {key: obj for key, obj in above.items() if not is_a(obj, (type, Node))}

    def _namespaces(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The names, the files and the global variables of modules."""
        visited = set()
        for name, module in list(sys.modules.items()):
            if is_a(module, types.ModuleType):
                namespace = types.ModuleType.__getattribute__(module, "__dict__")
                visited.add(id(namespace))
                yield name, _file_of(module), namespace
        for frame in self.frames:  # of code that `exec` runs
            if id(frame.f_globals) not in visited and frame.f_code.co_name == "<module>":
                visited.add(id(frame.f_globals))
                name = str(frame.f_globals.get("__name__"))
                yield name, frame.f_code.co_filename, frame.f_globals

    def _note_names(self) -> None:
        for frame in self.frames:
            code = frame.f_code
            if code.co_name == "<module>":
                continue  # its locals are the module's globals
            for name, value in introspection.variables_of(frame):
                if id(value) in self.seen_objects:
                    self._note(
                        value, _local(name, f"local of {code.co_name}", code, frame.f_lineno)
                    )
        for module, file, namespace in self._namespaces():
            if module.partition(".")[0] == "wengert":
                continue
            for name, value in list(namespace.items()):
                if id(value) in self.seen_objects:
                    self._note(value, _global(str(name), module, file, namespace))
        for variable, value in contextvars.copy_context().items():
            self._note(value, Root(f"{variable.name}.get()", "context variable"))

    def _note(self, value: Any, root: Root) -> None:
        if self.seen_objects.get(id(value), self) is value:
            self.names.setdefault(id(value), []).append(root)

    def _up(self, referrer: Any, climb: _Climb) -> tuple[list[Way], _Climb | None]:
        """From an object to a referrer: the ways that begin there, and where it goes on."""
        kind, steps = type(referrer), climb.steps
        if introspection.module_of(kind).partition(".")[0] in _SHELLS:
            return [Way(Root("IPython", _BY_IPYTHON, session_output=True), steps)], None
        if kind is types.CellType:
            return [], _Climb(referrer, steps, referrer)
        if kind is tuple and climb.cell is climb.obj is not None:
            return [], replace(climb, obj=referrer)  # of a function's cells
        if kind is types.FunctionType:
            return self._in_function(referrer, climb)
        if kind is types.FrameType:
            return self._in_frame(referrer, climb)
        if not steps and issubclass(kind, _KEEPING) and is_a(climb.obj, _KEEPING):
            return [], _Climb(referrer)  # from a frame over tracebacks to an exception
        if issubclass(kind, type):
            return _of_class(referrer, climb), None
        if issubclass(kind, Node):
            return _of_node(referrer, climb), None
        special = _special_steps(referrer, climb)
        if special is not None:
            return [], _Climb(referrer, special)
        return self._in_parts(referrer, climb)

    def _in_parts(self, referrer: Any, climb: _Climb) -> tuple[list[Way], _Climb | None]:
        """The way through an object that has parts; at a generator it may begin."""
        if id(referrer) not in self.parts:
            steps_by_id = self.parts[id(referrer)] = {}
            for step, value in introspection.parts_of(referrer):
                if id(value) in self.seen_objects:
                    steps_by_id.setdefault(id(value), step)
        kind = type(referrer)
        direct = self.parts[id(referrer)].get(id(_content(climb)))
        if direct is None and issubclass(kind, CONTAINERS):
            return [], None  # it has changed meanwhile
        step = direct or PathStep(f" (in a {introspection.class_name(kind)})")
        begins = []
        if kind in GENERATORS:
            prefix, what = GENERATORS[kind]
            code = getattr(referrer, f"{prefix}_code")
            begins = _of_code(step.name, f"kept by the {what} {code.co_name}", code, climb.steps)
        return begins, _Climb(referrer, (step, *climb.steps))

    def _in_function(
        self, function: types.FunctionType, climb: _Climb
    ) -> tuple[list[Way], _Climb | None]:
        """A variable that a function has closed over, a default argument, an attribute."""
        steps, code = climb.steps, function.__code__
        if climb.cell is not None:
            name = introspection.closed_over(function, climb.cell)
            scope = f"kept by the function {code.co_name}"
        elif climb.obj is function.__dict__ and steps:
            own = attribute_step(steps[0].name, types.FunctionType)
            return [], _Climb(function, (own, *steps[1:]))
        else:
            name = introspection.default_of(function, steps[0], climb.obj) if steps else None
            scope, steps = f"default argument of {code.co_name}", steps[1:]
        if name is None:
            return [], None
        return _of_code(name, scope, code, steps), _Climb(function, (attribute_step(name), *steps))

    def _in_frame(self, frame: types.FrameType, climb: _Climb) -> tuple[list[Way], _Climb | None]:
        """A variable of a call that has ended, whose frame an exception keeps."""
        if type(climb.obj) is types.FrameType or id(frame) in self.asking:
            return [], None
        obj, code = _content(climb), frame.f_code
        name = next(
            (name for name, value in introspection.variables_of(frame) if value is obj), None
        )
        if name is None:
            return [], None
        self.asking.add(id(frame))
        keeper = self.ways(frame)[0]
        self.asking.discard(id(frame))
        scope = f"local of {code.co_name}, kept by the traceback of {keeper.path}"
        ways = _of_code(name, scope, code, climb.steps, frame.f_lineno)
        return [replace(way, root=replace(way.root, keeper=keeper)) for way in ways], None


def _global(name: str, module: str, file: str, namespace: dict[str, Any]) -> Root:
    """A global variable; of an interactive session it may be a result that it has shown."""
    if module == "builtins" and name == "_":
        return Root("_", "kept by Python because it was shown", session_output=True)
    if "IPython" in sys.modules and "Out" in namespace and _SHOWN.fullmatch(name):
        return Root(name, _BY_IPYTHON, session_output=True)
    name = f"sys.{name}" if module == "sys" else name
    return Root(name, f"global of {module}", file, file)


_SHELLS = {"IPython", "ipykernel"}  # packages whose objects have these results in more places
_BY_IPYTHON = "kept by IPython because it was shown"
# What IPython calls the results that it has shown: the latest three, each by its number, and all.
_SHOWN = re.compile(r"_{1,3}|_\d+|_oh|Out")


_KEEPING = (types.FrameType, types.TracebackType, BaseException)


def _nameless(above: list[Any]) -> str:
    """What can be said of an object that no name leads to, but others above it hold."""
    if not above:
        return "held by a running expression, or by something that only C code sees"
    kinds = [introspection.class_name(type(obj)) for obj in above if not is_a(obj, CONTAINERS)]
    what = f"a {kinds[-1]}" if kinds else "containers"
    return f"kept by {what} that no name leads to"


def _content(climb: _Climb) -> Any:
    """What the way leads to: of a cell, what is in it."""
    if climb.cell is None:
        return climb.obj
    try:
        return climb.cell.cell_contents
    except ValueError:  # empty by now
        return None


def _special_steps(referrer: Any, climb: _Climb) -> tuple[PathStep, ...] | None:
    """The steps from an object that reaches its parts in a way of its own; None for others."""
    kind, steps = type(referrer), climb.steps
    if issubclass(kind, LOCAL) and len(steps) > 1:
        # Its dict has one for each thread, and that has the attributes.
        return (attribute_step(steps[1].name, kind), *steps[2:])
    if kind is CACHED:
        inner = steps[1:] if type(climb.obj) is dict else steps
        return (PathStep(" (in its cache)", container="lru_cache"), *inner)
    if _is_namespace(referrer, climb):
        return attribute_path(steps[0], kind, steps[1:])
    return None


def _is_namespace(referrer: Any, climb: _Climb) -> bool:
    """Whether the dict that the way has come to has the attributes of who refers to it."""
    if type(climb.obj) is not dict or not climb.steps or not climb.steps[0].name:
        return False
    if climb.steps[0].text.startswith(".") or type(referrer) in (*CONTAINERS, *GENERATORS):
        return False
    if introspection.namespace_of(referrer) is climb.obj:
        return True
    # A class may hide it. Then the dict is none of the parts that can be seen.
    components = introspection.parts_of(referrer)
    return not any(value is climb.obj for _, value in components) and not is_a(referrer, dict)


def _of_code(
    name: str, scope: str, code: types.CodeType, steps: tuple[PathStep, ...], line: int = 0
) -> list[Way]:
    return [] if code.co_filename in internal else [Way(_local(name, scope, code, line), steps)]


def _local(name: str, scope: str, code: types.CodeType, line: int | None) -> Root:
    """A variable of a function."""
    first = code.co_firstlineno
    return Root(
        name, scope, format_location(code.co_filename, line or first), code.co_filename, first
    )


def _of_class(kind: type, climb: _Climb) -> list[Way]:
    """An attribute of a class."""
    steps = climb.steps
    if type(climb.obj) is not dict or not steps or not steps[0].name:
        return []
    module = introspection.module_of(kind)
    file = _file_of(sys.modules.get(module))
    root = Root(introspection.class_name(kind), f"class of {module}", file=file)
    return [Way(root, (attribute_step(steps[0].name, kind), *steps[1:]))]


def _of_node(node: Node, climb: _Climb) -> list[Way]:
    """What a node's context keeps beside what was saved with it."""
    if climb.obj is not getattr(node, "ctx", None):
        return []
    return _of_code("ctx", f"of a call of {op_name(node)}", node.code, climb.steps)


def _candidates(level: dict[int, Any], objects: list[Any]) -> list[Any]:
    """Objects of which some refer to those of a level, and all who do are among them."""
    if not level:
        return []
    if len(level) <= _FEW:
        asked = tuple(level.values())  # since Python 3.13 the arguments are among the answers
        return [referrer for referrer in gc.get_referrers(*asked) if referrer is not asked]
    return _referring(level, objects)


def _referring(level: dict[int, Any], objects: list[Any]) -> list[Any]:
    referrers, ids = [], set(level)
    for start in range(0, len(objects), _CHUNK):
        chunk = objects[start : start + _CHUNK]
        if not ids.isdisjoint(map(id, gc.get_referents(*chunk))):
            referrers += chunk
    return referrers


def _arrays_in(objects: list[Any]) -> Iterator[Any]:
    """The arrays of objects that objects refer to."""
    for start in range(0, len(objects), _CHUNK):
        referents = gc.get_referents(*objects[start : start + _CHUNK])
        yield from filter(introspection.is_of_objects, referents)


def _referents(obj: Any) -> list[Any]:
    if introspection.is_of_objects(obj):
        return [value for _, value in introspection.parts_of(obj)]
    return gc.get_referents(obj)


def _file_of(module: Any) -> str:
    """The source of a module, if it has some."""
    if not is_a(module, types.ModuleType):
        return ""
    return str(types.ModuleType.__getattribute__(module, "__dict__").get("__file__") or "")


def _says_nothing(referrer: Any) -> bool:
    """Whether an object is on no way."""
    return is_a(referrer, (Search, _Climb, NodeState, types.ModuleType))


def _frames() -> list[types.FrameType]:
    """The frames of all threads, this one's first, without the package's own.

    No variable here is this call's own frame: one that holds itself outlives its call, and so do
    those that called it, with their variables.
    """
    tops = sys._current_frames()
    del tops[threading.get_ident()]
    tops[threading.get_ident()] = sys._getframe(1)
    frames = []
    while tops:
        inner: types.FrameType | None = tops.popitem()[1]
        while inner is not None:
            if inner.f_code.co_filename not in internal:
                frames.append(inner)
            inner = inner.f_back
    return frames
