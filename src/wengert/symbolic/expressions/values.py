"""Types of slices and of None, and slices that are constants."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.graph import Constant, Generic


class SliceType(Generic):
    """Slices."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """A slice, or TypeError."""
        if not isinstance(value, slice):
            raise TypeError(f"Expected a slice, got {value!r}")
        return value

    def __repr__(self) -> str:
        return "slice"


class NoneTypeT(Generic):
    """None."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """None, or TypeError."""
        if value is not None:
            raise TypeError(f"Expected None, got {value!r}")
        return value

    def __repr__(self) -> str:
        return "NoneTypeT"


class SliceConstant(Constant):
    """A slice whose ends are numbers."""

    def key(self) -> Any:
        """Equal for equal slices."""
        return SliceConstant, self.data.start, self.data.stop, self.data.step
