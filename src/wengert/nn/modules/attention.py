"""Multi-head attention."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.module import Module
from wengert.nn.modules._common import parameter, parameter_of, used
from wengert.nn.modules.linear import NonDynamicallyQuantizableLinear
from wengert.nn.parameter import Parameter


class MultiheadAttention(Module):
    """Multi-head attention, between input and output projections.

    Inputs are (length, batch, features), (batch, length, features) with `batch_first`, or
    (length, features). In boolean masks True hides.

    Args:
        embed_dim: features of queries and results, E.
        num_heads: attention heads; they divide `embed_dim`.
        dropout: probability that an attention weight is zero while training.
        bias: whether projections learn a bias.
        add_bias_kv: whether to learn an extra key and value.
        add_zero_attn: whether to add a key and value of zeros.
        kdim: features of keys; `embed_dim` unless given.
        vdim: features of values; `embed_dim` unless given.
        batch_first: whether batches are (batch, length, features) and not (length, batch,
            features).
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> x = wengert.zeros(5, 2, 8)
    >>> out, weights = wengert.nn.MultiheadAttention(8, 4)(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got"
                f" embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}"
            )
        shapes: dict[str, tuple[int, ...] | None] = dict.fromkeys(
            ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
        )
        if self._qkv_same_embed_dim:
            shapes["in_proj_weight"] = (3 * embed_dim, embed_dim)
        else:
            shapes["q_proj_weight"] = (embed_dim, embed_dim)
            shapes["k_proj_weight"] = (embed_dim, self.kdim)
            shapes["v_proj_weight"] = (embed_dim, self.vdim)
        shapes["in_proj_bias"] = (3 * embed_dim,) if bias else None
        shapes["bias_k"] = shapes["bias_v"] = (1, 1, embed_dim) if add_bias_kv else None
        for name, shape in shapes.items():
            weight = None if shape is None else parameter(*shape, device=device, dtype=dtype)
            self.register_parameter(name, weight)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        weights = (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        for weight in weights:
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        swapped = self.batch_first and query.ndim == 3
        if swapped:
            query, key, value = _swap_batch_and_time(query, key, value)
        separate, projection = not self._qkv_same_embed_dim, self.out_proj
        q_weight, k_weight, v_weight = [parameter_of(self, f"{x}_proj_weight") for x in "qkv"]
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads,
            used(parameter_of(self, "in_proj_weight")), parameter_of(self, "in_proj_bias"),
            parameter_of(self, "bias_k"), parameter_of(self, "bias_v"), self.add_zero_attn,
            self.dropout, used(parameter_of(projection, "weight")),
            parameter_of(projection, "bias"), self.training, key_padding_mask, need_weights,
            attn_mask, separate, q_weight, k_weight, v_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (out.transpose(1, 0) if swapped else out), weights


def _swap_batch_and_time(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The inputs with their first two dimensions swapped; identical inputs stay identical."""
    q = query.transpose(1, 0)
    k = q if key is query else key.transpose(1, 0)
    return q, k, k if value is key else value.transpose(1, 0)


__all__ = ["MultiheadAttention"]
