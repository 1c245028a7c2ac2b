"""Scaled dot-product attention.

One operation, whose kernels never materialise all scores. With dropout, for inputs that
broadcast and in transforms it is a composite: two products with a softmax in between.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.dtypes import of_numpy
from wengert.core.sparse import numpy_dtype
from wengert.core.tensor import Tensor, shape_of, wrap
from wengert.kernels.precision import HALF
from wengert.ops.batching import Batch
from wengert.ops.casting import convert
from wengert.ops.declare import Value, primitive
from wengert.ops.dropout import dropout
from wengert.ops.masking import where
from wengert.ops.operands import sum_to
from wengert.ops.reduction import sum_over
from wengert.ops.softmax import _softmax_pullback, softmax

if TYPE_CHECKING:
    from wengert.kernels.attention import AttentionCotangents

_INPUTS = ("query", "key", "value")


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(`query` @ `key`.T * scale + mask) @ `value`.

    `query` is (..., queries, width), `key` (..., keys, width), `value` (..., keys, out). A
    boolean mask is True for keys that take part, a floating one is added to the scores; `is_causal`
    hides later keys, beside a mask only for four dimensions, one width and no dropout. `scale` is
    1 / sqrt(width) by default. With `enable_gqa` several query heads share a head of `key` and
    `value`. A query with no visible key gives zeros. Half precision is computed in float32 and
    rounded once.

    >>> import wengert
    >>> q, k, v = wengert.zeros(1, 2), wengert.ones(2, 2), wengert.tensor([[1.], [3.]])
    >>> wengert.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[2.]])
    """
    dtype = _check(query, key, value, attn_mask, dropout_p, is_causal)
    if dtype in HALF:
        q, k, v = [convert(x, dtypes.float32) for x in (query, key, value)]
        if attn_mask is not None and numpy_dtype(attn_mask) != np.bool_:
            attn_mask = convert(attn_mask, dtypes.float32)
        out = scaled_dot_product_attention(
            q, k, v, attn_mask, dropout_p, is_causal, scale, enable_gqa
        )
        return convert(out, of_numpy[dtype])
    if enable_gqa:
        key, value = _for_all_heads(query, key), _for_all_heads(query, value)
    factor = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    if attn_mask is not None:
        attn_mask = additive(attn_mask, dtype)
    if attn_mask is not None and is_causal:
        causal = kernels.attention.causal_mask(query.shape[-2], key.shape[-2], dtype)
        attn_mask, is_causal = attn_mask + wrap(causal), False
    if dropout_p or not _of_one_batch(shape_of(query), shape_of(key), shape_of(value), dtype):
        weights = _weights(query, key, attn_mask, factor, is_causal)
        return (dropout(weights, dropout_p) if dropout_p else weights) @ value
    return _attention(query, key, value, attn_mask, factor, is_causal)


def _by_kernel(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether PyTorch has a kernel without dropout for these shapes, which takes any mask."""
    shapes = [shape_of(x) for x in (query, key, value)]
    return {len(s) for s in shapes} == {4} and len({s[-1] for s in shapes}) == 1


def _of_one_batch(
    query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], dtype: np.dtype[Any]
) -> bool:
    """Whether shapes match without broadcasting."""
    same = query[:-2] == key[:-2] == value[:-2]
    return same and query[-1] == key[-1] and key[-2] == value[-2] and dtype.kind == "f"


def _weights(query: Value, key: Value, mask: Value, factor: float, is_causal: bool) -> Value:
    """The weights of the values."""
    scores = (query * factor) @ key.mT
    if is_causal:
        recorded = isinstance(scores, Tensor)
        dtype = numpy_dtype(scores) if recorded else scores.dtype
        mask = kernels.attention.causal_mask(scores.shape[-2], scores.shape[-1], dtype)
        mask = wrap(mask) if recorded else mask
    return softmax(scores, -1) if mask is None else _masked_softmax(scores, mask)


def _reference(
    query: Value, key: Value, value: Value, mask: Value, factor: float, is_causal: bool
) -> Value:
    return _weights(query, key, mask, factor, is_causal) @ value


def _score_flow(g: Value, weights: Value, value: Value, out: Value) -> Value:
    """The cotangent of the scores."""
    return weights * (g @ value.mT - sum_over(g * out, (-1,), True))


def _flow(
    g: Value, query: Value, key: Value, value: Value, mask: Value, out: Value, kept: Value,
    factor: float, is_causal: bool,
) -> AttentionCotangents:  # fmt: skip
    recorded = any(isinstance(x, Tensor) for x in (g, query, key, value))
    if not recorded and kept.ndim < g.ndim:
        return kernels.attention.attend_back(
            g, query, key, value, mask, out, kept, factor, is_causal
        )
    weights = _weights(query, key, mask, factor, is_causal) if recorded else kept
    scores = _score_flow(g, weights, value, out) * factor
    return kernels.attention.AttentionCotangents(scores @ key, scores.mT @ query, weights.mT @ g)


def _mask_vjp(
    g: Value, query: Value, key: Value, value: Value, mask: Value, out: Value, factor: float,
    is_causal: bool, mask_shape: tuple[int, ...],
) -> Value:  # fmt: skip
    weights = _weights(query, key, mask, factor, is_causal)
    return sum_to(_score_flow(g, weights, value, out), mask_shape)


@primitive(
    mixed=False,
    aux=("kept",),
    shared=_flow,
    reference=_reference,
    label="ScaledDotProductAttentionBackward0",
    query=lambda g, shared: shared.query,
    key=lambda g, shared: shared.key,
    value=lambda g, shared: shared.value,
    mask=_mask_vjp,
    name="scaled_dot_product_attention",
)
def _attention(
    query: Value, key: Value, value: Value, mask: Value, factor: float, is_causal: bool
) -> Value:
    """Attention, followed by the values saved for its derivative."""
    try:
        return kernels.attention.attend(query, key, value, mask, factor, is_causal)
    except ValueError:
        raise _no_such_mask(mask.shape, (*query.shape[:-1], key.shape[-2])) from None


def _for_all_heads(query: Tensor, x: Tensor) -> Tensor:
    """`x` with each head repeated for the query heads that share it."""
    heads, shared = query.shape[-3], x.shape[-3]
    if not shared or heads % shared:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query, but got"
            f" {shared} and {heads}"
        )
    return x.repeat_interleave(heads // shared, -3)


def additive(mask: Tensor, dtype: np.dtype[Any], visible: bool = True) -> Tensor:
    """Turn a boolean mask into one to add to scores; return a floating mask unchanged.

    `visible` is its value where a query may attend to a key.
    """
    if numpy_dtype(mask) != np.bool_:
        return mask
    zero, hidden = _terms(dtype)
    return where(mask, zero, hidden) if visible else where(mask, hidden, zero)


@lru_cache
def _terms(dtype: np.dtype[Any]) -> tuple[Tensor, Tensor]:
    """What is added to scores that count, and to those that do not."""
    return wrap(np.zeros((), dtype)), wrap(np.full((), -np.inf, dtype))


def _masked_softmax_in_batch(b: Batch) -> Value:
    # Missing dimensions are inserted between the batch and the mask's own.
    if "mask" in b.batched:
        missing = b.rank("input") - b.rank("mask")
        shape = (b.size, *(1,) * missing, *b.shape("mask"))
        return b(input=b.whole("input"), mask=b.values["mask"].reshape(shape))
    return b()


def _masked_softmax_jvp(t_input: Value, t_mask: Value, out: Value) -> Value:
    tangent = t_mask if t_input is None else t_input if t_mask is None else t_input + t_mask
    return _softmax_pullback(tangent, out, -1)


@primitive(
    mixed=False,
    label="SafeSoftmaxBackward0",
    input=lambda g, out: _softmax_pullback(g, out, -1),
    mask=lambda g, out, mask_shape: sum_to(_softmax_pullback(g, out, -1), mask_shape),
    jvp=_masked_softmax_jvp,
    batch=_masked_softmax_in_batch,
    name="scaled_dot_product_attention",
)
def _masked_softmax(input: Value, mask: Value) -> Value:
    """The softmax of the sum along the last dimension; zeros where all are -inf."""
    try:
        return kernels.softmax.masked_softmax(input, mask)
    except ValueError:
        raise _no_such_mask(mask.shape, input.shape) from None


def _no_such_mask(mask: tuple[int, ...], scores: tuple[int, ...]) -> RuntimeError:
    return RuntimeError(
        f"The size of attn_mask {list(mask)} must broadcast to that of the scores {list(scores)}"
        " in scaled_dot_product_attention()"
    )


def _check(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float,
    is_causal: bool,
) -> np.dtype[Any]:  # fmt: skip
    """The dtype of all three; TypeError or RuntimeError where something does not fit."""
    if not (isinstance(query, Tensor) and isinstance(key, Tensor) and isinstance(value, Tensor)):
        for name, x in zip(_INPUTS, (query, key, value), strict=True):
            if not isinstance(x, Tensor):
                raise TypeError(
                    f"scaled_dot_product_attention(): argument {name!r} must be Tensor, not"
                    f" {type(x).__name__}"
                )
    if attn_mask is not None and is_causal and (dropout_p or not _by_kernel(query, key, value)):
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    ranks = len(shape_of(query)), len(shape_of(key)), len(shape_of(value))
    if min(ranks) < 2:
        got = " ".join(f"{n}.dim: {k}" for n, k in zip(_INPUTS, ranks, strict=True))
        raise RuntimeError(
            f"Expected query, key, and value to all be at least 2 dimensional, but got {got}"
        )
    dtype = numpy_dtype(query)
    if numpy_dtype(key) != dtype or numpy_dtype(value) != dtype:
        three = zip(_INPUTS, (query, key, value), strict=True)
        got = " ".join(f"{n}.dtype: {x.dtype}" for n, x in three)
        raise RuntimeError(f"Expected query, key, and value to have the same dtype, but got {got}")
    if attn_mask is not None and numpy_dtype(attn_mask) not in (bool, np.float32, dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got"
            f" attn_mask.dtype: {attn_mask.dtype} and query.dtype: {query.dtype} instead."
        )
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(
            f"dropout probability has to be between 0 and 1, but got dropout_p={dropout_p}"
        )
    return dtype


__all__: list[str] = []
FUNCTIONAL = ("scaled_dot_product_attention",)
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
