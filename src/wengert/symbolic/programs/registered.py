"""Rewrites that programs register, beside the library's own rules.

Each has a name and tags. A mode runs those that are tagged ``fast_run`` (in FAST_COMPILE
``fast_compile``) or included by name or tag, and none that is excluded.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wengert.symbolic.graph import Apply
from wengert.symbolic.modes import Mode
from wengert.symbolic.settings import config


class Rewrite(NamedTuple):
    """A rewrite of single nodes, or of whole graphs.

    Attributes:
        name, tags: by which modes include and exclude it.
        tracks: classes of operations or operations, or None for all nodes.
        transform: gives what stands for a node's outputs: a list, a dictionary by output, or
            nothing. None for rewrites of whole graphs.
        change: gives the outputs of a graph, rewritten, for its inputs and outputs.
    """

    name: str
    tags: frozenset[str]
    tracks: tuple[Any, ...] | None
    transform: Callable[[Apply], Any] | None
    change: Callable[[Sequence[Any], Sequence[Any]], list[Any]] | None = None

    def tracked(self, node: Apply) -> bool:
        """Whether it is made for a node's operation."""
        if self.tracks is None:
            return True
        return any(
            isinstance(node.op, t) if isinstance(t, type) else node.op == t for t in self.tracks
        )

    def results(self, node: Apply) -> Sequence[Any] | None:
        """What stands for the outputs, or None; an error is one of `config.on_opt_error`."""
        if self.transform is None:
            return None
        try:
            new = self.transform(node)
        except Exception as error:
            if config.on_opt_error == "raise":
                raise
            if config.on_opt_error != "ignore":
                warnings.warn(f"rewrite {self.name!r} failed on {node}: {error!r}", stacklevel=2)
            return None
        if not new:
            return None
        if isinstance(new, dict):
            new = [new.get(out, out) for out in node.outputs]
        outputs = list(new) if isinstance(new, list | tuple) else [new]
        if len(outputs) != len(node.outputs) or outputs == node.outputs:
            return None
        return outputs


REWRITES: list[Rewrite] = []


def active(mode: Mode) -> list[Rewrite]:
    """The rewrites that a mode runs."""
    default = "fast_run" if mode.fuses_by_default else "fast_compile"
    return [
        r for r in REWRITES
        if not mode.excluded & {r.name, *r.tags}
        and (default in r.tags or mode.included & {r.name, *r.tags})
    ]  # fmt: skip
