"""Parameters that no gradient ever reached."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wengert._core import Leaf, Tensor, shape_of
from wengert._storage import where_of
from wengert.autograd._engine import Walk
from wengert.graph._memory import Finding

_NAMED = 4  # modules of one line that a finding names


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A parameter that wanted a gradient and had got none: where it was made, its names."""

    where: str
    module: str
    name: str
    elements: int
    calls: int


class Unreached:
    """Finds parameters of trained modules that no backward or grad call gave a gradient.

    A module is trained if any of its parameters got one. `after` is told of every call; `look`
    is given all objects that the garbage collector knows, as often as is cheap: what has gone
    before the next look is remembered from the one before.
    """

    def __init__(self, module: type) -> None:
        self._module = module
        self._reached: dict[int, weakref.ref[Tensor]] = {}
        self._suspects: dict[int, _Suspect] = {}
        self._calls = 0

    def after(self, walk: Walk) -> None:
        """Note which tensors a walk has computed gradients for."""
        self._calls += 1
        reached = {id(leaf.tensor()) for leaf in walk.final if type(leaf) is Leaf}
        if reached <= self._reached.keys():
            return
        for leaf in walk.final:
            tensor = leaf.tensor() if type(leaf) is Leaf else None
            if tensor is not None and id(tensor) not in self._reached:
                self._suspects.pop(id(tensor), None)
                self._reached[id(tensor)] = weakref.ref(tensor, self._forget(id(tensor)))

    def _forget(self, key: int) -> Any:
        reached = self._reached
        return lambda _: reached.pop(key, None)  # another tensor may get the id

    def look(self, things: Sequence[Any]) -> None:
        """Take note of the parameters that wait for their first gradient."""
        for root in self._roots(things):
            named = list(root.named_parameters())
            if any(id(parameter) in self._reached for _, parameter in named):
                for name, parameter in named:
                    if parameter.requires_grad and id(parameter) not in self._reached:
                        self._suspects[id(parameter)] = self._suspect(root, name, parameter)

    def _roots(self, things: Sequence[Any]) -> Iterator[Any]:
        """The modules among some objects that are part of no other."""
        kinds = {kind for kind in set(map(type, things)) if issubclass(kind, self._module)}
        modules = [thing for thing in things if type(thing) in kinds]
        inner = {id(child) for module in modules for child in module.children()}
        return (module for module in modules if id(module) not in inner)

    def _suspect(self, root: Any, name: str, parameter: Any) -> _Suspect:
        leaf = parameter._edge
        where = where_of(leaf.code, leaf.lasti)
        inside, _, last = name.rpartition(".")
        module = f"{type(root).__name__}.{inside}" if inside else type(root).__name__
        return _Suspect(where, module, last, math.prod(shape_of(parameter)), self._calls)

    def findings(self) -> list[Finding]:
        """One for each line that made such parameters."""
        lines: dict[str, list[_Suspect]] = {}
        for suspect in self._suspects.values():
            lines.setdefault(suspect.where, []).append(suspect)
        return [_finding(where, suspects) for where, suspects in lines.items()]


def _finding(where: str, suspects: list[_Suspect]) -> Finding:
    modules: dict[str, list[str]] = {}
    for suspect in suspects:
        names = modules.setdefault(suspect.module, [])
        if suspect.name not in names:
            names.append(suspect.name)
    named = [f"{module} ({', '.join(names)})" for module, names in modules.items()]
    rest = len(named) - _NAMED
    text = ", ".join(named[:_NAMED]) + (f" and {rest:,} more modules" if rest > 0 else "")
    elements = sum(suspect.elements for suspect in suspects)
    calls = max(suspect.calls for suspect in suspects)
    text = (
        f"no gradient reached {text}, {elements:,} numbers, in {calls:,} backward calls: forward()"
        " does not use them, or something such as detach() cuts what it computes from them. Use"
        " them, or freeze them with requires_grad_(False)"
    )
    return Finding("no-gradient", where, 1, text)
