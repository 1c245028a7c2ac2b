"""Observing module calls to explain parameters that no gradient reaches."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

from wengert.autograd import errors
from wengert.core.storage import quoted_location
from wengert.core.tensor import Node, RawCut, Tensor, caller, getframe
from wengert.graph._why import Because
from wengert.graph.nodes import raw_edge

_RESULTS = 10_000  # results of modules that are known
_LINES = 3  # that a reason names


class Forwards:
    """A forward hook for all modules: which were called, without recording, or cut off.

    What `forward` makes has gone by the time at which a backward is through, and with it what
    its tensors know. Kept are weak references, and lines of code.
    """

    def __init__(self) -> None:
        self.ended = False  # whether modules are called of which it is not told
        self._called: dict[int, tuple[weakref.ref[Any], CodeType, int]] = {}  # and the first line
        self._off: dict[int, RawCut | None] = {}  # None: it was recorded once
        self._cut: dict[int, RawCut] = {}
        self._others: dict[tuple[CodeType, int], RawCut] = {}  # of what no module had made
        # The nodes of results, by the ids of the references, which outlive them.
        self._results: dict[int, tuple[weakref.ref[Node], int]] = {}

    def __call__(self, module: Any, inputs: Any, output: Any) -> None:
        """Record a finished call."""
        key = id(module)
        if not self._was_called(module):  # there may be what is known of one that is gone
            self._called[key] = weakref.ref(module), *caller(getframe(1))
            self._off.pop(key, None)
            self._cut.pop(key, None)
        for tensor in _tensors(inputs):
            cut = _cut_of(tensor)
            if cut is not None and cut[3] is not None:
                self._note_cut(cut)
        for tensor in _tensors(output):
            edge = raw_edge(tensor)
            if edge is not None:
                self._off[key] = None
                if len(self._results) < _RESULTS:
                    node = weakref.ref(edge)
                    self._results[id(node)] = node, key
            elif (cut := _cut_of(tensor)) is not None:
                self._off.setdefault(key, cut)

    def _note_cut(self, cut: RawCut) -> None:
        node, module = self._results.get(id(cut[3]), (None, 0))
        if node is not None:
            self._cut.setdefault(module, cut)
        else:
            self._others.setdefault((cut[1], cut[2]), cut)

    def proof(self, path: Sequence[Any]) -> Because | None:
        """The line that keeps a gradient from the last of some modules, each inside the other."""
        for cuts in (self._cut, self._off):
            for module in reversed(path):
                cut = cuts.get(id(module)) if self._was_called(module) else None
                if cut is not None:
                    text, facts, remedies = errors.cut_by(cut)
                    return Because(text, tuple(facts), tuple(remedies))
        return None

    def guess(self, path: Sequence[Any], forward: Callable[..., Any]) -> Because:
        """What is known otherwise; `forward` is that of modules which have none."""
        module = path[-1]
        has_forward = getattr(type(module), "forward", forward) is not forward
        was_called = self._was_called(module)
        if has_forward and not was_called and (not self.ended or self._was_called(path[0])):
            return Because(
                "its module was never called",
                (),
                (
                    "call the module in forward()",
                    "leave it out, or freeze it: requires_grad_(False)",
                ),
            )
        facts = [
            ("perhaps cut by", f"{what}  at {quoted_location(code, at)}")
            for what, code, at, _ in self._others.values()
        ]
        if was_called:
            call_site = quoted_location(*self._called[id(module)][1:])
            facts.insert(0, ("called", f"{type(module).__name__}()  at {call_site}"))
        return Because(
            "no loss depends on what was computed with it",
            tuple(facts[:_LINES]),
            (
                "let the loss depend on it: between them, detach(), .data, no_grad() and .item()"
                " stop gradients",
                "freeze it: requires_grad_(False)",
            ),
        )

    def _was_called(self, module: Any) -> bool:
        call = self._called.get(id(module))
        return call is not None and call[0]() is module


def _cut_of(tensor: Tensor) -> RawCut | None:
    return None if raw_edge(tensor) is not None else getattr(tensor, "_cut", None)


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors that a module is given, or gives: itself, or in plain containers."""
    if isinstance(value, Tensor):
        yield value
    elif type(value) in (tuple, list):
        for inner in value:
            yield from _tensors(inner)
    elif type(value) is dict:
        yield from _tensors(list(value.values()))
