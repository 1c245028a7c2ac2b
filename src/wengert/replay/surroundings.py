"""What a watched call leaves behind beside its operations, where no guard looks.

A guard compares what the code of a function can reach by itself. Containers that are passed to it,
attributes of tensors among the arguments, and the mode of recording are looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wengert.amp import state as autocast
from wengert.autograd.transforms.tree import registry
from wengert.core.dtypes import defaults
from wengert.core.overriding import overriding
from wengert.core.tensor import Tensor, mode
from wengert.replay.guards import Guard, UnguardedError
from wengert.replay.state import unusual


class Surroundings:
    """The arguments of a call and the state of its thread, before it."""

    def __init__(self, args: Any, kwargs: Any, leaves: Sequence[Any]) -> None:
        self._containers = [(one, _items(one)) for one in _containers((args, kwargs))]
        self._tensors = [(x, x._array, x._edge) for x in leaves if isinstance(x, Tensor)]
        self._settings = _settings()

    def check(self) -> None:
        """UnguardedError if the call has changed something of it."""
        if _settings() != self._settings:
            raise UnguardedError("it changes a setting of the thread, such as the grad mode")
        for one, before in self._containers:
            now = _items(one)
            if len(now) != len(before) or any(x is not y for x, y in zip(now, before, strict=True)):
                raise UnguardedError(f"it changes a {type(one).__name__} among its arguments")
        for x, array, edge in self._tensors:
            if x._array is not array or x._edge is not edge or x.__dict__:
                raise UnguardedError("it changes what a tensor among its arguments is")

    def check_results(self, results: Any, guard: Guard) -> None:
        """UnguardedError for a list or dict that a caller could meet elsewhere, too.

        A shortcut makes others of the same items at each call.
        """
        met = {id(one) for one, _ in self._containers}
        for one in _containers(results):
            if id(one) in met or guard.has(one):
                raise UnguardedError(f"a {type(one).__name__} of its results is met elsewhere")
            met.add(id(one))


def has_attributes(leaves: Sequence[Any]) -> bool:
    """Whether somebody has given attributes to a tensor: code may ask for them."""
    return any([isinstance(x, Tensor) and x.__dict__ for x in leaves])


def _settings() -> tuple[Any, ...]:
    found = mode.site is None, defaults.dtype, unusual(), autocast.settings()
    return *found, *overriding.modes


def _items(container: Any) -> list[Any]:
    if isinstance(container, dict):
        return [*container, *container.values()]
    return [*container]


def _containers(tree: Any) -> Iterator[Any]:
    """The lists and dicts in a tree, those that are met twice included."""
    if type(tree) in registry:
        children = registry[type(tree)].flatten(tree)[0]
    elif isinstance(tree, dict):
        yield tree
        children = tree.values()
    elif isinstance(tree, list | tuple):
        if isinstance(tree, list):
            yield tree
        children = tree
    else:
        return
    for child in children:
        yield from _containers(child)
