"""``theano.gof.optdb``: where programs register rewrites by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from wengert.symbolic.gof.fg import FunctionGraph
from wengert.symbolic.gof.opt import Optimizer, enter
from wengert.symbolic.modes import Mode
from wengert.symbolic.programs.optimizing import optimized
from wengert.symbolic.programs.registered import REWRITES


class Query:
    """Which rewrites are wanted, by name and tag.

    >>> from wengert.symbolic import gof
    >>> sorted(gof.Query(include=["fast_run"]).excluding("inplace").exclude)
    ['inplace']
    """

    def __init__(
        self, include: Iterable[str], require: Any = None, exclude: Any = None,
        subquery: Any = None, position_cutoff: float = float("inf"),
        extra_optimizations: Any = None,
    ) -> None:  # fmt: skip
        self.include, self.require = set(include), set(require or ())
        self.exclude = set(exclude or ())
        self.subquery, self.position_cutoff = subquery or {}, position_cutoff

    def including(self, *tags: str) -> Query:
        """With more of them."""
        return Query(self.include | set(tags), self.require, self.exclude, self.subquery)

    def excluding(self, *tags: str) -> Query:
        """Without some."""
        return Query(self.include, self.require, self.exclude | set(tags), self.subquery)

    def requiring(self, *tags: str) -> Query:
        """Only those that have a tag, too."""
        return Query(self.include, self.require | set(tags), self.exclude, self.subquery)


class _Chosen(Optimizer):
    """The library's rules, and the rewrites of a query."""

    def __init__(self, query: Query) -> None:
        self.mode = Mode(optimizer=query)

    def changed(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """Rewritten outputs."""
        return optimized(outputs, inputs, self.mode)

    def apply(self, fgraph: FunctionGraph) -> None:
        """Rewrite the outputs."""
        final = optimized(fgraph.outputs, fgraph.inputs, self.mode)
        fgraph.replace_all(zip(list(fgraph.outputs), final, strict=True), "query")


class DB:
    """Rewrites by name and tags.

    >>> from wengert.symbolic import compile, gof
    >>> from wengert.symbolic import tensor as T
    >>> @gof.local_optimizer([T.Dot])
    ... def look(node):
    ...     return False
    >>> compile.optdb.register("look", gof.opt.in2out(look), 1.5, "fast_run")
    >>> "look" in compile.optdb
    True
    """

    def register(self, name: str, obj: Any, *tags: Any, **options: Any) -> None:
        """Have a rewrite run in modes that include one of its tags; positions are accepted."""
        enter(name, obj, *[t for t in tags if isinstance(t, str)])

    def query(self, *tags: Any, **options: Any) -> _Chosen:
        """What rewrites graphs as a `Query` says, or tags such as ``"+fast_run"``."""
        if tags and isinstance(tags[0], Query):
            return _Chosen(tags[0])
        wanted = [t.lstrip("+&") for t in tags if not t.startswith("-")]
        return _Chosen(Query(wanted, exclude=[t[1:] for t in tags if t.startswith("-")]))

    def __contains__(self, name: str) -> bool:
        return any(r.name == name for r in REWRITES)

    def remove_tags(self, name: str, *tags: str) -> None:
        """Take tags from a rewrite."""
        REWRITES[:] = [r._replace(tags=r.tags - set(tags)) if r.name == name else r
                       for r in REWRITES]  # fmt: skip


EquilibriumDB = SequenceDB = LocalGroupDB = DB
optdb = DB()
