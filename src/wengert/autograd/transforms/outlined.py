"""Tracers of values whose elements are not to be read."""

from __future__ import annotations

from typing import Any

from wengert.core.outline import Outline
from wengert.core.size import Size
from wengert.core.tensor import Tracer, memory_of, shape_of


class OutlinedTracer(Tracer):
    """A tracer that has an outline in place of the array of what it stands for."""

    __slots__ = ()

    outline: type[Outline]  # which says why there are no elements

    @property
    def _array(self) -> Any:
        array, shape = memory_of(self), shape_of(self)
        strides = array.strides[array.ndim - len(shape) :]
        return self.outline(shape, array.dtype, strides, array.flags.writeable)

    @_array.setter
    def _array(self, value: Any) -> None:
        self._replace_memory(value)

    @property
    def shape(self) -> Size:
        """The shape of what it stands for."""
        return Size(shape_of(self))
