"""Records: the numbers that a kernel is told of, each by its name.

A kernel that needs many sizes and strides takes them in one array of i64. A record says once
what stands where in it:

    class Windows(Record):
        count: i64
        stride: i64
        lengths: i64s

`Windows(count=2, stride=4, lengths=(3, 1))` is that array, `[2, 4, 3, 1]`. A kernel with a
parameter `windows: Windows` reads `windows.stride` and `windows.lengths[1]`, in Python as well.
Only the last field may be an array, whose length then is that of the values it gets.

An array may have records of one kind one after another, `Windows.array(records)`. Its fields are
those of the first, and `at(windows, k)` is the array from the k-th record on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np


class Field:
    """A field: of a record its value, of the class its offset among the numbers."""

    __slots__ = ("array", "offset")

    def __init__(self, offset: int, array: bool) -> None:
        self.offset, self.array = offset, array

    def __get__(self, record: Record | None, owner: type[Record]) -> Any:
        if record is None:
            return self.offset
        return np.asarray(record)[self.offset :] if self.array else record.item(self.offset)

    def __set__(self, record: Record, value: int) -> None:
        if self.array:
            raise TypeError("an array of a record cannot be replaced")
        record[self.offset] = value


@dataclass_transform()
class Record(np.ndarray):
    """An array of i64 whose numbers have the names that a subclass annotates.

    Subclasses of subclasses have the fields of both. A value that is missing, or that is for no
    field, is a TypeError.
    """

    FIELDS: ClassVar[dict[str, Field]] = {}
    OPEN: ClassVar[bool] = False  # whether the last field is an array

    def __init_subclass__(cls) -> None:
        cls.FIELDS = dict(cls.FIELDS)
        for name, type in cls.__annotations__.items():
            if type not in ("i64", "i64s"):
                raise TypeError(f"{cls.__name__}.{name} is {type}, not i64 or i64s")
            if hasattr(cls, name):
                raise TypeError(f"{cls.__name__}.{name} is an attribute of arrays")
            if cls.OPEN:
                raise TypeError(f"{cls.__name__}.{name} comes after an array")
            cls.OPEN = type == "i64s"
            cls.FIELDS[name] = Field(len(cls.FIELDS), cls.OPEN)
            setattr(cls, name, cls.FIELDS[name])

    def __new__(cls, *values: Any, **named: Any) -> Self:
        if named:
            others = [*cls.FIELDS][len(values) :]
            values += tuple([named.pop(name) for name in others if name in named])
        if named or len(values) != len(cls.FIELDS):
            raise TypeError(f"{cls.__name__} is made of {', '.join(cls.FIELDS)}")
        if cls.OPEN:
            values = (*values[:-1], *values[-1])
        return np.array(values, np.int64).view(cls)

    @classmethod
    def array(cls, records: Iterable[Self]) -> Self:
        """Records one after another."""
        return np.array(list(records), np.int64).reshape(-1).view(cls)


def by_axis(**values: Iterable[int]) -> dict[str, int]:
    """Fields by axis: `size_z`, `size_y` and `size_x` for the three values of `size`."""
    return {
        f"{name}_{axis}": value
        for name, of_axes in values.items()
        for axis, value in zip("zyx", of_axes, strict=True)
    }
