"""The elements of a tensor at the places that a sparse tensor has."""

from __future__ import annotations

import numpy as np

from wengert.core.sparse import CooTensor, SparseTensor
from wengert.core.tensor import Tensor
from wengert.kernels.sparse import keys_of
from wengert.ops.arithmetic import mul
from wengert.ops.shape import reshape
from wengert.sparse._operations import take_at
from wengert.sparse._places import as_coo, block_size, coalesced, in_layout, values_at


def sparse_mask_of(input: Tensor, mask: SparseTensor) -> SparseTensor:
    """The elements of a dense or sparse tensor at the places of `mask`, as a tensor like it."""
    if tuple(input.shape) != mask._extent:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(input.shape)}"
            f" but mask has size {list(mask._extent)}"
        )
    plain = as_coo(mask)
    values = (
        _stored_at(input, plain)
        if isinstance(input, SparseTensor)
        else take_at(input, plain._coordinates)
    )
    if isinstance(mask, CooTensor):
        return mask.with_values(values)
    masked = in_layout(plain.with_values(values), mask.layout, block_size(mask))
    assert isinstance(masked, SparseTensor)
    return masked


def _stored_at(input: SparseTensor, mask: CooTensor) -> Tensor:
    """The values of a sparse tensor at other places, zero where it has none."""
    plain = coalesced(as_coo(input))
    keys, wanted = (keys_of(x._coordinates, x._extent) for x in (plain, mask))
    if not len(keys):
        return plain._stored.new_zeros((len(wanted), *plain._stored.shape[1:]))
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    values = values_at(plain._stored, at)
    present = plain._stored.new_tensor(keys[at] == wanted)
    return mul(values, reshape(present, (-1, *(1,) * (values.ndim - 1))))
