"""``torch.nn.attention.bias``: masks of attention to earlier keys, by name, not by elements."""

from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

import wengert
from wengert import Tensor
from wengert.nn.functional import scaled_dot_product_attention


class CausalVariant(IntEnum):
    """Which corner of the scores the diagonal of the mask starts from."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """An ``attn_mask`` by which each query sees the keys up to a diagonal of the scores.

    As a tensor it has the elements of the mask where it is printed only, as in PyTorch.
    """

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """Check the variant; the tensor itself says nothing."""
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        self: CausalBias = wengert.zeros(int(variant), seq_len_q, seq_len_kv).as_subclass(cls)  # type: ignore[assignment]
        return self

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q >"
                f" seq_len_kv! Here the first {seq_len_q - seq_len_kv} queries give zeros.",
                stacklevel=2,
            )

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask: True for the keys that take part."""
        lower = self.variant == CausalVariant.LOWER_RIGHT
        every = wengert.ones(self.seq_len_q, self.seq_len_kv, dtype=wengert.bool, device=device)
        return every.tril(self.seq_len_kv - self.seq_len_q if lower else 0)

    def __repr__(self, **options: Any) -> str:  # type: ignore[override]
        return repr(self._materialize())

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # fmt: skip
        """Attention with the mask; other functions see an ordinary tensor."""
        if func is scaled_dot_product_attention:
            return _attention(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})


def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: CausalBias, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    same = attn_mask.seq_len_q == attn_mask.seq_len_kv
    if same or attn_mask.variant == CausalVariant.UPPER_LEFT:
        return scaled_dot_product_attention(
            query, key, value, None, dropout_p, True, scale, enable_gqa
        )
    mask = attn_mask._materialize(query.device)
    return scaled_dot_product_attention(
        query, key, value, mask, dropout_p, False, scale, enable_gqa
    )


def causal_upper_left(*size: int) -> CausalBias:
    """The mask of (queries, keys) whose diagonal starts at the first query and the first key."""
    return CausalBias(CausalVariant.UPPER_LEFT, *_two(size))


def causal_lower_right(*size: int) -> CausalBias:
    """The mask of (queries, keys) whose diagonal ends at the last query and the last key."""
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two(size))


def _two(size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError(f"expected 2 sizes, of queries and of keys, got {len(size)}")
    return size[0], size[1]


__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]
