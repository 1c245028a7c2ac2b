"""Transformers: layers of attention and feed-forward nets, stacks of them, and both stacks."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.meta.tensors import moved
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.module import Module
from wengert.nn.modules.attention import MultiheadAttention
from wengert.nn.modules.container import ModuleList
from wengert.nn.modules.dropout import Dropout
from wengert.nn.modules.linear import Linear
from wengert.nn.modules.normalization import LayerNorm
from wengert.ops.checks import varies
from wengert.ops.multihead import canonical_mask

Activation = str | Callable[[Tensor], Tensor]


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    dtype = dtype or dtypes.defaults.dtype
    mask = wrap(np.triu(np.full((size, size), -np.inf, dtype.np), 1))
    return mask if device is None else moved(mask, device)


def _is_causal(mask: Tensor | None, is_causal: bool | None, size: int | None = None) -> bool:
    """The caller's value; if None, whether the mask is the causal one."""
    if is_causal is not None or mask is None or varies(mask):
        return bool(is_causal)
    values = memory_of(mask)
    size = values.shape[-2] if size is None else size
    if values.shape != (size, size):
        return False
    return bool((values == np.triu(np.full((size, size), -np.inf, np.float32), 1)).all())


def _length(x: Tensor, batch_first: bool) -> int:
    return x.shape[0] if x.ndim == 2 else x.shape[1 if batch_first else 0]


def _get_activation_fn(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


class _SelfAttention(Module):
    """The self-attention shared by encoder and decoder layers."""

    self_attn: MultiheadAttention
    dropout1: Dropout

    def _sa_block(
        self, x: Tensor, mask: Tensor | None, hidden: Tensor | None, is_causal: bool
    ) -> Tensor:
        out, _ = self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=hidden,
                                need_weights=False, is_causal=is_causal)  # fmt: skip
        return self.dropout1(out)


class TransformerEncoderLayer(_SelfAttention):
    """Self-attention followed by a feed-forward net, each with a residual connection.

    Args:
        d_model: features of each element, E.
        nhead: attention heads; they divide `d_model`.
        dim_feedforward: features between the two linear layers.
        dropout: probability of zeros while training.
        activation: `"relu"`, `"gelu"`, or a function.
        layer_norm_eps: `eps` of the layer norms.
        batch_first: whether batches are (batch, length, features) and not (length, batch,
            features).
        norm_first: whether norms come before attention and linear layers, and not after.
        bias: whether linear layers and norms learn a bias.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> layer = wengert.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
    >>> layer(wengert.zeros(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **factory
        )
        self.linear1 = Linear(d_model, dim_feedforward, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **factory)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **factory)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **factory)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        hidden = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask",
                                src)  # fmt: skip
        mask = canonical_mask(src_mask, "src_mask", None, "", src)
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), mask, hidden, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, mask, hidden, is_causal))
        return self.norm2(src + self._ff_block(src))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(_SelfAttention):
    """Self-attention, attention to a memory, and a feed-forward net.

    Each of the three has a residual connection.

    Args:
        d_model: features of each element, E.
        nhead: attention heads; they divide `d_model`.
        dim_feedforward: features between the two linear layers.
        dropout: probability of zeros while training.
        activation: `"relu"`, `"gelu"`, or a function.
        layer_norm_eps: `eps` of the layer norms.
        batch_first: whether batches are (batch, length, features) and not (length, batch,
            features).
        norm_first: whether norms come before attention and linear layers, and not after.
        bias: whether linear layers and norms learn a bias.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> layer = wengert.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> layer(wengert.zeros(5, 3, 8), wengert.zeros(4, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        attention = {"dropout": dropout, "batch_first": batch_first, **factory}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **factory)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **factory)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **factory)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, **factory)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        to_itself = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        to_memory = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *to_itself)
            x = x + self._mha_block(self.norm2(x), *to_memory)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *to_itself))
        x = self.norm2(x + self._mha_block(x, *to_memory))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, hidden: Tensor | None,
        is_causal: bool,
    ) -> Tensor:  # fmt: skip
        out, _ = self.multihead_attn(x, memory, memory, attn_mask=mask, key_padding_mask=hidden,
                                     need_weights=False, is_causal=is_causal)  # fmt: skip
        return self.dropout2(out)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _get_clones(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer, and an optional norm.

    `enable_nested_tensor` and `mask_check` are stored, without effect.

    Args:
        encoder_layer: the layer that is copied.
        num_layers: number of copies.
        norm: a norm after the last layer.
        enable_nested_tensor: without effect: padding is computed like all else.
        mask_check: without effect.

    >>> import wengert
    >>> layer = wengert.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
    >>> wengert.nn.TransformerEncoder(layer, 2)(wengert.zeros(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    norm: Module | None

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers, self.num_layers = _get_clones(encoder_layer, num_layers), num_layers
        self.norm = norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        hidden = canonical_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask", src)
        mask = canonical_mask(mask, "mask", None, "", src)
        batch_first = self.layers[0].self_attn.batch_first
        is_causal = _is_causal(mask, is_causal, _length(src, batch_first))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=is_causal, src_key_padding_mask=hidden)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer, and an optional norm.

    Args:
        decoder_layer: the layer that is copied.
        num_layers: number of copies.
        norm: a norm after the last layer.

    >>> import wengert
    >>> layer = wengert.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> x, memory = wengert.zeros(5, 3, 8), wengert.zeros(4, 3, 8)
    >>> wengert.nn.TransformerDecoder(layer, 2)(x, memory).shape
    torch.Size([5, 3, 8])
    """

    norm: Module | None

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers = _get_clones(decoder_layer, num_layers), num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch_first = self.layers[0].self_attn.batch_first
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, batch_first))
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of a source, and a decoder that attends to its output.

    Args:
        d_model: features of each element, E.
        nhead: attention heads; they divide `d_model`.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        dim_feedforward: features between the two linear layers.
        dropout: probability of zeros while training.
        activation: `"relu"`, `"gelu"`, or a function.
        custom_encoder: a module instead of the encoder.
        custom_decoder: a module instead of the decoder.
        layer_norm_eps: `eps` of the layer norms.
        batch_first: whether batches are (batch, length, features) and not (length, batch,
            features).
        norm_first: whether norms come before attention and linear layers, and not after.
        bias: whether linear layers and norms learn a bias.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> net = wengert.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
    >>> net(wengert.zeros(5, 3, 8), wengert.zeros(4, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                 batch_first, norm_first)  # fmt: skip
        if custom_encoder is None:
            custom_encoder = TransformerEncoder(
                TransformerEncoderLayer(*layer, **factory),
                num_encoder_layers,
                LayerNorm(d_model, eps=layer_norm_eps, **factory),
            )
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(
                TransformerDecoderLayer(*layer, **factory),
                num_decoder_layers,
                LayerNorm(d_model, eps=layer_norm_eps, **factory),
            )
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        self._check(src, tgt)
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    def _check(self, src: Tensor, tgt: Tensor) -> None:
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(
                "the batch number of src and tgt must be equal, got"
                f" {src.shape[batch]} and {tgt.shape[batch]}"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                "the feature number of src and tgt must be equal to d_model, got"
                f" {src.shape[-1]} and {tgt.shape[-1]} for d_model={self.d_model}"
            )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask that hides from each position those after it: 0 on and below the diagonal."""
        return _causal_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)


__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
