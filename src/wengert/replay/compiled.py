"""Compiled functions: each call is a run along the function's record."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from wengert.core.tensor import Tensor
from wengert.replay.arming import arm
from wengert.replay.run import Run, active, current_run
from wengert.replay.trace import Entry


class Compiled:
    """A function whose calls are runs along its record.

    Attributes:
        function: as it was given.
        root: the beginning of its record.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.root = Entry(None, None)
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if active.inside or active.busy:  # part of a run
            return self.function(*args, **kwargs)
        arm()
        run = current_run()
        if run is None or not any(run._value(x) is not None for x in _tensors((args, kwargs))):
            active.run = Run(self.root)
        active.inside += 1
        try:
            return self.function(*args, **kwargs)
        finally:
            active.inside -= 1

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))
