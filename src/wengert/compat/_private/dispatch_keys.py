"""Keys by which PyTorch chooses among kernels, for packages that name them; nothing here does."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto


class DispatchKey(Enum):
    """A reason to choose a kernel."""

    CPU = auto()
    CUDA = auto()
    Meta = auto()
    Functionalize = auto()
    Autograd = auto()
    AutogradCPU = auto()
    AutogradCUDA = auto()
    AutocastCPU = auto()
    AutocastCUDA = auto()
    AutocastXPU = auto()
    CompositeExplicitAutograd = auto()
    CompositeImplicitAutograd = auto()


class DispatchKeySet:
    """Several keys."""

    def __init__(self, key: DispatchKey) -> None:
        self._keys = frozenset({key})

    @classmethod
    def _of(cls, keys: Iterable[DispatchKey]) -> DispatchKeySet:
        result = cls(DispatchKey.CPU)
        result._keys = frozenset(keys)
        return result

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys - other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def has(self, k: DispatchKey) -> bool:
        """Whether a key is among them."""
        return k in self._keys

    def add(self, k: DispatchKey) -> DispatchKeySet:
        """These and one more."""
        return self._of(self._keys | {k})

    def remove(self, k: DispatchKey) -> DispatchKeySet:
        """These without one."""
        return self._of(self._keys - {k})
