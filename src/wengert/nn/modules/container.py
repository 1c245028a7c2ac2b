"""Modules that hold other modules: Sequential, ModuleList, ModuleDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar, overload

from wengert.core.tensor import Tensor
from wengert.nn.module import Module
from wengert.nn.module.tree import typename

Self = TypeVar("Self", bound="_Row")


class _Row(Module):
    """A sequence of modules, named "0", "1", ... unless other names are given."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _key(self, idx: Any) -> str:
        """The name of the module at a position."""
        position, size = operator.index(idx), len(self)
        if not -size <= position < size:
            raise IndexError(
                f"index {position} is out of range for {self._get_name()} of length {size}"
            )
        return list(self._modules)[position]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]
        for key in keys:
            delattr(self, key)
        left = list(self._modules.values())
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(left))

    def pop(self, key: int | slice) -> Any:
        """Remove a module and return it."""
        module = self[key]  # type: ignore[index]
        del self[key]
        return module

    def append(self: Self, module: Module) -> Self:
        """Add a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def _insert(self, index: int, module: Module) -> None:
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module


class Sequential(_Row):
    """Modules called one after another, each on the output of the previous one.

    Args:
        *args: modules in order, or one ordered dict of modules by name.

    >>> import wengert
    >>> from wengert import nn
    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named: Iterable[tuple[str, Any]] = args[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    @overload
    def __getitem__(self, idx: int) -> Module: ...
    @overload
    def __getitem__(self, idx: slice) -> Sequential: ...
    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def insert(self, index: int, module: Module) -> Sequential:
        """Insert a module before position `index`; return the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}, got {typename(module)}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}, the length is {len(self)}")
        self._insert(index + len(self) if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Add modules at the end; returns the container."""
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Any) -> Sequential:
        _check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        _check_sequential(other)
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*list(self) * self._checked_factor(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        return self.extend(list(self) * (self._checked_factor(other) - 1))

    def _checked_factor(self, factor: Any) -> int:
        if not isinstance(factor, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(factor)}")
        if factor <= 0:
            raise ValueError(f"Non-positive multiplication factor {factor} for {type(self)}")
        return factor


def _check_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given."
        )


class ModuleList(_Row):
    """A list of modules, registered as submodules.

    Args:
        modules: modules in order.

    >>> import wengert
    >>> from wengert import nn
    >>> layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, idx: int) -> Module: ...
    @overload
    def __getitem__(self, idx: slice) -> ModuleList: ...
    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._key(idx)]

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before position `index`."""
        self._insert(range(len(self) + 1)[slice(index, None)].start, module)

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end; returns the list."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got"
                f" {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    __iadd__ = extend

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        """Consecutive equal modules are shown once."""
        runs: list[list[Any]] = []  # first, last, text
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = [
            f"({i}): {text}" if i == j else f"({i}-{j}): {j - i + 1} x {text}"
            for i, j, text in runs
        ]
        if not lines:
            return f"{self._get_name()}()"
        inner = "\n".join(lines).replace("\n", "\n  ")
        return f"{self._get_name()}(\n  {inner}\n)"


class ModuleDict(Module):
    """An ordered dictionary of modules, registered as submodules.

    Args:
        modules: modules by name: a dict, or pairs.

    >>> import wengert
    >>> from wengert import nn
    >>> list(nn.ModuleDict({"conv": nn.Identity(), "act": nn.ReLU()}))
    ['conv', 'act']
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs of name and module."""
        for key, module in _pairs_of(modules, "ModuleDict"):
            self[key] = module


def _pairs_of(items: Any, container: str) -> Iterable[tuple[Any, Any]]:
    """The pairs passed to `update`, checked."""
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{container}.update should be called with an iterable of key/value pairs, but got"
            f" {type(items).__name__}"
        )
    if isinstance(items, (Mapping, ModuleDict)) or hasattr(items, "keys"):
        return list(items.items())  # type: ignore[union-attr]
    pairs = list(items)
    for i, pair in enumerate(pairs):
        if not isinstance(pair, Iterable) or isinstance(pair, Tensor):
            raise TypeError(
                f"{container} update sequence element #{i} should be Iterable; is"
                f" {type(pair).__name__}"
            )
        if len(list(pair)) != 2:
            raise ValueError(
                f"{container} update sequence element #{i} has length {len(list(pair))};"
                " 2 is required"
            )
    return pairs


__all__ = ["ModuleDict", "ModuleList", "Sequential"]
