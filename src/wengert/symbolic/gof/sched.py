"""``theano.gof.sched``: orders of nodes by several comparisons at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any

from wengert.symbolic.gof.graph import is_in_ancestors, list_of_nodes
from wengert.symbolic.graph import Apply

Comparison = Callable[[Any, Any], float]


def make_depends() -> Callable[[tuple[Apply, Apply]], bool]:
    """A function of a pair of nodes: whether the first needs what the second computes."""
    return lambda pair: pair[0] is not pair[1] and is_in_ancestors(*pair)


def make_dependence_cmp() -> Comparison:
    """A comparison of nodes: 1 if the first depends on the second, -1 the other way, else 0.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.gof import sched
    >>> x = T.dvector()
    >>> y = T.exp(x)
    >>> sched.make_dependence_cmp()(T.log(y).owner, y.owner)
    1
    """
    depends = make_depends()
    return lambda a, b: int(depends((a, b))) - int(depends((b, a)))


def key_to_cmp(key: Callable[[Any], Any]) -> Comparison:
    """A comparison by what a function gives for each of two.

    >>> from wengert.symbolic.gof import sched
    >>> sched.key_to_cmp(len)("ab", "c")
    1
    """
    return lambda a, b: int(key(a) > key(b)) - int(key(a) < key(b))


def reverse_dict(d: Mapping[Any, Iterable[Any]]) -> dict[Any, tuple[Any, ...]]:
    """For each value the keys that have it.

    >>> from wengert.symbolic.gof import sched
    >>> sched.reverse_dict({"a": (1, 2), "b": (2,)})
    {1: ('a',), 2: ('a', 'b')}
    """
    found: dict[Any, tuple[Any, ...]] = {}
    for key, values in d.items():
        for value in values:
            found[value] = (*found.get(value, ()), key)
    return found


def _toposort(edges: Mapping[Any, Iterable[Any]]) -> list[Any]:
    """An order in which a key comes before its values; ValueError if there is none."""
    waiting = {k: set(v) for k, v in reverse_dict(edges).items()}
    ready = [k for k in edges if not waiting.get(k)]
    order: list[Any] = []
    for key in ready:  # which grows
        order.append(key)
        for value in edges.get(key, ()):
            waiting[value].discard(key)
            if not waiting[value]:
                ready.append(value)
    if any(waiting.values()):
        raise ValueError("Input has cycles")
    return order


def posort(l: Sequence[Hashable], *cmps: Comparison) -> list[Any]:  # noqa: E741
    """Elements in an order that agrees with the first comparison, and with others where it can.

    >>> from wengert.symbolic.gof import sched
    >>> sched.posort([21, 10, 11, 20], lambda a, b: a % 10 - b % 10, lambda a, b: a - b)
    [10, 20, 11, 21]
    """
    after: dict[Any, set[Any]] = {a: set() for a in l}
    before: dict[Any, set[Any]] = {a: set() for a in l}
    for cmp in cmps:
        for a, b in permutations(l, 2):
            if cmp(a, b) < 0 and a not in after[b]:
                for first in (a, *before[a]):
                    after[first] |= {b, *after[b]}
                for last in (b, *after[b]):
                    before[last] |= {a, *before[a]}
    return _toposort(after)


def sort_apply_nodes(inputs: Sequence[Any], outputs: Sequence[Any],
                     cmps: Sequence[Comparison]) -> list[Any]:  # fmt: skip
    """The nodes between inputs and outputs: dependencies first, then by comparisons."""
    return posort(list_of_nodes(inputs, outputs), make_dependence_cmp(), *cmps)


def sort_schedule_fn(*cmps: Comparison) -> Callable[[Any], list[Any]]:
    """A function of a graph that gives its nodes in such an order."""
    return lambda fgraph: sort_apply_nodes(fgraph.inputs, fgraph.outputs, cmps)
