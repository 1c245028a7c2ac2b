"""Scaled dot-product attention."""

from __future__ import annotations

import math

import numpy as np

from wengert._core import Tensor, memory_of, wrap
from wengert._dtypes import of_numpy
from wengert.ops.dropout import dropout
from wengert.ops.softmax import softmax


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(`query` @ `key`.T * scale + mask) @ `value`.

    `query` is (..., queries, width), `key` (..., keys, width), `value` (..., keys, out). A
    boolean mask says what takes part, a floating one is added; `is_causal` lets a query see no
    later key. `scale` is 1 / sqrt(width) by default. With `enable_gqa` several heads of the
    query share one of `key` and `value`. A query that may see nothing gives zeros.

    >>> import wengert
    >>> q, k, v = wengert.zeros(1, 2), wengert.ones(2, 2), wengert.tensor([[1.], [3.]])
    >>> wengert.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[2.]])
    """
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    allowed = None
    if is_causal:
        allowed = wrap(np.tri(query.shape[-2], key.shape[-2], dtype=bool))
    elif attn_mask is not None and attn_mask._array.dtype == bool:
        allowed = attn_mask
    elif attn_mask is not None:
        scores = scores + attn_mask
    if allowed is None:
        return dropout(softmax(scores, -1), dropout_p) @ value
    # A row that sees nothing is computed as one that sees all, then erased: no nan arises.
    blind = ~allowed.any(-1, keepdim=True)
    weights = softmax(scores.masked_fill(~allowed & ~blind, -math.inf), -1)
    if memory_of(blind).any():
        weights = weights.masked_fill(blind, 0.0)
    return dropout(weights, dropout_p) @ value


def _check(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool
) -> None:
    three = {"query": query, "key": key, "value": value}
    for name, x in three.items():
        if not isinstance(x, Tensor):
            raise TypeError(
                f"scaled_dot_product_attention(): argument {name!r} must be Tensor, not"
                f" {type(x).__name__}"
            )
    if attn_mask is not None and is_causal:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if min(x.ndim for x in three.values()) < 2:
        got = " ".join(f"{n}.dim: {x.ndim}" for n, x in three.items())
        raise RuntimeError(
            f"Expected query, key, and value to all be at least 2 dimensional, but got {got}"
        )
    if len({x._array.dtype for x in three.values()}) > 1:
        got = " ".join(f"{n}.dtype: {of_numpy[x._array.dtype]}" for n, x in three.items())
        raise RuntimeError(f"Expected query, key, and value to have the same dtype, but got {got}")


__all__: list[str] = []
FUNCTIONAL = ("scaled_dot_product_attention",)
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
