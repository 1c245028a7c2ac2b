"""``torch.utils.dlpack``: tensors for other libraries, without a copy."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.tensor.creation import from_dlpack as from_dlpack


def to_dlpack(tensor: Tensor) -> Any:
    """What another library's `from_dlpack` takes: the detached tensor, which has ``__dlpack__``.

    >>> import wengert
    >>> from wengert.utils.dlpack import from_dlpack, to_dlpack
    >>> from_dlpack(to_dlpack(wengert.arange(2)))
    tensor([0, 1])
    """
    return tensor.detach()


__all__ = ["from_dlpack", "to_dlpack"]
