"""PyTorch's location of helpers for defining layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple of n from a number, and one of any length from an iterable."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """The items from the last to the first, each n times: padding as `pad` wants it."""
    return tuple([x for x in reversed(t) for _ in range(n)])


def _list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """Sizes, with None replaced from the end of `defaults`."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    sizes = defaults[-len(out_size) :]
    return [d if v is None else v for v, d in zip(out_size, sizes, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strip a prefix such as ``"module."`` from keys, in place.

    >>> import wengert
    >>> from wengert.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": wengert.ones(1), "scale": wengert.ones(1)}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> sorted(state)
    ['scale', 'weight']
    """
    for keys, own_key in ((state_dict, None), (getattr(state_dict, "_metadata", {}), prefix[:-1])):
        for key in list(keys):  # in the metadata a module's key has no dot at its end
            if key.startswith(prefix) or (key and key == own_key):
                keys[key[len(prefix) :]] = keys.pop(key)


__all__ = ["consume_prefix_in_state_dict_if_present"]
