"""Functions of `torch` that give what the backward of a layer needs beside its result.

Programs that were exported, and hand-written backward passes, name them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.dtypes import bool_
from wengert.core.fronts import publish_module
from wengert.core.tensor import Tensor
from wengert.dispatch.computed import native_layer_norm as native_layer_norm
from wengert.linalg import matrix_norm, vector_norm
from wengert.nn import functional as F
from wengert.ops.outputs import write_out
from wengert.tensor.creation import empty, empty_like, ones_like


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int,  # noqa: N803
    group: int, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`nn.functional.group_norm`, with the means and reciprocal deviations of (N, group).

    >>> import wengert
    >>> x = wengert.arange(8.0).reshape(1, 4, 2)
    >>> result, mean, rstd = wengert.native_group_norm(x, None, None, 1, 4, 2, 2, 1e-5)
    >>> mean
    tensor([[1.5000, 5.5000]])
    """
    if input.numel() != N * C * HxW:
        raise RuntimeError(
            f"native_group_norm(): input has {input.numel()} elements, expected N * C * HxW ="
            f" {N * C * HxW}"
        )
    result = F.group_norm(input, group, weight, bias, eps)
    rows = input.reshape(N, group, -1)
    return result, rows.mean(-1), (rows.var(-1, correction=0) + eps).rsqrt()


def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, *,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`nn.functional.batch_norm`, with the mean and reciprocal deviation of the batch.

    In evaluation, where running statistics are used, both are empty.

    >>> import wengert
    >>> x = wengert.tensor([[1.0], [3.0]])
    >>> wengert.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-8)
    (tensor([[-1.],
            [ 1.]]), tensor([2.]), tensor([1.]))
    """
    if out is not None:
        return write_out(
            native_batch_norm, out, input, weight, bias, running_mean, running_var, training,
            momentum, eps,
        )  # fmt: skip
    result = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return result, empty(0, dtype=input.dtype), empty(0, dtype=input.dtype)
    dims = [0, *range(2, input.ndim)]
    return result, input.mean(dims), (input.var(dims, correction=0) + eps).rsqrt()


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`nn.functional.dropout` by numbers of its own, with the mask of what is kept.

    >>> import wengert
    >>> wengert.native_dropout(wengert.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if input.numel() == 0 or train is False:
        return input.clone(), ones_like(input, dtype=bool_)
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    mask = empty_like(input, dtype=bool_, requires_grad=False).bernoulli_(1 - p)
    return input * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`nn.functional.channel_shuffle`.

    >>> import wengert
    >>> wengert.native_channel_shuffle(wengert.arange(4.0).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return F.channel_shuffle(input, groups)


def frobenius_norm(
    input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """`linalg.vector_norm`, of order 2.

    >>> import wengert
    >>> wengert.frobenius_norm(wengert.tensor([[3.0, 4.0]]), [0, 1])
    tensor(5.)
    """
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(
            f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead."
        )
    return vector_norm(input, 2.0, dims, keepdim, out=out)


def nuclear_norm(
    input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """`linalg.matrix_norm`, the sum of the singular values; of a matrix, or over two dimensions.

    >>> import wengert
    >>> wengert.nuclear_norm(wengert.eye(3))
    tensor(3.)
    """
    if isinstance(dim, bool):  # nuclear_norm(input, keepdim)
        dim, keepdim = (-2, -1), dim
    return matrix_norm(input, "nuc", tuple(dim), keepdim, out=out)


publish_module(
    "torch", [n for n in globals() if n.startswith("native_") or n.endswith("_norm")], globals()
)
