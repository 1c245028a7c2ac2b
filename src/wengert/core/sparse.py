"""Sparse tensors: coordinates or compressed indices, and a Tensor of the values there.

A `SparseTensor` is a Tensor without an array. Its values are an ordinary Tensor with a place of
its own in the graph, and so the gradient of a sparse tensor is that of its values: it has the
same sparsity pattern. Operations do not unwrap a SparseTensor; they hand it over to
`SparseTensor.dispatch`, which `wengert.sparse` sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.layout import layout, sparse_coo
from wengert.core.tensor import Node, RawCut, Tensor, getframe, internal, memory_of, new

Shape = tuple[int, ...]


class SparseTensor(Tensor, unwrapped=False):
    """A tensor that stores its values at some places, and is zero elsewhere."""

    __slots__ = ("_extent", "_pattern", "_stored")

    _extent: Shape  # its shape
    _stored: Tensor  # the values, one after another
    _pattern: Any  # what products need to know of the places, worked out on first use

    # Set by `wengert.sparse`: what computes an operation on tensors of which one is sparse, and
    # what gives this class its methods, called before the first instance is made.
    dispatch: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    dispatch_list: Callable[[str, Any, tuple[Any, ...]], Any]
    bind: Callable[[], None] | None = None
    # Methods that it then has: a gradient of the values as that of the tensor, and the reverse.
    gradient_like: Callable[[Tensor | None], Tensor | None]
    gradient_of_values: Callable[[Tensor], Tensor]
    filled_like: Callable[[str, Any, dict[str, Any]], Tensor]  # what `zeros_like` makes of it

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(unwrapped=False, **options)

    @property
    def _array(self) -> Any:  # type: ignore[override]
        """What code for dense tensors asks for."""
        raise unsupported(_called(), self)

    _outline = _array

    @property
    def _edge(self) -> Node | None:  # type: ignore[override]
        return self._stored._edge

    @property
    def _cut(self) -> RawCut | None:  # type: ignore[override]
        return self._stored._cut

    def with_values(self, values: Tensor) -> SparseTensor:
        """Other values at the same places."""
        raise NotImplementedError


def stored_array(tensor: Tensor) -> np.ndarray:
    """The array that a tensor keeps in memory: that of its values, if it is sparse."""
    return memory_of(tensor._stored if isinstance(tensor, SparseTensor) else tensor)


class CooTensor(SparseTensor):
    """Coordinates: column `k` of `_coordinates` says where value `k` stands."""

    __slots__ = ("_coalesced", "_coordinates")

    _coordinates: np.ndarray  # int64, (sparse dimensions, values)
    _coalesced: bool  # whether the coordinates are sorted, and each is there once

    def with_values(self, values: Tensor) -> CooTensor:
        """Other values at the same places."""
        result = coo(self._coordinates, values, self._extent, self._coalesced)
        result._pattern = self._pattern
        return result


class CompressedTensor(SparseTensor):
    """Compressed rows or columns, of numbers or of blocks, as `_layout` says.

    The columns of row `i` (or the rows of column `i`) are those of `_plain` from `_bounds[i]` up
    to `_bounds[i + 1]`. Both may have leading batch dimensions.
    """

    __slots__ = ("_bounds", "_layout", "_plain")

    _bounds: np.ndarray  # int32 or int64, like `_plain`
    _plain: np.ndarray
    _layout: layout

    def with_values(self, values: Tensor) -> CompressedTensor:
        """Other values at the same places."""
        result = compressed(self._layout, self._bounds, self._plain, values, self._extent)
        result._pattern = self._pattern
        return result


def coo(
    coordinates: np.ndarray, values: Tensor, shape: Shape, coalesced: bool = False
) -> CooTensor:
    """A tensor of coordinates and values, which have been checked."""
    if SparseTensor.bind is not None:
        SparseTensor.bind()
    result = new(CooTensor)
    result._coordinates, result._stored, result._extent = coordinates, values, shape
    result._coalesced, result._pattern = coalesced or coordinates.shape[1] < 2, None
    return result


def compressed(
    kind: layout, bounds: np.ndarray, plain: np.ndarray, values: Tensor, shape: Shape
) -> CompressedTensor:
    """A tensor of compressed indices and values, which have been checked."""
    if SparseTensor.bind is not None:
        SparseTensor.bind()
    result = new(CompressedTensor)
    result._layout, result._bounds, result._plain = kind, bounds, plain
    result._stored, result._extent, result._pattern = values, shape, None
    return result


def numpy_dtype(tensor: Tensor) -> np.dtype[Any]:
    """NumPy's dtype of the elements of a tensor, dense or sparse."""
    values = tensor._stored if isinstance(tensor, SparseTensor) else tensor
    return values._outline.dtype


def shape_of(tensor: Tensor) -> Shape:
    """The shape of a tensor, dense or sparse."""
    shape: Shape = tensor._extent if isinstance(tensor, SparseTensor) else tensor._outline.shape
    return shape


def layout_of(tensor: SparseTensor) -> layout:
    """How a sparse tensor stores its places."""
    return tensor._layout if isinstance(tensor, CompressedTensor) else sparse_coo


def backend_of(tensor: SparseTensor) -> str:
    """The name that PyTorch's errors have for tensors of a layout."""
    return "SparseCsrCPU" if isinstance(tensor, CompressedTensor) else "SparseCPU"


def unsupported(name: str, tensor: SparseTensor) -> NotImplementedError:
    """The error of an operation that there is not for sparse tensors."""
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend_of(tensor)}' backend:"
        f" {name}() is not there for tensors of layout {layout_of(tensor)}; convert the tensor"
        " first: x.to_dense()"
    )


def _called() -> str:
    """The function of the package that the user called."""
    frame, name = getframe(2), "this operation"
    while frame is not None and frame.f_code.co_filename in internal:
        own = frame.f_code.co_name
        if own[0] not in "<_" and own != "method":
            name = own
        frame = frame.f_back  # type: ignore[assignment]
    return name
