"""Masks of causal attention where there are not as many queries as keys."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from wengert.core.dtypes import bool_
from wengert.core.overriding import DisableTorchFunctionSubclass
from wengert.core.tensor import Tensor
from wengert.tensor.creation import ones


class CausalVariant(enum.IntEnum):
    """Whether the first query sees the first key, or the last query the last key.

    >>> from wengert.nn.attention.bias import CausalVariant
    >>> CausalVariant.LOWER_RIGHT.value
    2
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """The mask of a variant, in bool: True for the keys that a query sees.

    AssertionError for other than a CausalVariant.

    >>> from wengert.nn.attention.bias import CausalBias, CausalVariant
    >>> CausalBias(CausalVariant.LOWER_RIGHT, 2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {variant!r}")
        lower = variant is CausalVariant.LOWER_RIGHT
        if lower and seq_len_q > seq_len_kv:
            warnings.warn(
                f"the first {seq_len_q - seq_len_kv} queries see no key: there are {seq_len_q}"
                f" queries and {seq_len_kv} keys, aligned at the lower right",
                stacklevel=2,
            )
        mask = ones(seq_len_q, seq_len_kv, dtype=bool_)
        bias: Any = mask.tril(seq_len_kv - seq_len_q if lower else 0).as_subclass(cls)
        bias.variant, bias.seq_len_q, bias.seq_len_kv = variant, seq_len_q, seq_len_kv
        return bias

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The function's own result: what is computed from a mask is none."""
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as an ordinary tensor."""
        return self.as_subclass(Tensor).to(device)

    def __repr__(self) -> str:  # type: ignore[override]
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """The mask of `size` queries and keys where the first query sees the first key.

    >>> from wengert.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_two(size, "causal_upper_left"))


def causal_lower_right(*size: int) -> CausalBias:
    """The mask of `size` queries and keys where the last query sees the last key.

    >>> from wengert.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two(size, "causal_lower_right"))


def _two(size: tuple[int, ...], name: str) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors, got size {size}")
    return size[0], size[1]


__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]
