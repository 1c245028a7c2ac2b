"""Multi-head attention, from input to output projections.

Heads are dimensions of views: (length, batch, heads x width) becomes (batch, heads, length,
width) without a copy, and matrix products read it in place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.messages import warn
from wengert.core.sparse import numpy_dtype
from wengert.core.tensor import Tensor, shape_of
from wengert.ops.attention import additive, scaled_dot_product_attention
from wengert.ops.casting import convert
from wengert.ops.dropout import dropout
from wengert.ops.joining import cat
from wengert.ops.linear import linear
from wengert.ops.padding import pad
from wengert.ops.softmax import softmax

Three = tuple[Tensor, Tensor, Tensor]
# The dtypes allowed for masks.
_MASKS = {np.dtype(bool), *dtypes.inexact}


def canonical_mask(
    mask: Tensor | None, name: str, other: Tensor | None, other_name: str, like: Tensor
) -> Tensor | None:
    """Turn a mask in which True hides into one to add to scores of the dtype of `like`.

    Warns if `other`, the other mask, has a different dtype.
    """
    if mask is None:
        return None
    mask_dtype = numpy_dtype(mask)
    if mask_dtype not in _MASKS or mask_dtype.kind == "c":
        raise AssertionError(
            f"only bool and floating types of {name} are supported, got {mask.dtype}"
        )
    if other is not None and numpy_dtype(other) != mask_dtype:
        warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both"
            f" instead; got {mask.dtype} and {other.dtype}."
        )
    return additive(mask, numpy_dtype(like), visible=False)


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None,
    attn_mask: Tensor | None, num_heads: int,
) -> bool:  # fmt: skip
    """Whether the inputs have a batch; raise AssertionError for ranks that do not fit."""
    rank = query.ndim
    if rank not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor"
        )
    kind = f"{'batched' if rank == 3 else 'unbatched'} ({rank}-D) `query`"
    if key.ndim != rank or value.ndim != rank:
        raise AssertionError(
            f"For {kind}, expected `key` and `value` to be {rank}-D but found {key.ndim}-D and"
            f" {value.ndim}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != rank - 1:
        raise AssertionError(
            f"For {kind}, expected `key_padding_mask` to be `None` or {rank - 1}-D but found"
            f" {key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is None:
        return rank == 3
    if attn_mask.ndim not in (2, 3):
        raise AssertionError(
            f"For {kind}, expected `attn_mask` to be `None`, 2-D or 3-D but found"
            f" {attn_mask.ndim}-D tensor instead"
        )
    expected = (num_heads, query.shape[0], key.shape[0])
    if rank == 2 and attn_mask.ndim == 3 and attn_mask.shape != expected:
        raise AssertionError(
            f"Expected `attn_mask` shape to be {expected} but got {tuple(attn_mask.shape)}"
        )
    return rank == 3


def _check_sizes(
    query: Tensor, key: Tensor, value: Tensor, width: int, num_heads: int, separate: bool
) -> None:
    embed = query.shape[-1]
    if embed != width:
        raise AssertionError(f"was expecting embedding dimension of {width}, but got {embed}")
    if num_heads <= 0 or embed % num_heads:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {tuple(key.shape[:2])} do not match value's"
            f" {tuple(value.shape[:2])}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(
            f"key shape {tuple(key.shape)} does not match value shape {tuple(value.shape)}"
        )


def _with_batch(query: Tensor, key: Tensor, value: Tensor) -> Three:
    """The inputs with a batch of one; identical inputs stay identical."""
    q = query.unsqueeze(1)
    k = q if key is query else key.unsqueeze(1)
    return q, k, k if value is key else value.unsqueeze(1)


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None
) -> Three:
    """The three projections by one weight, as a single product if the inputs are identical."""
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if key is value:
        if query is key:
            q, k, v = linear(query, weight, bias).chunk(3, -1)
            return q, k, v
        width = query.shape[-1]
        sizes = (width, 2 * width)
        first, others = weight.split(sizes)
        shift = (None, None) if bias is None else bias.split(sizes)
        k, v = linear(key, others, shift[1]).chunk(2, -1)
        return linear(query, first, shift[0]), k, v
    shifts = (None, None, None) if bias is None else bias.chunk(3)
    return _each_projected((query, key, value), weight.chunk(3), shifts)


def _each_projected(inputs: Three, weights: Any, biases: Any) -> Three:
    q, k, v = [linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]
    return q, k, v


def _projected_separately(
    inputs: Three, weights: tuple[Tensor | None, ...], bias: Tensor | None
) -> Three:
    """The three projections by separate weights."""
    names, embed = ("q", "k", "v"), inputs[0].shape[-1]
    for name, x, weight in zip(names, inputs, weights, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        if weight.shape != (embed, x.shape[-1]):
            raise AssertionError(
                f"expecting {name}_proj_weight of shape {(embed, x.shape[-1])}, but got"
                f" {tuple(weight.shape)}"
            )
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return _each_projected(inputs, weights, biases)


def _check_static(static_k: Tensor | None, static_v: Tensor | None) -> None:
    for name, x in (("key", static_k), ("value", static_v)):
        if x is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")


def _static(name: str, static: Tensor, q: Tensor) -> Tensor:
    """Keys or values that are already projected, with a dimension for the heads."""
    batch, heads, _, width = q.shape
    if static.shape[0] != batch * heads:
        raise AssertionError(
            f"expecting {name}.size(0) of {batch * heads}, but got {static.shape[0]}"
        )
    if static.shape[2] != width:
        raise AssertionError(f"expecting {name}.size(2) of {width}, but got {static.shape[2]}")
    return static.reshape(batch, heads, *static.shape[1:])


def _check_mask(mask: Tensor, batch: int, heads: int, queries: int, keys: int) -> Tensor:
    """The mask in a shape that broadcasts over (batch, heads, queries, keys)."""
    expected = (queries, keys) if mask.ndim == 2 else (batch * heads, queries, keys)
    if shape_of(mask) != expected:
        raise RuntimeError(
            f"The shape of the {mask.ndim}D attn_mask is {tuple(mask.shape)}, but should be"
            f" {expected}."
        )
    return mask if mask.ndim == 2 else mask.reshape(batch, heads, queries, keys)


def _heads(x: Tensor, heads: int) -> Tensor:
    """(length, batch, features) as a view (batch, heads, length, width)."""
    length, batch, features = x.shape
    return x.reshape(length, batch, heads, features // heads).permute(1, 2, 0, 3)


def _one_more_key(*masks: Tensor | None) -> list[Tensor | None]:
    """Extend masks by one key that is never hidden."""
    return [None if x is None else pad(x, (0, 1)) for x in masks]


def _with_biases(k: Tensor, v: Tensor, bias_k: Tensor, bias_v: Tensor) -> tuple[Tensor, Tensor]:
    """Append one key and value, the same for every sample."""
    batch = k.shape[1]
    return cat((k, bias_k.repeat(1, batch, 1))), cat((v, bias_v.repeat(1, batch, 1)))


def _with_zeros(x: Tensor) -> Tensor:
    """Append one key or value of zeros to each head."""
    batch, heads, _, width = x.shape
    return cat((x, x.new_zeros(batch, heads, 1, width)), 2)


def _merged(mask: Tensor | None, hidden: Tensor | None, k: Tensor) -> Tensor | None:
    """The mask of scores combined with that of keys."""
    if hidden is None:
        return mask
    expected = (k.shape[0], k.shape[2])
    if shape_of(hidden) != expected:
        raise AssertionError(
            f"expecting key_padding_mask shape of {expected}, but got {tuple(hidden.shape)}"
        )
    hidden = hidden.reshape(expected[0], 1, 1, expected[1])
    return hidden if mask is None else mask + hidden


def _weights(q: Tensor, k: Tensor, mask: Tensor | None, dropout_p: float) -> Tensor:
    """The attention weights; nan for a query with no visible key, as in PyTorch."""
    scores = (q * math.sqrt(1.0 / q.shape[-1])) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores + convert(mask, scores.dtype)  # autocast scores have a lower dtype
    weights = softmax(scores, -1)
    return dropout(weights, dropout_p) if dropout_p else weights


def _attended(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """The concatenated outputs of all heads, (length, batch, features); the weights if wanted."""
    weights = _weights(q, k, mask, dropout_p) if need_weights else None
    if weights is None:
        out = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    else:
        out = weights @ v
    batch, heads, length, width = q.shape
    return out.permute(2, 0, 1, 3).reshape(length, batch, heads * width), weights


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None,
    bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
    out_proj_bias: Tensor | None, training: bool = True,
    key_padding_mask: Tensor | None = None, need_weights: bool = True,
    attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
    static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Multi-head attention on (length, batch, features) inputs, as in `nn.MultiheadAttention`.

    Returns the output and, with `need_weights`, the attention weights. In boolean masks True
    hides. `is_causal` promises that `attn_mask` is the causal mask.

    >>> import wengert
    >>> x, w, eye = wengert.ones(3, 1, 2), wengert.ones(6, 2), wengert.eye(2)
    >>> out, weights = wengert.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, w, None, None, None, False, 0.0, eye, None)
    >>> out[0]
    tensor([[2., 2.]])
    """
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    hidden = canonical_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query)
    is_causal = is_causal and hidden is None and not need_weights
    mask = None if is_causal else canonical_mask(attn_mask, "attn_mask", None, "", query)
    if not batched:
        query, key, value = _with_batch(query, key, value)
        hidden = None if hidden is None else hidden.unsqueeze(0)
    separate = use_separate_proj_weight
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, separate)
    if separate:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _projected_separately((query, key, value), weights, in_proj_bias)
    else:
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    if mask is not None:
        mask = _check_mask(mask, q.shape[1], num_heads, q.shape[0], key.shape[0])
    if bias_k is not None and bias_v is not None:
        _check_static(static_k, static_v)
        k, v = _with_biases(k, v, bias_k, bias_v)
        mask, hidden = _one_more_key(mask, hidden)
    q = _heads(q, num_heads)
    k = _heads(k, num_heads) if static_k is None else _static("static_k", static_k, q)
    v = _heads(v, num_heads) if static_v is None else _static("static_v", static_v, q)
    if add_zero_attn:
        k, v = _with_zeros(k), _with_zeros(v)
        mask, hidden = _one_more_key(mask, hidden)
    mask, p = _merged(mask, hidden, k), dropout_p if training else 0.0
    out, attention = _attended(q, k, v, mask, p, is_causal, need_weights)
    out = linear(out, out_proj_weight, out_proj_bias)
    if attention is not None and average_attn_weights:
        attention = attention.mean(1)
    if batched:
        return out, attention
    return out.squeeze(1), None if attention is None else attention.squeeze(0)


__all__: list[str] = []
FUNCTIONAL = ("multi_head_attention_forward",)
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
