"""Printing sparse tensors as PyTorch does: their indices and their values."""

from __future__ import annotations

import numpy as np

from wengert.core.sparse import CompressedTensor, CooTensor, SparseTensor, layout_of
from wengert.core.tensor import Leaf, Tensor, wrap
from wengert.sparse._places import BY_ROW
from wengert.tensor.printing import body_of, is_default, joined


def _named(name: str, tensor: Tensor, indent: int) -> str:
    array = tensor._array
    prefix = f"{name}=tensor("
    if not array.size:
        return f"{prefix}[], size={tuple(array.shape)})"
    return prefix + body_of(array, indent + len(prefix)) + ")"


def text_of_sparse(tensor: SparseTensor) -> str:
    """The `repr` of a sparse tensor."""
    values = tensor._stored.detach()
    suffixes = [f"size={tuple(tensor._extent)}", f"nnz={_count(tensor)}"]
    if not is_default(tensor.dtype):
        suffixes.append(f"dtype={tensor.dtype}")
    suffixes.append(f"layout={layout_of(tensor)}")
    edge = tensor._edge
    if edge is not None:
        name = type(edge).__name__
        suffixes.append("requires_grad=True" if type(edge) is Leaf else f"grad_fn=<{name}>")
    prefix = "tensor("
    indent = len(prefix)
    names: tuple[str, ...]
    arrays: tuple[np.ndarray, ...]
    if isinstance(tensor, CooTensor):
        names, arrays = ("indices",), (tensor._coordinates,)
    else:
        assert isinstance(tensor, CompressedTensor)
        by_row = tensor._layout in BY_ROW
        names = ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices")
        arrays = (tensor._bounds, tensor._plain)
    lines = [_named(n, wrap(a), indent) for n, a in zip(names, arrays, strict=True)]
    lines.append(_named("values", values, indent))
    text = prefix + (",\n" + " " * indent).join(lines)
    return joined(text, suffixes, indent, new_line=isinstance(tensor, CooTensor))


def _count(tensor: SparseTensor) -> int:
    if isinstance(tensor, CooTensor):
        return tensor._coordinates.shape[1]
    assert isinstance(tensor, CompressedTensor)
    return tensor._plain.shape[-1]
