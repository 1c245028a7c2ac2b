"""Slices brought into one form: upwards, between ends that are within an array."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions.arithmetic import (
    add,
    clip,
    gt,
    int_div,
    lt,
    maximum,
    mul,
    neg,
    sub,
    switch,
)
from wengert.symbolic.expressions.type import as_tensor_variable


def get_canonical_form_slice(theslice: Any, length: Any) -> tuple[Any, Any]:
    """A slice with a positive step, and whether it is to be read backwards (-1) or not (1).

    ``x[theslice]`` is ``x[slice][::direction]``; both have ends from 0 to `length`. Of a number the
    place from the start, and 1.

    Args:
        theslice: a slice, or a number, of numbers and variables.
        length: how many elements there are.

    >>> from wengert.symbolic import tensor as T
    >>> T.subtensor.get_canonical_form_slice(slice(None, None, -2), 4)
    (slice(1, 4, 2), -1)
    """
    if not isinstance(theslice, slice):
        if isinstance(theslice, int) and isinstance(length, int):
            return theslice + length if theslice < 0 else theslice, 1
        return _from_start(theslice, length), 1
    bounds = theslice.start, theslice.stop, theslice.step
    if all(v is None or isinstance(v, int) for v in (*bounds, length)):
        places = range(length)[theslice]
        if places.step > 0:
            return slice(places.start, max(places.start, places.stop), places.step), 1
        first = places[-1] if places else 0
        return slice(first, places.start + 1 if places else 0, -places.step), -1
    start, stop, step = bounds
    if step is None or isinstance(step, int):
        return _known(bounds, length)
    up, down = _ascending(start, stop, step, length), _descending(start, stop, step, length)
    parts = [switch(gt(step, 0), a, b) for a, b in zip(up, down, strict=True)]
    return slice(*parts), switch(gt(step, 0), 1, -1)


def _known(bounds: tuple[Any, Any, Any], length: Any) -> tuple[slice, int]:
    """For a step whose sign is known."""
    start, stop, step = bounds
    step = 1 if step is None else step
    if start is None and stop is None and step == 1:
        return slice(0, length, 1), 1
    if step > 0:
        return slice(*_ascending(start, stop, step, length)), 1
    return slice(*_descending(start, stop, step, length)), -1


def _from_start(place: Any, length: Any) -> Any:
    return switch(lt(place, 0), add(place, length), place)


def _ascending(start: Any, stop: Any, step: Any, length: Any) -> tuple[Any, Any, Any]:
    first = as_tensor_variable(0) if start is None else clip(_from_start(start, length), 0, length)
    last = length if stop is None else clip(_from_start(stop, length), 0, length)
    return first, maximum(first, last), as_tensor_variable(step)


def _descending(start: Any, stop: Any, step: Any, length: Any) -> tuple[Any, Any, Any]:
    top = sub(length, 1)
    first = top if start is None else clip(_from_start(start, length), -1, top)
    last = as_tensor_variable(-1) if stop is None else clip(_from_start(stop, length), -1, top)
    width = neg(step)
    count = maximum(0, int_div(add(sub(first, last), sub(width, 1)), width))
    low = sub(first, mul(sub(count, 1), width))
    return maximum(low, 0), switch(gt(count, 0), add(first, 1), 0), width
