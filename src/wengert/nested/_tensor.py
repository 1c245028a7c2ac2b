"""The class of nested tensors, and what one says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate, count
from typing import Any

import numpy as np

from wengert.core.fronts import arm_for_classes
from wengert.core.layout import jagged, strided
from wengert.core.layout import layout as layout_type
from wengert.core.overriding import silent
from wengert.core.size import Size
from wengert.core.tensor import Node, RawCut, Tensor, new
from wengert.tensor.creation import as_tensor

_numbers = count(1)


class Partition:
    """How the elements of a nested tensor fall into components; results share that of operands.

    Attributes:
        lengths: of the components, in their irregular dimension; of components that differ in
            several, the numbers of their elements.
        shapes: of those components, otherwise None.
    """

    def __init__(self, lengths: tuple[int, ...], shapes: Any = None) -> None:
        self.lengths, self.shapes = lengths, shapes
        self.starts = (0, *accumulate(lengths))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Partition) and self.lengths == other.lengths
        return self is other or (same and self.shapes == other.shapes)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.lengths, self.shapes))

    @cached_property
    def number(self) -> int:
        """By which the irregular dimension is told from others, in texts."""
        return next(_numbers)

    @cached_property
    def offsets(self) -> Tensor:
        """Where the components begin, and the last one ends."""
        return as_tensor(np.array(self.starts, np.int64))

    @cached_property
    def component(self) -> Tensor:
        """The component of each index along the packed dimension."""
        return as_tensor(np.repeat(np.arange(len(self.lengths)), self.lengths))

    @cached_property
    def position(self) -> Tensor:
        """The position in its component of each index along the packed dimension."""
        inner = [np.arange(n) for n in self.lengths]
        return as_tensor(np.concatenate([*inner, np.zeros(0, np.int64)]).astype(np.int64))


class RaggedLength:
    """The length of the irregular dimension: a name, equal to those of the same lengths."""

    __slots__ = ("partition",)

    def __init__(self, partition: Partition) -> None:
        self.partition = partition

    def __repr__(self) -> str:
        return f"j{self.partition.number}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedLength) and self.partition == other.partition

    def __hash__(self) -> int:
        return hash(self.partition)

    def __int__(self) -> int:
        raise RuntimeError(
            f"{self!r} is the length of an irregular dimension: the components of a nested tensor"
            f" have {list(self.partition.lengths)}"
        )

    __index__ = __int__


class NestedTensor(Tensor, unwrapped=False):
    """A batch of tensors that differ in the length of a dimension.

    `_stored` has the elements: dimension `_ragged - 1` of it is the irregular one of all
    components, one after another. Components that differ in several dimensions (which only the
    strided layout has) are flat, and `_ragged` is 0.
    """

    __slots__ = ("_partition", "_ragged", "_stored", "_strided")

    _stored: Tensor
    _partition: Partition
    _ragged: int
    _strided: bool

    # Set by `_functions`: what computes a function of which an argument is nested.
    compute: Callable[[Any, Any, Any], Any]

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return NestedTensor.compute(func, args, kwargs or {})

    @property
    def _array(self) -> Any:  # type: ignore[override]
        raise unsupported("this operation", self)

    @property
    def _edge(self) -> Node | None:  # type: ignore[override]
        return self._stored._edge

    @property
    def _cut(self) -> RawCut | None:  # type: ignore[override]
        return self._stored._cut

    @property
    def is_nested(self) -> bool:
        """True."""
        return True

    @property
    def layout(self) -> layout_type:
        """`torch.jagged` or `torch.strided`."""
        return strided if self._strided else jagged

    @property
    def dtype(self) -> Any:
        """That of the elements."""
        return self._stored.dtype

    @property
    def ndim(self) -> int:
        """That of the components, and one."""
        shapes = self._partition.shapes
        return self._stored.ndim + 1 if shapes is None else len(shapes[0]) + 1

    @property
    def shape(self) -> Any:
        """The size, with a name for the irregular dimension."""
        if self._strided:
            raise RuntimeError(
                "Internal error: NestedTensorImpl doesn't support sizes: a nested tensor of layout"
                " torch.strided has size(dim) for regular dimensions"
            )
        lengths: list[Any] = [len(self._partition.lengths), *self._stored.shape]
        lengths[self._ragged] = RaggedLength(self._partition)
        return tuple.__new__(Size, lengths)

    @property
    def requires_grad(self) -> bool:
        """Whether gradients arrive here."""
        return self._stored._edge is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._stored.requires_grad = value

    @property
    def is_leaf(self) -> bool:
        """Whether no operation made it."""
        return self._stored.is_leaf

    @property
    def grad(self) -> Any:
        """The gradient, with the same components."""
        gradient = self._stored.grad
        return None if gradient is None else self.like(gradient)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._stored.grad = value._stored if isinstance(value, NestedTensor) else value

    @property
    def data(self) -> Tensor:
        """The elements without a graph."""
        return self.like(self._stored.data)

    @data.setter
    def data(self, value: Any) -> None:
        self._stored.data = value._stored

    def like(self, values: Tensor) -> NestedTensor:
        """Other elements in the same places."""
        return nested(values, self._partition, self._ragged, self._strided)

    def components(self) -> list[Tensor]:
        """The tensors of the batch, differentiably."""
        shapes, stored = self._partition.shapes, self._stored
        pairs = list(zip(self._partition.starts, self._partition.lengths, strict=False))
        if shapes is None:
            return [stored.narrow(self._ragged - 1, start, n) for start, n in pairs]
        cut = [stored[start : start + n] for start, n in pairs]
        return [x.reshape(shape) for x, shape in zip(cut, shapes, strict=True)]

    def offsets(self) -> Tensor:
        """Where the components begin in `values()`, and the last one ends."""
        if self._strided:
            raise unsupported("offsets", self)
        return self._partition.offsets

    def lengths(self) -> None:
        """None: the components lie side by side, and `offsets()` says it all."""

    def __len__(self) -> int:
        return len(self._partition.lengths)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.components())

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        graph = ""
        if self._edge is not None:
            graph = ", requires_grad=True" if self.is_leaf else f", grad_fn={self.grad_fn!r}"
        if self._strided:
            texts = [repr(x).replace("\n", "\n  ") for x in self.components()]
            return "nested_tensor([\n  " + ",\n  ".join(texts) + f"\n]{graph})"
        size = ", ".join(map(str, self.shape))
        flag = self._stored.is_contiguous() and self._ragged == 1
        offsets = self._partition.offsets
        return f"NestedTensor(size=({size}), offsets={offsets!r}{graph}, contiguous={flag})"


def nested(
    values: Tensor, partition: Partition, ragged: int = 1, strided: bool = False
) -> NestedTensor:
    """A nested tensor of elements that are known to fit."""
    result = new(NestedTensor)
    result._stored, result._partition = values, partition
    result._ragged, result._strided = ragged, strided
    return result


def unsupported(name: str, tensor: NestedTensor) -> NotImplementedError:
    """The error of a function that there is not for nested tensors."""
    return NotImplementedError(
        f"{name}() is not there for nested tensors (layout {tensor.layout}); pad them first:"
        " torch.nested.to_padded_tensor(x, 0.0), or take the components: x.unbind()"
    )


silent.discard(NestedTensor)
arm_for_classes()
