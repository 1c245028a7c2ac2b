"""Parameters that no gradient ever reached."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.autograd.engine import Walk
from wengert.core.introspection import namespace_of
from wengert.core.storage import location_of
from wengert.core.tensor import Leaf, Tensor, shape_of
from wengert.graph._forwards import Forwards
from wengert.graph._why import Because, Traces
from wengert.graph.memory import Finding

_NAMED = 4  # modules of one line that a finding names


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A parameter that wanted a gradient and had got none: where it was made, its names, why."""

    where: str
    module: str
    name: str
    elements: int
    calls: int
    because: Because


class Unreached:
    """Finds parameters of trained modules that no backward or grad call gave a gradient.

    A module is trained if any of its parameters got one. `after` is told of every call; `look`
    is given all objects that the garbage collector knows, as often as is cheap: what has gone
    before the next look is remembered from the one before. `forwards` is a forward hook of all
    modules: the longer it is one, the more is known of the reasons.
    """

    def __init__(self, module: type[Any]) -> None:
        self._module = module
        self._reached: dict[int, weakref.ref[Tensor]] = {}
        self._suspects: dict[int, _Suspect] = {}
        self._calls = 0
        self.forwards = Forwards()

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

    def look(self, objects: Sequence[Any]) -> None:
        """Take note of the parameters that wait for their first gradient."""
        traces = None
        for root in self._roots(objects):
            named = list(root.named_parameters())
            if not any(id(parameter) in self._reached for _, parameter in named):
                continue
            for name, parameter in named:
                key = id(parameter)
                if parameter.requires_grad and key not in self._reached:
                    earlier = self._suspects.get(key)
                    traces = traces or Traces(objects)
                    path = _around(root, name)
                    because = earlier.because if earlier else self._because(path, parameter, traces)
                    self._suspects[key] = self._suspect(root, name, parameter, because)

    def _because(self, path: list[Any], parameter: Any, traces: Traces) -> Because:
        """Why a parameter waits: what is alive tells, or calls of the modules that it is in."""
        return (
            self.forwards.proof(path)
            or traces.evidence(parameter._edge)
            or self.forwards.guess(path, self._module.forward)
        )

    def _roots(self, objects: Sequence[Any]) -> Iterator[Any]:
        """The modules among some objects that are part of no other."""
        kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, self._module)}
        modules = [obj for obj in objects if type(obj) in kinds]
        inner = {id(child) for module in modules for child in module.children()}
        return (module for module in modules if id(module) not in inner)

    def _suspect(self, root: Any, name: str, parameter: Any, because: Because) -> _Suspect:
        leaf = parameter._edge
        where = location_of(leaf.code, leaf.lasti)
        inside, _, last = name.rpartition(".")
        module = f"{type(root).__name__}.{inside}" if inside else type(root).__name__
        return _Suspect(where, module, last, math.prod(shape_of(parameter)), self._calls, because)

    def findings(self) -> list[Finding]:
        """One for each line that made such parameters, and for each reason."""
        lines: dict[tuple[str, Because], list[_Suspect]] = {}
        for suspect in self._suspects.values():
            lines.setdefault((suspect.where, suspect.because), []).append(suspect)
        return [_finding(*key, suspects) for key, suspects in lines.items()]


def _around(root: Any, name: str) -> list[Any]:
    """The modules that a parameter of that name is in, each inside the other."""
    path = [root]
    for step in name.split(".")[:-1]:
        inner = (namespace_of(path[-1]) or {}).get("_modules") or {}
        if step not in inner:  # the module has names of its own
            break
        path.append(inner[step])
    return path


def _finding(where: str, because: Because, suspects: list[_Suspect]) -> Finding:
    modules: dict[str, list[str]] = {}
    for suspect in suspects:
        names = modules.setdefault(suspect.module, [])
        if suspect.name not in names:
            names.append(suspect.name)
    named = [f"{module} ({', '.join(names)})" for module, names in modules.items()]
    unnamed = len(named) - _NAMED
    text = ", ".join(named[:_NAMED]) + (f" and {unnamed:,} more modules" if unnamed > 0 else "")
    elements = sum(suspect.elements for suspect in suspects)
    calls = max(suspect.calls for suspect in suspects)
    numbers = f"{elements:,} number{'s' * (elements != 1)}"
    during = f"{calls:,} backward call{'s' * (calls != 1)}"
    text = f"no gradient reached {text}, {numbers}, in {during}: {because.text}"
    return Finding("no-gradient", where, 1, text, because.facts, because.remedies)
