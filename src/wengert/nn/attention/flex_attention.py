"""Attention whose scores a function of their indices modifies, or hides.

Dong et al., "Flex Attention: A Programming Model for Generating Optimized Attention Kernels", 2024.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

from wengert.core.dtypes import float32, float64
from wengert.core.tensor import Tensor
from wengert.nn.attention._block_masks import BLOCK_SIZE as _DEFAULT_SPARSE_BLOCK_SIZE
from wengert.nn.attention._block_masks import (
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    over_indices,
    sliced_mask,
)
from wengert.ops.attention import scaled_dot_product_attention
from wengert.ops.expansion import repeat_interleave
from wengert.ops.softmax import softmax


class AuxRequest(NamedTuple):
    """What `flex_attention` is to give besides its output.

    >>> from wengert.nn.attention.flex_attention import AuxRequest
    >>> AuxRequest(lse=True)
    AuxRequest(lse=True, max_scores=False)
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The logarithms of the sums of exponentials, and the greatest scores, of each query.

    >>> from wengert.nn.attention.flex_attention import AuxOutput
    >>> AuxOutput()
    AuxOutput(lse=None, max_scores=None)
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class FlexKernelOptions(TypedDict, total=False):
    """Options of PyTorch's GPU kernels, by name.

    >>> from wengert.nn.attention.flex_attention import FlexKernelOptions
    >>> FlexKernelOptions(BLOCK_M=64)
    {'BLOCK_M': 64}
    """


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
    return_lse: bool = False, kernel_options: Any = None, *, return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """softmax(score_mod(`query` @ `key`.T * scale)) @ `value` of the keys that are visible.

    A query that sees no key gives zeros. Gradients arrive at what `score_mod` reads, too.

    Args:
        query: (batch, heads, queries, width).
        key: (batch, heads, keys, width); with `enable_gqa`, fewer heads, each for several queries'.
        value: (batch, heads, keys, out).
        score_mod: ``score_mod(score, batch, head, query index, key index)``, of tensors without
            dimensions, gives the modified score.
        block_mask: which keys each query sees; all by default.
        scale: 1 / sqrt(width) by default.
        enable_gqa: whether heads of queries may share one of keys.
        return_lse: also return the logarithms of the sums of exponentials.
        kernel_options: without effect.
        return_aux: what else to return, as an AuxOutput.

    ValueError for shapes that do not fit each other or the mask, NotImplementedError for other than
    four dimensions, RuntimeError for part of a mask whose mask_mod was not assigned anew.

    >>> import wengert
    >>> from wengert.nn.attention.flex_attention import flex_attention
    >>> x = wengert.ones(1, 1, 2, 2)
    >>> flex_attention(x, x, x, lambda score, b, h, q, kv: score - (q - kv).abs()).shape
    torch.Size([1, 1, 2, 2])
    """
    _check_shapes(query, key, value, enable_gqa, block_mask)
    if return_lse and return_aux is not None:
        raise ValueError("Cannot specify both return_lse and return_aux: return_aux says it all")
    visible = None
    if block_mask is not None:
        batch, heads, queries, _ = query.shape
        visible = block_mask.visible(batch, heads, queries, key.shape[-2])
    if score_mod is None and not return_lse and return_aux is None:
        return scaled_dot_product_attention(
            query, key, value, visible, scale=scale, enable_gqa=enable_gqa
        )
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (repeat_interleave(x, groups, dim=1) for x in (key, value))
    exact = float64 if query.dtype is float64 else float32
    scores = (query @ key.mT).to(exact) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if score_mod is not None:
        scores = over_indices(score_mod, *scores.shape, score=scores)
    if visible is not None:
        scores = scores.masked_fill(~visible, -math.inf)
    hidden = scores.isneginf().all(-1, keepdim=True)
    shares = softmax(scores.masked_fill(hidden, 0.0), -1).masked_fill(hidden, 0.0)
    out = shares.to(query.dtype) @ value
    if return_aux is None:
        return (out, scores.logsumexp(-1)) if return_lse else out
    lse = scores.logsumexp(-1) if return_aux.lse else None
    return out, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)


def _check_shapes(
    query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool, block_mask: BlockMask | None
) -> None:
    if any(x.dim() != 4 for x in (query, key, value)):
        shapes = ", ".join(str([*x.shape]) for x in (query, key, value))
        raise NotImplementedError(f"NYI: query, key, and value must be 4D tensors, got {shapes}")
    if query.dtype is not key.dtype or query.dtype is not value.dtype:
        raise ValueError(
            "Expected query, key, and value to have the same dtype, but got query.dtype:"
            f" {query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got"
            f" E={query.shape[-1]} and E={key.shape[-1]}."
        )
    heads, shared = query.shape[1], key.shape[1]
    if not enable_gqa and heads != shared:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got"
            f" Hq={heads} and Hkv={shared}. Try setting enable_gqa=True for GQA."
        )
    if heads % shared:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got"
            f" Hq={heads} and Hkv={shared}."
        )
    if block_mask is not None:
        _check_mask(block_mask, query, key)
    elif query.shape[0] != key.shape[0]:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but"
            f" got block_mask=None, Bq={query.shape[0]}, and Bkv={key.shape[0]}."
        )


def _check_mask(block_mask: BlockMask, query: Tensor, key: Tensor) -> None:
    batch = query.shape[0]
    if batch != key.shape[0] and block_mask.kv_num_blocks.shape[0] != batch:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or block_mask and query to"
            f" have the same batch size, but got Bq={batch}, Bkv={key.shape[0]},"
            f" B_block_mask={block_mask.kv_num_blocks.shape[0]}."
        )
    if block_mask.mask_mod is sliced_mask:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask: assign one for the part")
    lengths = query.shape[-2], key.shape[-2]
    if lengths != tuple(block_mask.shape[-2:]):
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got"
            f" q_len={lengths[0]} and kv_len={lengths[1]}: create one of these lengths, or crop it"
            " by block_mask._adjust(q_len, kv_len)"
        )


__all__ = [
    "_DEFAULT_SPARSE_BLOCK_SIZE",
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]
