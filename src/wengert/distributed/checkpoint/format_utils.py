"""Checkpoints as files of one process, and back."""

from __future__ import annotations

import os
from pathlib import Path

from wengert import serialization
from wengert.distributed.checkpoint.files import read_all, save


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write all that a checkpoint has into one file, with whole tensors; one process calls this.

    >>> import tempfile, wengert
    >>> from wengert.distributed import checkpoint
    >>> from wengert.distributed.checkpoint.format_utils import dcp_to_torch_save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.save({"a": {"b": wengert.ones(2)}}, checkpoint_id=folder)
    ...     dcp_to_torch_save(folder, f"{folder}/whole.pt")
    ...     wengert.load(f"{folder}/whole.pt")
    {'a': {'b': tensor([1., 1.])}}
    """
    serialization.save(read_all(Path(dcp_checkpoint_dir)), Path(torch_save_path))


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write a file's state as a checkpoint, which any number of ranks loads; one process calls it.

    >>> import tempfile, wengert
    >>> from wengert.distributed.checkpoint.format_utils import torch_save_to_dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wengert.save({"a": wengert.ones(2)}, f"{folder}/whole.pt")
    ...     torch_save_to_dcp(f"{folder}/whole.pt", f"{folder}/checkpoint")
    """
    save(serialization.load(Path(torch_save_path)), checkpoint_id=dcp_checkpoint_dir, no_dist=True)


__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]
