"""Compiled functions that skip their Python: `torch.compile(mode="reduce-overhead")`.

Two calls that took the same way are watched. If they did nothing but operations on record, and
known effects, a *shortcut* does it for the calls that follow, as if the function had run: as long
as its arguments are alike and a guard says that all that its code can reach is as it was.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from wengert.amp import state as autocast
from wengert.autograd.transforms.tree import flatten_tree
from wengert.core.dtypes import defaults
from wengert.core.overriding import overriding
from wengert.core.tensor import Tensor, mode
from wengert.replay.arming import arm
from wengert.replay.compiled import Compiled
from wengert.replay.deferred import has_memory
from wengert.replay.guards import Guard, UnguardedError
from wengert.replay.immediate import NOT_TAKEN, immediate
from wengert.replay.observing import Observer
from wengert.replay.run import Run
from wengert.replay.shortcuts import Form, Shortcut, check_sources, way_of
from wengert.replay.stance import Stance
from wengert.replay.state import unusual
from wengert.replay.surroundings import Surroundings, has_attributes

# How many shortcuts of a function are kept.
_MOST = 8
# How many calls are watched, but for one in so many that took a shortcut; and how many of them may
# give none: a call that is watched takes several times as long.
_MOST_WATCHED, _FOR_SKIPPED, _MOST_REFUSED = 16, 16, 4
# What may be given twice: it has no state.
_PLAIN = frozenset({type(None), bool, int, float, complex, str})


class Skipping(Compiled):
    """A compiled function that runs its Python only where a guard cannot say what it would do.

    Attributes:
        shortcuts: those that it has, the latest first.
        watched: how many calls were watched, and `refused` those that no shortcut can stand for.
        skipped: how many calls took a shortcut.
        reason: why the last call that was watched gives none.
    """

    mode = "reduce-overhead"

    def forget(self) -> None:
        """Begin anew."""
        super().forget()
        self.shortcuts: list[Shortcut] = []
        self.watched = self.refused = self.skipped = 0
        self.reason = ""

    def told(self) -> str:
        """Whether Python is skipped, for `explain`."""
        if self.shortcuts:
            return f"Python is skipped: {self.skipped} calls so far"
        return f"Python runs: {self.reason or 'no call was watched so far'}"

    def _begun(self, args: Any, kwargs: Any) -> Any:
        leaves, spec = _leaves_of(args, kwargs)
        if not (self.shortcuts or self._may_watch()) or not _is_usual(leaves):
            return super()._begun(args, kwargs)
        settings = mode.site is None, defaults.dtype, spec, autocast.settings()
        shortcut = self._found(leaves, settings)
        if shortcut is not None and shortcut.proven:
            if shortcut.immediate is not None:
                results = shortcut.immediate.call(shortcut, self.record, leaves)
                if results is NOT_TAKEN:
                    return super()._begun(args, kwargs)
                self.skipped += 1
                return results
            following = shortcut.prepare(self.record, leaves)
            if following is None:
                return super()._begun(args, kwargs)
            self.skipped += 1
            return self._along(following.run, partial(shortcut.follow, following), (), {})
        if not self._may_watch() or not self.record.size:
            return super()._begun(args, kwargs)
        return self._watch(args, kwargs, Form(leaves, settings), leaves, shortcut)

    def _may_watch(self) -> bool:
        most = _MOST_WATCHED + self.skipped // _FOR_SKIPPED
        return self.watched < most and self.refused < _MOST_REFUSED

    def _drop(self, shortcut: Shortcut | None) -> None:
        self.shortcuts = [one for one in self.shortcuts if one is not shortcut]

    def _found(self, leaves: Sequence[Any], settings: Any) -> Shortcut | None:
        """The shortcut for some arguments, if its guard holds."""
        for shortcut in self.shortcuts:
            if shortcut.form.fits(leaves, settings):
                shortcut.settle()
                if shortcut.guard.holds(leaves):
                    return shortcut
                self._drop(shortcut)
                self.reason = "something that its code can reach has changed"
                return None
        return None

    def _watch(
        self, args: Any, kwargs: Any, form: Form, leaves: Sequence[Any], candidate: Shortcut | None
    ) -> Any:  # fmt: skip
        """What a call gives that is watched; a shortcut is made, or proven."""
        arm()
        self.watched += 1
        run = Run(self.record)
        observer = Observer(run)
        surroundings = Surroundings(args, kwargs, leaves)
        results = self._along(run, partial(observer.watch, self.function), args, kwargs)
        self._drop(candidate)
        if run.recording:
            return results  # a new way: the next call may go along it
        try:
            surroundings.check()
            way = way_of(run, observer, leaves, results)
            if any(of is not None for of in run.updates.values()):
                run.settle()  # what buffers show is compared
            if candidate is not None:
                if not candidate.guard.holds(leaves):
                    raise UnguardedError("it changes something that its code can reach")
                candidate.proven = way.is_like(candidate.way)
                if candidate.proven and not self.fullgraph:
                    candidate.immediate = immediate(candidate)
                if way.stores and candidate.proven and candidate.immediate is None:
                    raise UnguardedError("it writes to memory")
            if candidate is None or not candidate.proven:
                guard = Guard((self.function, *form.objects), observer.executed)
                check_sources(way, guard)
                candidate = Shortcut(form, guard, way)
            surroundings.check_results(results, candidate.guard)
            self.shortcuts = [candidate, *self.shortcuts[: _MOST - 1]]
            self.reason = ""
        except UnguardedError as why:
            self.reason, self.refused = str(why), self.refused + 1
        return results


def _leaves_of(args: Any, kwargs: Any) -> tuple[Sequence[Any], Any]:
    """The arguments of a call, out of their containers, and the structure around them."""
    if not kwargs and not any(type(x) in _CONTAINERS for x in args):
        return args, None
    return flatten_tree((args, kwargs))


_CONTAINERS = (tuple, list, dict)


def _is_usual(leaves: Sequence[Any]) -> bool:
    """Whether nobody else sees what a call does, and its arguments are different tensors."""
    return not (
        unusual()
        or overriding.modes
        or Stance.hooks
        or sys.gettrace() is not None
        or sys.getprofile() is not None
        or _is_met_twice(leaves)
        or any([isinstance(x, Tensor) and not has_memory(x) for x in leaves])
        or has_attributes(leaves)
    )


def _is_met_twice(leaves: Sequence[Any]) -> bool:
    """Whether an argument is given twice, other than numbers, text and None."""
    if len({*map(id, leaves)}) == len(leaves):
        return False
    met = [id(x) for x in leaves if type(x) not in _PLAIN]
    return len({*met}) < len(met)
