"""Readers and writers of ``torch.distributed.checkpoint`` that packages import: not there."""

from __future__ import annotations

from wengert.compat._private.process_groups import MissingType


class HuggingFaceStorageReader(MissingType):
    """Reads the pieces of ranks from files of safetensors."""


class HuggingFaceStorageWriter(MissingType):
    """Writes the pieces of ranks into files of safetensors."""


__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]
