"""Who holds an object: the names, attributes and containers through which a program reaches it.

Found by asking the garbage collector who refers to an object, and to those in turn, until there
is a name: a local variable of a running function, a global one, a variable that a function or
a paused generator keeps. Nothing has to be recorded before.
"""

from __future__ import annotations

import gc
import inspect
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from wengert._core import Node, internal
from wengert.graph._format import short

_DEPTH = 8
_MOST = 4  # ways to one object


@dataclass(frozen=True, slots=True)
class Holder:
    """One way to an object.

    Attributes:
        path: how a program writes it: ``losses[3]``, ``self.state[0]``.
        scope: where the first name of the path lives: ``"local of train"``, ``"global of
            __main__"``, ``"kept by the function step"``.
        where: ``file:line``: of a local variable the line that its function is at.
        containers: the kinds of the containers on the way, outermost first.
    """

    path: str
    scope: str
    where: str
    containers: tuple[str, ...] = ()

    def __str__(self) -> str:
        at = f" ({short(self.where)})" if self.where else ""
        return f"{self.path}, {self.scope}{at}"


@dataclass(frozen=True, slots=True)
class _Way:
    """A way down from some object to the one that is asked about.

    Attributes:
        origin: the id of the one that is asked about.
        suffix: what is written behind the object to get there.
        containers: the kinds of the containers on the way, outermost first.
        key: of a dict that may be the attributes of an object: under which key it goes on.
        cell: of a closure: the variable in which it goes on.
    """

    origin: int
    suffix: str = ""
    containers: tuple[str, ...] = ()
    key: Any = None
    cell: Any = None

    def written(self) -> str:
        """The suffix, where the object is a dict like any other."""
        return self.suffix if self.key is None else f"[{self.key!r}]{self.suffix}"


class Search:
    """Looks for the holders of objects: all of them at once, a level of referrers at a time."""

    def __init__(self, things: Iterable[Any]) -> None:
        self.found: dict[int, list[Holder]] = {}
        self.names: dict[int, list[tuple[str, str, str]]] = {}
        self.seen: set[tuple[int, int]] = set()  # an object, and which one leads to it
        self._note_names()
        level = {id(thing): (thing, [_Way(id(thing))]) for thing in things}
        self.seen.update((key, key) for key in level)
        for _ in range(_DEPTH):
            self._take_rooted(level)
            level = self._above(level)
        self._take_rooted(level)

    def holders(self, thing: Any) -> list[Holder]:
        """The ways to an object, the shortest first."""
        return self.found.get(id(thing), [])

    def _note_names(self) -> None:
        for frame in _frames():
            if frame.f_code.co_filename not in internal:
                self._note_frame(frame)
        for name, module in list(sys.modules.items()):
            if isinstance(module, types.ModuleType) and not name.startswith("wengert"):
                file = getattr(module, "__file__", None) or ""
                for key, value in list(vars(module).items()):
                    self._note(value, key, f"global of {name}", file)

    def _note_frame(self, frame: types.FrameType) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            return  # its locals are the module's globals
        where = f"{code.co_filename}:{frame.f_lineno}"
        variables = frame.f_locals
        for key, value in variables.items():
            self._note(value, key, f"local of {code.co_name}", where)
        if sys.version_info < (3, 13) and code.co_flags & inspect.CO_OPTIMIZED:
            # A copy, which the frame would keep, and all that is in it (PEP 667).
            variables.clear()

    def _note(self, value: Any, key: str, scope: str, where: str) -> None:
        self.names.setdefault(id(value), []).append((key, scope, where))

    def _take_rooted(self, level: _Level) -> None:
        for thing, ways in level.values():
            for way in ways:
                holders = self.found.setdefault(way.origin, [])
                holders += self._rooted(thing, way)
                del holders[_MOST:]

    def _rooted(self, thing: Any, way: _Way) -> Iterator[Holder]:
        suffix, containers = way.written(), way.containers
        for key, scope, where in self.names.get(id(thing), ()):
            yield Holder(key + suffix, scope, where, containers)
        code, scope = None, ""
        if isinstance(thing, types.FunctionType):
            code, scope = thing.__code__, f"kept by the function {thing.__name__}"
        elif isinstance(thing, types.GeneratorType):
            code, scope = thing.gi_code, f"kept by the generator {thing.gi_code.co_name}"
        if code is not None and code.co_filename not in internal:
            where = f"{code.co_filename}:{code.co_firstlineno}"
            yield Holder(suffix.lstrip("."), scope, where, containers)

    def _above(self, level: _Level) -> _Level:
        """Who refers to the objects of a level, but for those that were met before."""
        targets = [
            thing
            for thing, ways in level.values()
            if any(len(self.found[way.origin]) < _MOST for way in ways)
        ]
        above: _Level = {}
        ours = {id(targets), id(level), *(id(pair) for pair in level.values())}
        for referrer in gc.get_referrers(*targets) if targets else ():
            if id(referrer) in ours or _says_nothing(referrer):
                continue
            key = id(referrer)
            ways = [way for way in _up(referrer, level) if (key, way.origin) not in self.seen]
            if ways:
                self.seen.update((key, way.origin) for way in ways)
                above[key] = (referrer, ways)
        return above


_Level = dict[int, tuple[Any, list[_Way]]]


def _says_nothing(referrer: Any) -> bool:
    """Whether an object is on no way: a node, a frame, a module, whose names are known already."""
    if isinstance(referrer, (Node, Search, _Way, types.FrameType, types.ModuleType, type)):
        return True
    return isinstance(referrer, dict) and "__name__" in referrer and "__loader__" in referrer


def _frames() -> Iterator[types.FrameType]:
    """The frames of all threads."""
    for frame in sys._current_frames().values():
        inner: types.FrameType | None = frame
        while inner is not None:
            yield inner
            inner = inner.f_back


def _up(referrer: Any, level: _Level) -> Iterator[_Way]:
    """From who refers to objects of a level, the ways down through them."""
    for place, target in _places(referrer, level):
        for way in level[id(target)][1]:
            yield _extended(referrer, place, target, way)


def _extended(referrer: Any, place: Any, target: Any, way: _Way) -> _Way:
    if isinstance(target, dict) and way.key is not None and place == ".__dict__":
        return replace(way, suffix=f".{way.key}{way.suffix}", key=None)
    suffix, containers = way.written(), way.containers
    if way.key is not None:
        containers = (type(target).__name__, *containers)
    if isinstance(referrer, dict):
        return _Way(way.origin, suffix, containers, key=place)
    if isinstance(referrer, types.CellType):
        return _Way(way.origin, suffix, containers, cell=referrer)
    if way.cell is not None and isinstance(referrer, tuple):
        return replace(way, suffix=suffix)
    if way.cell is not None and isinstance(referrer, types.FunctionType):
        closure = zip(referrer.__code__.co_freevars, referrer.__closure__ or (), strict=True)
        name = next((n for n, cell in closure if cell is way.cell), "?")
        return _Way(way.origin, f".{name}{suffix}", containers)
    if isinstance(referrer, _CONTAINERS):
        containers = (type(referrer).__name__, *containers)
    return _Way(way.origin, f"{place}{suffix}", containers)


_CONTAINERS = (list, tuple, deque, set, frozenset)


def _places(referrer: Any, level: _Level) -> Iterator[tuple[Any, Any]]:
    """Where in an object those of a level are: a dict's key, or what is written behind it."""
    for place, value in _parts(referrer):
        if id(value) in level:
            yield place, value


def _parts(holder: Any) -> Iterator[tuple[Any, Any]]:
    """What an object is made of, and where."""
    if isinstance(holder, dict):
        yield from list(holder.items())
    elif isinstance(holder, (list, tuple, deque)):
        yield from ((f"[{index}]", value) for index, value in enumerate(list(holder)))
    elif isinstance(holder, (set, frozenset)):
        yield from ((" (in the set)", value) for value in list(holder))
    elif isinstance(holder, types.GeneratorType):
        names = {} if holder.gi_frame is None else holder.gi_frame.f_locals
        yield from ((f".{name}", value) for name, value in names.items())
    elif isinstance(holder, (types.CellType, types.MethodType, types.FunctionType)):
        yield from (("", value) for value in gc.get_referents(holder))
    else:
        yield from _attributes(holder)


def _attributes(holder: Any) -> Iterator[tuple[str, Any]]:
    attributes = getattr(holder, "__dict__", {})
    yield ".__dict__", attributes
    yield from ((f".{name}", value) for name, value in list(attributes.items()))
    for kind in type(holder).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield f".{name}", getattr(holder, name, None)
