"""``torch.storage``: storages in pickles that ``pickle`` itself wrote of PyTorch's tensors."""

from __future__ import annotations

import io
from typing import Any

from wengert.serialization import load
from wengert.tensor.storages import TypedStorage, UntypedStorage


def _load_from_bytes(b: bytes) -> Any:
    """What the bytes of a file of ``torch.save`` hold: a storage, for the most part."""
    loaded = load(io.BytesIO(b), weights_only=False)
    dtype = getattr(loaded, "dtype", None)
    if isinstance(loaded, UntypedStorage) and dtype is not None:
        return TypedStorage(wrap_storage=loaded, dtype=dtype)
    return loaded


__all__ = ["_load_from_bytes"]
