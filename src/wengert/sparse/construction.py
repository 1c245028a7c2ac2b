"""Making sparse tensors of indices and values, and checking that they fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.device import check_cpu
from wengert.core.layout import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from wengert.core.sparse import CompressedTensor, CooTensor, Shape, compressed, coo, layout_of
from wengert.core.tensor import Tensor, memory_of
from wengert.kernels.sparse import keys_of
from wengert.ops.casting import convert
from wengert.sparse._operations import stored_values
from wengert.sparse._places import BLOCKED, BY_ROW
from wengert.sparse.invariants import check_sparse_tensor_invariants
from wengert.tensor.arguments import size_of
from wengert.tensor.creation import as_tensor

COMPRESSED = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A tensor of `values` at `indices` (dimensions, values), and zeros elsewhere.

    Values at the same place add up. Those with more than one dimension make a hybrid tensor,
    whose last dimensions are dense. Without `size` it is as large as the indices ask for; with
    `size` alone the tensor is empty. RuntimeError for indices out of bounds, always.

    >>> import wengert
    >>> wengert.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    tensor(indices=tensor([[0, 1],
                           [2, 0]]),
           values=tensor([3., 4.]),
           size=(2, 3), nnz=2, layout=torch.sparse_coo)
    """
    check_cpu(device)
    if values is None:
        shape = size_of("sparse_coo_tensor", (indices if size is None else size,))
        places = np.zeros((len(shape), 0), np.int64)
        empty = as_tensor(np.zeros(0, dtypes.of_argument("sparse_coo_tensor", dtype).np
                                   if dtype is not None else dtypes.defaults.dtype.np))  # fmt: skip
        return _as_leaf(coo(places, empty, shape, coalesced=True), requires_grad)
    places = _indices("indices", indices)
    stored = _values(values, dtype)
    if places.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    _check_number(places, stored)
    if places.size and places.min() < 0:
        dim = int(np.argmax(places.min(axis=1) < 0))
        raise RuntimeError(f"found negative index {places[dim].min()} for dim {dim}")
    if size is None:
        lead = places.max(axis=1) + 1 if places.shape[1] else np.zeros(len(places), np.int64)
        shape = (*map(int, lead), *stored.shape[1:])
    else:
        shape = size_of("sparse_coo_tensor", (size,))
    _check_places(places, stored, shape)
    result = coo(places.astype(np.int64), _own(stored), shape)
    if is_coalesced:
        keys = keys_of(result._coordinates, shape)
        if (keys[1:] <= keys[:-1]).any():
            raise RuntimeError(
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
            )
        result._coalesced = True
    return _as_leaf(result, requires_grad)


def new_of(self: Any, *args: Any, device: Any = None) -> Tensor:
    """A tensor of coordinates as the old constructors have it: of a size, or of its components."""
    if not isinstance(self, CooTensor):
        raise RuntimeError(f"new(): not there for tensors of layout {layout_of(self)}")
    of_components = len(args) in (2, 3) and all(isinstance(x, Tensor) for x in args[:2])
    if of_components:
        return sparse_coo_tensor(*args, device=device)
    if any(isinstance(x, Tensor | list) for x in args):
        kinds = ", ".join(type(x).__name__ for x in args)
        raise TypeError(
            "new() received an invalid combination of arguments: expected sizes, or indices,"
            f" values and a size; got ({kinds})"
        )
    return sparse_coo_tensor(size_of("new", args or (0,)), dtype=self.dtype, device=device)


def _indices(name: str, value: Any) -> np.ndarray:
    array = memory_of(value) if isinstance(value, Tensor) else np.asarray(value)
    if array.dtype.kind == "f" and (not array.size or (array == np.trunc(array)).all()):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise RuntimeError(
            f"{name} must be an integral tensor (int32 or int64), but got a tensor of dtype"
            f" {dtypes.of_numpy[array.dtype]}"
        )
    return array


def _values(value: Any, dtype: Any) -> Tensor:
    values = value if isinstance(value, Tensor) else as_tensor(value)
    if not values.ndim:
        values = values.reshape(1)
    return values if dtype is None else convert(values, dtypes.of_argument("dtype", dtype))


def _own(values: Tensor) -> Tensor:
    """The values as a sparse tensor has them: no leaf, which would be the user's."""
    return stored_values(values) if values._edge is not None else values


def _as_leaf(tensor: Any, requires_grad: bool) -> Tensor:
    if requires_grad:
        tensor._stored = tensor._stored.detach().requires_grad_()
    leaf: Tensor = tensor
    return leaf


def _check_number(places: np.ndarray, values: Tensor) -> None:
    count = places.shape[1]
    if len(values) != count:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {count}, nnz from"
            f" values: {len(values)}"
        )


def _check_places(places: np.ndarray, values: Tensor, shape: Shape) -> None:
    sparse_dim, dense_dim = len(places), values.ndim - 1
    if len(shape) != sparse_dim + dense_dim:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) ="
            f" {len(shape)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    if tuple(values.shape[1:]) != shape[sparse_dim:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[len(values), *shape[sparse_dim:]]}, got"
            f" {list(values.shape)}"
        )
    for dim, row in enumerate(places):
        if row.size and row.max() >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but"
                f" found index {row.max()}"
            )


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A tensor of compressed rows or columns, in the `layout` that is named.

    The plain indices of row (or column) `i` are those from ``compressed_indices[i]`` up to
    ``compressed_indices[i + 1]``. RuntimeError for indices out of bounds, always; that they are
    sorted and distinct is checked with `check_invariants`.

    >>> import wengert
    >>> x = wengert.sparse_compressed_tensor(
    ...     [0, 1, 2], [1, 0], [3.0, 4.0], (2, 2), layout=wengert.sparse_csr)
    >>> x.to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    if layout not in COMPRESSED:
        got = "none" if layout is None else f"({layout})"
        raise RuntimeError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {got}"
        )
    return _compressed_tensor(
        layout, compressed_indices, plain_indices, values, size, dtype, device, requires_grad,
        check_invariants,
    )  # fmt: skip


def _constructor(kind: layout, compressed_name: str, plain_name: str) -> Any:
    """The constructor of one compressed layout; its arguments have the names of its indices."""
    name = f"{kind.name}_tensor"

    def by_row(
        crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
        device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
        check_invariants: bool | None = None,
    ) -> Tensor:  # fmt: skip
        return _compressed_tensor(
            kind, crow_indices, col_indices, values, size, dtype, device, requires_grad,
            check_invariants,
        )  # fmt: skip

    def by_column(
        ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
        device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
        check_invariants: bool | None = None,
    ) -> Tensor:  # fmt: skip
        return _compressed_tensor(
            kind, ccol_indices, row_indices, values, size, dtype, device, requires_grad,
            check_invariants,
        )  # fmt: skip

    construct: Any = by_row if kind in BY_ROW else by_column
    blocks = "[[[3.0]], [[4.0]]]" if kind in BLOCKED else "[3.0, 4.0]"
    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = f"""As `sparse_compressed_tensor`, of layout {kind.name}.

    The indices are the tensor's `{compressed_name}()` and `{plain_name}()`.

    >>> import wengert
    >>> wengert.{name}([0, 1, 2], [1, 0], {blocks}, (2, 2)).to_dense()
    tensor({"[[0., 3.]," if kind in BY_ROW else "[[0., 4.],"}
            {"[4., 0.]])" if kind in BY_ROW else "[3., 0.]])"}
    """
    return construct


sparse_csr_tensor = _constructor(sparse_csr, "crow_indices", "col_indices")
sparse_csc_tensor = _constructor(sparse_csc, "ccol_indices", "row_indices")
sparse_bsr_tensor = _constructor(sparse_bsr, "crow_indices", "col_indices")
sparse_bsc_tensor = _constructor(sparse_bsc, "ccol_indices", "row_indices")


def _compressed_tensor(
    kind: layout, compressed_indices: Any, plain_indices: Any, values: Any, size: Any,
    dtype: Any, device: Any, requires_grad: bool, check_invariants: bool | None,
) -> Tensor:  # fmt: skip
    check_cpu(device)
    names = ("crow_indices", "col_indices") if kind in BY_ROW else ("ccol_indices", "row_indices")
    bounds = _indices(names[0], compressed_indices)
    plain = _indices(names[1], plain_indices)
    if not bounds.ndim or bounds.ndim != plain.ndim:
        raise RuntimeError(
            f"number of dimensions of {names[0]} and {names[1]} must be at least 1 and equal, but"
            f" got {bounds.ndim} and {plain.ndim}"
        )
    stored = _values(values, dtype)
    if size is None:
        shape = _inferred(kind, bounds, plain, stored)
    else:
        shape = size_of("sparse_compressed_tensor", (size,))
    result = compressed(kind, bounds, plain, _own(stored), shape)
    check = check_sparse_tensor_invariants.is_enabled() if check_invariants is None else (
        check_invariants
    )  # fmt: skip
    _check_compressed(result, names, check)
    return _as_leaf(result, requires_grad)


def _inferred(kind: layout, bounds: np.ndarray, plain: np.ndarray, values: Tensor) -> Shape:
    """The smallest shape that the indices fit in."""
    batch = bounds.ndim - 1
    blocked = kind in BLOCKED
    height, width = values.shape[batch + 1 : batch + 3] if blocked else (1, 1)
    lines, others = bounds.shape[-1] - 1, int(plain.max()) + 1 if plain.size else 0
    rows, columns = (lines, others) if kind in BY_ROW else (others, lines)
    trailing = values.shape[batch + 1 + 2 * blocked :]
    return (*bounds.shape[:-1], rows * height, columns * width, *trailing)


def _check_compressed(tensor: CompressedTensor, names: tuple[str, str], thorough: bool) -> None:
    """Raise RuntimeError unless indices, values and shape fit each other."""
    kind, bounds, plain = tensor._layout, tensor._bounds, tensor._plain
    extent, values = tensor._extent, tensor._stored
    batch, blocked = bounds.ndim - 1, kind in BLOCKED
    if len(extent) < batch + 2:
        raise RuntimeError(
            f"size must have at least {batch + 2} dimensions for {batch} of a batch, but got"
            f" {list(extent)}"
        )
    block = tuple(values.shape[batch + 1 : batch + 3]) if blocked else (1, 1)
    if len(block) < 2:
        raise RuntimeError(f"values must have blocks, but its shape is {list(values.shape)}")
    for d, (n, b) in enumerate(zip(extent[batch:], block, strict=False)):
        if b and n % b:
            raise RuntimeError(
                f"tensor shape[{batch + d}] (={n}) must be divisible with blocksize[{d}] (={b})"
                " as defined by values shape"
            )
    rows, columns = (n // max(b, 1) for n, b in zip(extent[batch:], block, strict=False))
    lines, others = (rows, columns) if kind in BY_ROW else (columns, rows)
    line, other = ("nrows", "ncols") if kind in BY_ROW else ("ncols", "nrows")
    count = plain.shape[-1]
    trailing = extent[batch + 2 :]
    expected = (*extent[:batch], count, *(block if blocked else ()), *trailing)
    first, second = names
    _require(tuple(values.shape) == expected, f"values.shape == {list(expected)}")
    _require(bounds.shape == (*extent[:batch], lines + 1), f"{first}.shape[-1] == {line} + 1")
    _require(bool((bounds[..., 0] == 0).all()), f"{first}[..., 0] == 0")
    _require(bool((bounds[..., -1] == count).all()), f"{first}[..., -1] == nnz")
    steps = np.diff(bounds)
    most = others if thorough else count
    _require(
        bool(((steps >= 0) & (steps <= most)).all()),
        f"0 <= {first}[..., 1:] - {first}[..., :-1] <= {other}",
    )
    _require(bool(((plain >= 0) & (plain < others)).all()), f"0 <= {second} < {other}")
    if thorough:
        _require(
            _is_sorted(bounds, plain),
            f"{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., {line} are"
            " sorted and distinct along the last dimension values",
        )


def _is_sorted(bounds: np.ndarray, plain: np.ndarray) -> bool:
    """Whether the plain indices of each line rise."""
    lines = bounds.reshape(-1, bounds.shape[-1])
    for row, indices in zip(lines, plain.reshape(-1, plain.shape[-1]), strict=True):
        rises = np.concatenate([[True], indices[1:] > indices[:-1]])
        rises[row[:-1][row[:-1] < len(rises)]] = True
        if not rises.all():
            return False
    return True


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise RuntimeError(f"`{what}` is not satisfied.")


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A sparse matrix with the rows of `diagonals` along its diagonals.

    Column `j` of row `k` stands in column `j` of the matrix, on the diagonal ``offsets[k]``.

    >>> import wengert
    >>> wengert.sparse.spdiags(
    ...     wengert.tensor([[1.0, 2.0, 3.0]]), wengert.tensor([1]), (3, 3)).to_dense()
    tensor([[0., 2., 0.],
            [0., 0., 3.],
            [0., 0., 0.]])
    """
    from wengert.sparse._operations import take_at
    from wengert.sparse._places import in_layout

    rows_of = diagonals.reshape(1, -1) if diagonals.ndim == 1 else diagonals
    offset = memory_of(offsets).reshape(-1)
    if rows_of.ndim != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(offset) != len(rows_of):
        raise RuntimeError(
            f"Number of diagonals ({len(rows_of)}) does not match the number of offsets"
            f" ({len(offset)})"
        )
    if len(np.unique(offset)) != len(offset):
        raise RuntimeError(f"Offset tensor contains duplicate values: {offset.tolist()}")
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(
            f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}"
        )
    extent = size_of("spdiags", (shape,))
    if len(extent) != 2:
        raise RuntimeError(f"Output shape must be 2d, got {list(extent)}")
    number, column = np.indices((len(offset), min(rows_of.shape[1], extent[1])))
    row = column - offset[:, None]
    inside = (row >= 0) & (row < extent[0])
    places = np.stack([row[inside], column[inside]])
    values = take_at(rows_of, np.stack([number[inside], column[inside]]))
    matrix: CooTensor = coo(places, values, extent)
    return matrix if layout is None else in_layout(matrix, layout)
