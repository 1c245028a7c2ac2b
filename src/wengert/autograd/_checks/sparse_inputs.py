"""Functions of sparse tensors as functions of their values."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from wengert.autograd.errors import GradcheckError
from wengert.core.sparse import CooTensor, SparseTensor
from wengert.core.tensor import Tensor

Arguments = tuple[Any, ...]


def of_values(
    func: Callable[..., Any], inputs: Arguments, masked: bool
) -> tuple[Callable[..., Any], Arguments]:
    """The function and its inputs, with a dense tensor of values for each sparse input.

    Only inputs that require grad are replaced. The gradient of a sparse tensor has its sparsity
    pattern, and so the values are all that it is of; unless `masked`, GradcheckError says so
    where the tensor does not store every place.
    """
    sparse = {k: x for k, x in enumerate(inputs) if isinstance(x, SparseTensor) and x.requires_grad}
    if not sparse:
        return func, inputs
    for k, x in sparse.items():
        if not masked and not _is_full(x):
            raise GradcheckError(
                f"Input #{k} is sparse and does not store every place: its gradient has its"
                " sparsity pattern, and lacks the derivatives at the other places. Pass"
                " masked=True to check those that it has."
            )
    values = {k: x._stored.detach().clone().requires_grad_() for k, x in sparse.items()}

    def func_of_values(*args: Any) -> Any:
        point = [sparse[k].with_values(x) if k in sparse else x for k, x in enumerate(args)]
        return func(*point)

    return func_of_values, tuple([values.get(k, x) for k, x in enumerate(inputs)])


def require_dense(output: Tensor) -> None:
    """ValueError for a sparse output."""
    if isinstance(output, SparseTensor):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call"
            " to_dense(masked_grad=...) on the output of fn for gradcheck."
        )


def _is_full(tensor: SparseTensor) -> bool:
    count = tensor._stored._array.size
    if isinstance(tensor, CooTensor):
        places = tensor._coordinates
        count = np.unique(places, axis=1).shape[1] * prod(tensor._stored._array.shape[1:])
    return bool(count == prod(tensor._extent))
