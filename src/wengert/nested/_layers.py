"""Reductions and the functions of layers on nested tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nested._functions import handles, regular_dim
from wengert.nested._shapes import joined, packed_again, padded
from wengert.nested._tensor import NestedTensor, nested, unsupported
from wengert.ops import embedding as embeddings
from wengert.ops import normalization
from wengert.ops.attention import scaled_dot_product_attention
from wengert.ops.joining import cat, stack
from wengert.ops.linear import linear
from wengert.tensor.creation import as_tensor, zeros


def _reduction(name: str, pooled: Callable[[NestedTensor], Tensor]) -> None:
    """Declare a reduction: over everything, over regular dimensions, or over the irregular one."""

    @handles(name)
    def reduce(x: NestedTensor, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
        over = getattr(Tensor, name)
        if dim is None:
            return over(x._stored, **options)
        dims = sorted(d % x.ndim for d in (dim if isinstance(dim, Sequence) else [dim]))
        if dims == [x._ragged]:
            result = pooled(x)
            if options.get("dtype") is not None:
                result = result.to(options["dtype"])
            return result.unsqueeze(x._ragged) if keepdim else result
        if not x._ragged or x._ragged in dims:
            raise unsupported(f"{name}(dim={dim})", x)
        if 0 in dims:
            raise RuntimeError(
                f"{name}(): reducing along the batch dimension but not the ragged dimension is not"
                " supported for nested tensors"
            )
        values = over(x._stored, [d - 1 for d in dims], keepdim, **options)
        before = 0 if keepdim else sum(d < x._ragged for d in dims)
        return nested(values, x._partition, x._ragged - before, x._strided)


def _sum_of_components(x: NestedTensor) -> Tensor:
    rows = x._stored.movedim(x._ragged - 1, 0)
    kind = rows.dtype if rows.is_floating_point() or rows.is_complex() else None
    rows = rows if kind else rows.long()
    empty = zeros(len(x), *rows.shape[1:], dtype=rows.dtype)
    return empty.index_add(0, x._partition.component, rows)


def _mean_of_components(x: NestedTensor) -> Tensor:
    total = _sum_of_components(x)
    lengths = as_tensor(list(x._partition.lengths)).to(total.dtype)
    return total / lengths.reshape([-1] + [1] * (total.ndim - 1))


_reduction("sum", _sum_of_components)
_reduction("mean", _mean_of_components)
_reduction("amax", lambda x: padded(x, -inf).amax(x._ragged))
_reduction("amin", lambda x: padded(x, inf).amin(x._ragged))
_reduction("any", lambda x: padded(x, False).any(x._ragged))
_reduction("all", lambda x: padded(x, True).all(x._ragged))


def _softmax(name: str) -> None:
    @handles(name)
    def softmax(
        input: NestedTensor, dim: int, _stacklevel: int = 3, dtype: Any = None
    ) -> NestedTensor:
        x: Any = input if dtype is None else input.to(dtype)
        if dim % x.ndim != x._ragged:
            return input.like(getattr(x._stored, name)(regular_dim(name, x, dim) - 1))
        rows = padded(x, -inf)
        return packed_again(x, getattr(rows, name)(x._ragged))


_softmax("softmax")
_softmax("log_softmax")


def _check_behind_ragged(name: str, x: NestedTensor, count: int) -> None:
    """RuntimeError unless the last `count` dimensions are behind the irregular one."""
    if not x._ragged or x.ndim - count <= x._ragged:
        raise RuntimeError(
            f"{name}(): expected the last {count} dimensions of a nested tensor to be regular, but"
            f" got components of {[tuple(c.shape) for c in x.components()]}"
        )


def _check_plain(name: str, argument: str, value: Any) -> None:
    if isinstance(value, NestedTensor):
        raise RuntimeError(f"{name}(): argument '{argument}' must not be a nested tensor")


@handles("linear")
def _linear(input: Any, weight: Tensor, bias: Tensor | None = None) -> NestedTensor:
    _check_plain("linear", "weight", weight)
    _check_behind_ragged("linear", input, 1)
    return input.like(linear(input._stored, weight, bias))


def _normalization(name: str) -> None:
    @handles(name)
    def normalize(input: Any, normalized_shape: Any, *args: Any, **options: Any) -> NestedTensor:
        _check_plain(name, "weight", args[0] if args else options.get("weight"))
        _check_behind_ragged(name, input, len(normalized_shape))
        function = getattr(normalization, name)
        return input.like(function(input._stored, normalized_shape, *args, **options))


_normalization("layer_norm")
_normalization("rms_norm")


@handles("embedding")
def _embedding(input: Any, weight: Tensor, *args: Any, **options: Any) -> NestedTensor:
    _check_plain("embedding", "weight", weight)
    return input.like(embeddings.embedding(input._stored, weight, *args, **options))


@handles("embedding_bag")
def _embedding_bag(
    input: Any, weight: Tensor, offsets: Any = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean",
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    if not isinstance(input, NestedTensor) or input.ndim != 2:
        raise ValueError("embedding_bag(): a nested input has one irregular dimension: (bags, *)")
    if offsets is not None or include_last_offset:
        raise ValueError(
            "embedding_bag(): if input is a nested tensor, then offsets has to be None, as the"
            " components are the bags"
        )
    if per_sample_weights is not None:
        alike = isinstance(per_sample_weights, NestedTensor)
        if not alike or per_sample_weights._partition != input._partition:
            raise ValueError(
                "embedding_bag(): if input is a nested tensor, then per_sample_weights has to be"
                " one with the same components"
            )
        per_sample_weights = per_sample_weights._stored
    return embeddings.embedding_bag(
        input._stored, weight, input._partition.offsets[:-1], max_norm, norm_type,
        scale_grad_by_freq, mode, sparse, per_sample_weights, False, padding_idx,
    )  # fmt: skip


@handles("matmul", "bmm", "__matmul__", "__rmatmul__")
def _matmul(a: Any, b: Any) -> Any:
    plain = not isinstance(b, NestedTensor)
    if plain and b.ndim == 2 and a._ragged and a._ragged < a.ndim - 1:
        return a.like(a._stored @ b)
    products = [x @ y for x, y in zip(a, b, strict=True)] if a.ndim == b.ndim else []
    nt = b if isinstance(b, NestedTensor) else a
    ragged_rows = plain or (isinstance(a, NestedTensor) and a._strided and b._strided)
    if products and ragged_rows:
        return joined(products, nt._strided)
    inner = isinstance(a, NestedTensor) and a._ragged == a.ndim - 1 == b._ragged + 1
    if products and inner and a._partition == b._partition:
        return stack(products)
    raise RuntimeError(
        f"matmul(): not supported between {_described(a)} and {_described(b)}: the product of every"
        " pair of components would differ in two dimensions"
    )


def _described(x: Any) -> str:
    if isinstance(x, NestedTensor):
        return f"a nested tensor with components of {[tuple(c.shape) for c in x]}"
    return f"a tensor of shape {tuple(x.shape)}"


@handles("scaled_dot_product_attention")
def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> NestedTensor:  # fmt: skip
    """Attention in every component: (batch, heads, irregular, width)."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not isinstance(x, NestedTensor) or x.ndim != 4 or x._ragged not in (1, 2):
            raise RuntimeError(
                f"scaled_dot_product_attention(): expected {name} to be a nested tensor of (batch,"
                " heads, irregular, width), as query, key and value are"
            )
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention(): attn_mask has to be None for nested tensors"
        )
    if key._partition != value._partition or len(query) != len(key):
        raise RuntimeError(
            "scaled_dot_product_attention(): key and value must have components of the same"
            " lengths, and query as many components"
        )
    attended = [
        scaled_dot_product_attention(
            q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), None, dropout_p, is_causal, scale,
            enable_gqa,
        ).squeeze(0)
        for q, k, v in zip(query, key, value, strict=True)
    ]  # fmt: skip
    values = cat(attended, query._ragged - 1)
    return query.like(values)
