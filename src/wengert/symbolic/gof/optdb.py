"""``theano.gof.optdb``: where programs register rewrites by name."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.gof.opt import enter
from wengert.symbolic.programs.registered import REWRITES


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

    def __contains__(self, name: str) -> bool:
        return any(r.name == name for r in REWRITES)

    def remove_tags(self, name: str, *tags: str) -> None:
        """Take tags from a rewrite."""
        REWRITES[:] = [r._replace(tags=r.tags - set(tags)) if r.name == name else r
                       for r in REWRITES]  # fmt: skip


EquilibriumDB = SequenceDB = LocalGroupDB = DB
optdb = DB()
