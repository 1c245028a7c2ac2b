"""Modules that hold parameters: ParameterList and ParameterDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor
from wengert.nn.module import Module
from wengert.nn.module.tree import typename
from wengert.nn.modules.container import _pairs_of
from wengert.nn.parameter import Parameter


def _as_parameter(value: Any) -> Any:
    """Tensors become parameters; anything else stays as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _describe(value: Any, kind: str) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(map(str, value._outline.shape))
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{what} containing: [{kind} of size {size}]"


class ParameterList(Module):
    """A list whose tensors are parameters; it may hold other values as well.

    Args:
        values: parameters in order.

    >>> import wengert
    >>> from wengert import nn
    >>> weights = nn.ParameterList([wengert.zeros(2), wengert.zeros(3)])
    >>> [tuple(w.shape) for w in weights]
    [(2,), (3,)]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _position(self, idx: Any) -> int:
        position = operator.index(idx)
        if not -len(self) <= position < len(self):
            raise IndexError(
                f"index {position} is out of range for ParameterList of length {len(self)}"
            )
        return position % len(self)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(getattr(self, str(i)) for i in range(len(self))[idx])
        return getattr(self, str(self._position(idx)))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(self._position(idx)), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end; returns the list."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add values at the end; returns the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got"
                f" {type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def extra_repr(self) -> str:
        lines = []
        for i, value in enumerate(self):
            kind = str(of_numpy[value._outline.dtype]) if isinstance(value, Tensor) else ""
            lines.append(f"  ({i}): {_describe(value, kind)}")
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary whose tensors are parameters; it may hold other values as well.

    Args:
        parameters: parameters by name: a dict, or pairs.

    >>> import wengert
    >>> from wengert import nn
    >>> params = nn.ParameterDict({"left": wengert.zeros(2)})
    >>> "left" in params, len(params)
    (True, 1)
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._attribute(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def _attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string"
                f" (type is '{type(key).__name__}'). Open an issue on GitHub if you need non-string"
                " keys."
            )
        return key

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value under a key, set to `default` first if missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The value under a key, or `default`."""
        return getattr(self, key) if key in self._keys else default

    def pop(self, key: str) -> Any:
        """Remove a value and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last pair and return it."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]

    def copy(self) -> ParameterDict:
        """A new dictionary with the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with these keys, all with the value `default`."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Iterable[str]:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Keys and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping or from pairs of key and value; a `dict`'s by sorted key.

        The order is that of `parameters()`, and so of what an optimizer saves: PyTorch's.
        """
        pairs = _pairs_of(parameters, "ParameterDict")
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs, key=operator.itemgetter(0))
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: Any) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        lines = []
        for key, value in self.items():
            kind = typename(value)
            if isinstance(value, Tensor):
                kind = f"torch.{of_numpy[value._outline.dtype].short}Tensor"
            lines.append(f"  ({key}): {_describe(value, kind)}")
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")


__all__ = ["ParameterDict", "ParameterList"]
