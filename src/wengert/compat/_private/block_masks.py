"""``torch.nn.attention.flex_attention``, by name: it is not here, and says so when called."""

from __future__ import annotations

from wengert.platform.absences import Absent, refusing

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class BlockMask(Absent):
    """The type of no mask."""


class AuxRequest(Absent):
    """The type of no request for what a call computes besides."""


create_block_mask = refusing(
    "create_block_mask",
    __name__,
    NotImplementedError,
    "create_block_mask(): wengert has no flex_attention",
)
flex_attention = refusing(
    "flex_attention",
    __name__,
    NotImplementedError,
    "flex_attention(): use scaled_dot_product_attention with a mask",
)

__all__ = [
    "_DEFAULT_SPARSE_BLOCK_SIZE",
    "AuxRequest",
    "BlockMask",
    "create_block_mask",
    "flex_attention",
]
