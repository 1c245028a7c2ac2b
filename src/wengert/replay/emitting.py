"""Instructions as calls of kernels on memory: what a native segment is made of.

An `Emitter` has a `View` of each value: where it lies, in elements of the memory of a *root*, and
its strides. Roots are values that are computed, or come from outside; and temporaries. The
functions of `native_forms` turn an instruction into calls, or say that there are no kernels for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels import copies
from wengert.kernels.jit import CHUNK
from wengert.kernels.precision import HALF
from wengert.replay.ir import Program, Type

F32, BOOL, I64 = np.dtype(np.float32), np.dtype(np.bool_), np.dtype(np.int64)
# What loops over elements read and write: float32 is what they compute in.
ELEMENTS = frozenset({F32, BOOL, *HALF})


class View(NamedTuple):
    """Elements of the memory of a root, with a distance in each dimension."""

    root: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def is_dense(self) -> bool:
        """Whether the elements are together, in the order of the dimensions."""
        return self.strides == dense_strides(self.shape) or self.as_shape(self.shape) is not None

    @property
    def turned(self) -> View:
        """The transposed matrices."""
        rank = len(self.shape)
        return self.permuted((*range(rank - 2), rank - 1, rank - 2))

    @property
    def row(self) -> View:
        """A vector as a matrix of one row."""
        (n,), (stride,) = self.shape, self.strides
        return self._replace(shape=(1, n), strides=(n * stride, stride))

    def permuted(self, order: Sequence[int]) -> View:
        """The dimensions in another order."""
        shape, strides = ([of[d] for d in order] for of in (self.shape, self.strides))
        return self._replace(shape=tuple(shape), strides=tuple(strides))

    def expanded(self, shape: tuple[int, ...]) -> View:
        """The elements repeated, as they broadcast to a shape."""
        more = len(shape) - len(self.shape)
        steps = [0 if n == 1 else s for n, s in zip(self.shape, self.strides, strict=True)]
        return self._replace(shape=shape, strides=(0,) * more + tuple(steps))

    def as_shape(self, shape: Sequence[int]) -> View | None:
        """The same elements, in order, in another shape; None if they would have to be copied."""
        step = 1
        for n, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n != 1 and stride != step:
                return None
            step *= n
        return View(self.root, self.offset, tuple(shape), dense_strides(shape), self.dtype)

    def shaped(self, *shape: int) -> View:
        """The elements of a dense view in another shape."""
        return self._replace(shape=shape, strides=dense_strides(shape))

    def part(self, first: Sequence[int], lengths: Sequence[int]) -> View:
        """Some of the elements along each dimension, from the `first` ones on."""
        offset = sum(n * s for n, s in zip(first, self.strides, strict=True))
        return self._replace(offset=self.offset + offset, shape=tuple(lengths))

    def as_matrix(self) -> View | None:
        """The last dimension, and all before it as one; None if their elements do not allow it."""
        if len(self.shape) == 2:
            return self
        if len(self.shape) < 2:
            return None
        rows = prod(self.shape[:-1])
        step = None
        expected = 0
        for n, stride in zip(reversed(self.shape[:-1]), reversed(self.strides[:-1]), strict=True):
            if n == 1:
                continue
            if step is None:
                step = stride
            elif stride != expected:
                return None
            expected = stride * n
        strides = (step or self.shape[-1], self.strides[-1])
        return View(self.root, self.offset, (rows, self.shape[-1]), strides, self.dtype)


class Scalar(NamedTuple):
    """A number for a kernel that is an element of the program: it is read before the call."""

    view: View


class Call(NamedTuple):
    """A call of a kernel for the chunks of `range(total)`.

    Arguments are views (whose addresses are passed), `Scalar`, numbers, arrays of constants, and
    None.
    """

    kernel: Any
    arguments: tuple[Any, ...]
    total: int
    chunk: int


def views_of(call: Call) -> list[View]:
    """The memory that a call reads and writes."""
    found = [a.view if type(a) is Scalar else a for a in call.arguments]
    return [a for a in found if type(a) is View]


class Refusal(NamedTuple):
    """Where a kernel notes that an index is out of bounds, and which; what is raised then."""

    wrong: np.ndarray
    error: Callable[[int], Exception]


class Emitter:
    """The calls of the instructions of a program, and the views of its values."""

    def __init__(self, program: Program, given: dict[int, View], threads: int) -> None:
        self.program, self.views, self.threads = program, given, threads
        self.calls: list[Call] = []
        self.temporaries: dict[int, int] = {}  # their bytes
        self.refusals: list[Refusal] = []
        self.written: set[int] = set()  # results of later instructions that calls give as well
        self.changed: set[int] = set()  # roots that are written to after something was copied there

    def type_of(self, value: int) -> Type:
        """Shape and dtype of a value."""
        return self.program.types[value]

    def view(self, value: int) -> View | None:
        """Where a value lies; None for one of which kernels know nothing."""
        if value not in self.views:
            type_ = self.type_of(value)
            if type_.dtype is None:
                return None
            self.views[value] = dense(value, type_.shape, type_.dtype)
        return self.views[value]

    def room(self, value: int, shape: Sequence[int], dtype: np.dtype[Any] = F32) -> View:
        """Memory for a value of which only its calls know what it is, such as kept statistics."""
        self.program.types[value] = Type(tuple(shape), dtype)
        self.views[value] = dense(value, shape, dtype)
        return self.views[value]

    def seen(self, values: Sequence[int]) -> list[View] | None:
        """The views of several values of float32."""
        views = [self.view(v) for v in values]
        if any(v is None or v.dtype != F32 for v in views):
            return None
        return [v for v in views if v is not None]

    def alike(self, values: Sequence[int]) -> list[View] | None:
        """The views of several values of float32, or of one type of halves."""
        views = [v for value in values if (v := self.view(value)) is not None]
        dtypes = {v.dtype for v in views}
        if len(views) < len(values) or len(dtypes) > 1 or not dtypes <= HALF | {F32}:
            return None
        return views

    def temporary(self, shape: Sequence[int], dtype: np.dtype[Any] = F32) -> View:
        """Memory for the calls of one instruction."""
        root = -1 - len(self.temporaries)
        self.temporaries[root] = dtype.itemsize * prod(shape)
        return dense(root, shape, dtype)

    def derived(self, weight: Any, key: Hashable, size: int, fill: Callable[[Any], None]) -> View:
        """What calls compute of a weight, each time: nothing is kept between programs' runs."""
        floats = self.temporary([size])
        fill(floats)
        return floats

    def checked(self, index: View, limit: int, error: Callable[[int], Exception]) -> View:
        """Indices that are in bounds; of others a segment raises an error."""
        root = self.temporary((*index.shape, 2)).root
        out, wrong = dense(root, index.shape, I64), np.zeros(2, np.int64)
        self.refusals.append(Refusal(wrong, error))
        self.call(
            copies.checked_indices.f32, index, out, wrong, limit, total=index.size, chunk=CHUNK
        )
        return out

    def call(self, kernel: Any, *arguments: Any, total: int, chunk: int) -> None:
        """Add a call."""
        self.calls.append(Call(kernel, arguments, total, chunk))


def dense(root: int, shape: Sequence[int], dtype: np.dtype[Any]) -> View:
    """The elements of a root that has memory of its own."""
    return View(root, 0, tuple(shape), dense_strides(shape), dtype)


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The distances of elements in the order of the dimensions."""
    strides, step = list[int](), 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))
