"""Sums of sparse tensors over ranks: everybody gets the places and values of all, and adds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd.grad_mode import no_grad
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import wrap
from wengert.distributed import schedules
from wengert.distributed.process_group import ProcessGroup, Work
from wengert.distributed.reduce_op import RedOpType
from wengert.sparse.construction import sparse_coo_tensor

_SUMS = (RedOpType.SUM, RedOpType.AVG)


def reduce_sparse(
    name: str, tensor: SparseTensor, op: RedOpType, group: ProcessGroup, async_op: bool = False
) -> Work | None:
    """Replace a tensor in COO by the coalesced sum of those of all ranks, or by their average.

    Raises RuntimeError for other layouts and reductions.
    """
    if op not in _SUMS or tensor.layout.name != "sparse_coo":
        raise RuntimeError(
            f"{name}(): sparse tensors are summed, in the layout torch.sparse_coo; got ReduceOp."
            f"{op.name} and {tensor.layout}"
        )
    own = tensor.detach()
    indices, values = own._indices()._array, own._values()._array
    data = np.ascontiguousarray(indices).tobytes() + np.ascontiguousarray(values).tobytes()
    place = indices.shape[0] * indices.itemsize
    each = place + values.dtype.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
    everybody = range(group.size())

    def algorithm(comm: Any) -> None:
        parts = schedules.gather_bytes(comm, data, everybody)
        counts = [len(part) // each for part in parts]
        places = [np.frombuffer(p, indices.dtype, n * len(indices)).reshape(len(indices), n)
                  for p, n in zip(parts, counts, strict=True)]  # fmt: skip
        rows = [np.frombuffer(p, values.dtype, offset=n * place).reshape(n, *values.shape[1:])
                for p, n in zip(parts, counts, strict=True)]  # fmt: skip
        total = sparse_coo_tensor(
            wrap(np.concatenate(places, 1)), wrap(np.concatenate(rows)), tuple(tensor.shape)
        ).coalesce()
        with no_grad():
            tensor.copy_(total / group.size() if op is RedOpType.AVG else total)

    signature = f"{tensor.dtype}, sparse, {tuple(tensor.shape)}"
    return group.run(name, signature, algorithm, (), async_op)
