"""``torch.nn.attention.flex_attention``, by name: it is not here, and says so when called."""

from __future__ import annotations

from typing import Any, NoReturn

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class BlockMask:
    """The type of no mask."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError(f"flex_attention.{type(self).__name__}: wengert has none")


class AuxRequest(BlockMask):
    """The type of no request for what a call computes besides."""


def create_block_mask(*args: Any, **options: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError("create_block_mask(): wengert has no flex_attention")


def flex_attention(*args: Any, **options: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError("flex_attention(): use scaled_dot_product_attention with a mask")


__all__ = [
    "_DEFAULT_SPARSE_BLOCK_SIZE",
    "AuxRequest",
    "BlockMask",
    "create_block_mask",
    "flex_attention",
]
