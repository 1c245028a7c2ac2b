"""Writing and reading the folder of a checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wengert import serialization
from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor, wrap
from wengert.distributed.collectives import barrier
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.tensor.dtensor import DTensor
from wengert.distributed.tensor.layouts import Layout
from wengert.distributed.world import group_of, is_initialized

_METADATA, _VALUES = "metadata.json", "values.pt"


class FileSystemWriter:
    """The folder into which `save` writes.

    >>> from wengert.distributed.checkpoint import FileSystemWriter
    >>> FileSystemWriter("checkpoint").path
    PosixPath('checkpoint')
    """

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        self.path = Path(path)


class FileSystemReader(FileSystemWriter):
    """The folder from which `load` reads.

    >>> from wengert.distributed.checkpoint import FileSystemReader
    >>> FileSystemReader("checkpoint").path
    PosixPath('checkpoint')
    """


def _folder(name: str, checkpoint_id: Any, storage: Any) -> Path:
    if checkpoint_id is None and storage is None:
        raise ValueError(f"{name}(): expected checkpoint_id, or a FileSystemReader or -Writer")
    return Path(storage.path if checkpoint_id is None else checkpoint_id)


def _entries(state: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any], Any]]:
    """The values of nested dictionaries: where they are, in which dictionary, by which key."""
    for key, value in state.items():
        place = f"{path}/{key}" if path else str(key)
        if isinstance(value, dict) and value:
            yield from _entries(value, place)
        else:
            yield place, state, key


def _file(rank: int) -> str:
    return f"rank{rank}.safetensors"


def _group(group: ProcessGroup | None, alone: bool) -> ProcessGroup | None:
    return group_of(group) if is_initialized() and not alone else None


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: Any = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Write what the ranks hold: each its rows of `DTensor`, the first one all that is whole.

    Args:
        state_dict: nested dictionaries of tensors and plain values, alike on all ranks.
        checkpoint_id: the folder.
        storage_writer: one that names it.
        planner: without effect.
        process_group: the ranks; None means all.
        no_dist: this process alone writes.

    >>> import tempfile, wengert
    >>> from wengert.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.save({"a": wengert.ones(2)}, checkpoint_id=folder)
    ...     state = {"a": wengert.zeros(2)}
    ...     checkpoint.load(state, checkpoint_id=folder)
    >>> state["a"]
    tensor([1., 1.])
    """
    folder = _folder("save", checkpoint_id, storage_writer)
    group = _group(process_group, no_dist)
    rank = 0 if group is None else group.rank()
    folder.mkdir(parents=True, exist_ok=True)
    own: dict[str, Tensor] = {}
    values: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for place, holder, key in _entries(state_dict):
        value = holder[key]
        if place in metadata or place in values:
            raise ValueError(f"save(): two values of the state_dict are at {place!r}")
        if not isinstance(value, Tensor):
            values[place] = value
            continue
        metadata[place] = _described(value)
        if rank == 0 or isinstance(value, DTensor):
            own[place] = wrap(value._array)
    serialization.save(own, folder / _file(rank))
    if rank == 0:
        serialization.save(values, folder / _VALUES)
    if group is not None:
        barrier(group)  # the metadata says that the files are there
    if rank == 0:
        temporary = folder / f"{_METADATA}.new"
        temporary.write_text(json.dumps(metadata, indent=1))
        temporary.replace(folder / _METADATA)
    if group is not None:
        barrier(group)


def _described(value: Tensor) -> dict[str, Any]:
    """A tensor's shape and dtype, and the first row that each file has."""
    layout: Layout | None = value._layout if isinstance(value, DTensor) else None
    starts = [0]
    if layout is not None:
        starts = [layout.rows(rank).start for rank in range(layout.group.size())]
    shape = value._array.shape if layout is None else layout.shape
    return {"shape": list(shape), "dtype": of_numpy[value._array.dtype].name, "starts": starts}


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: FileSystemReader | None = None,
    planner: Any = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Read a checkpoint into the tensors and dictionaries of a `state_dict`.

    Args:
        state_dict: what to read; tensors are written, plain values are replaced.
        checkpoint_id: the folder.
        storage_reader: one that names it.
        planner: without effect.
        process_group: the ranks; None means all.
        no_dist: this process alone reads.

    RuntimeError if the checkpoint lacks something, or has it in another shape.

    >>> import tempfile, wengert
    >>> from wengert.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.save({"a": wengert.ones(2)}, checkpoint_id=folder)
    ...     state = {"a": wengert.zeros(2)}
    ...     checkpoint.load(state, checkpoint_id=folder)
    >>> state["a"]
    tensor([1., 1.])
    """
    folder = _folder("load", checkpoint_id, storage_reader)
    metadata = json.loads((folder / _METADATA).read_text())
    values = serialization.load(folder / _VALUES)
    targets: dict[str, Tensor] = {}
    for place, holder, key in _entries(state_dict):
        value = holder[key]
        if place not in (metadata if isinstance(value, Tensor) else values):
            raise RuntimeError(f"load(): the checkpoint {str(folder)!r} has no {place!r}")
        if isinstance(value, Tensor):
            _check_shape(place, value, metadata[place]["shape"])
            targets[place] = value
        else:
            holder[key] = values[place]
    files = max((len(metadata[place]["starts"]) for place in targets), default=0)
    for rank in range(files):
        pieces = serialization.load(folder / _file(rank))
        for place, target in targets.items():
            if place in pieces:
                _copy_rows(target, pieces[place]._array, metadata[place]["starts"][rank])
        del pieces


def _check_shape(place: str, value: Tensor, shape: list[int]) -> None:
    own = value._layout.shape if isinstance(value, DTensor) else value._array.shape
    if list(own) != shape:
        raise RuntimeError(f"load(): {place!r} has shape {list(own)}, in the checkpoint {shape}")


def _copy_rows(target: Tensor, piece: np.ndarray, start: int) -> None:
    """Copy those rows of a piece, which begins at a row, that a tensor has."""
    array = target._array
    if not array.ndim:
        array[...] = piece
        return
    own = target._layout.rows() if isinstance(target, DTensor) else slice(0, array.shape[0])
    first, last = max(own.start, start), min(own.stop, start + piece.shape[0])
    if first < last:
        array[first - own.start : last - own.start] = piece[first - start : last - start]


__all__ = ["FileSystemReader", "FileSystemWriter", "load", "save"]
