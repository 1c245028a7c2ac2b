"""Writing and reading the folder of a checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert import serialization
from wengert.core.dtypes import by_name, of_numpy
from wengert.core.storage import stamp_all
from wengert.core.tensor import Tensor, caller, getframe, wrap
from wengert.distributed.checkpoint.stateful import Stateful
from wengert.distributed.collectives import barrier
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.tensor.creation import distribute_tensor
from wengert.distributed.tensor.dtensor import DTensor, whole_of
from wengert.distributed.tensor.placements import Shard
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


class Place(NamedTuple):
    """A value of nested dictionaries: the keys that lead to it, and the dictionary it is in."""

    keys: tuple[Any, ...]
    holder: dict[Any, Any]

    @property
    def name(self) -> str:
        """By which a checkpoint has it."""
        return "/".join(map(str, self.keys))

    @property
    def value(self) -> Any:
        """What is there."""
        return self.holder[self.keys[-1]]


def _entries(state: dict[Any, Any], keys: tuple[Any, ...] = ()) -> Iterator[Place]:
    """The values of nested dictionaries."""
    for key, value in state.items():
        if isinstance(value, dict) and value:
            yield from _entries(value, (*keys, key))
        else:
            yield Place((*keys, key), state)


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """A state, with the states of those objects in it that have one."""
    return {k: v.state_dict() if isinstance(v, Stateful) else v for k, v in state.items()}


def _in_rows(value: Any) -> bool:
    """Whether each rank has some rows of a tensor; others are written whole."""
    return isinstance(value, DTensor) and value.placements == (Shard(0),)


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
        state_dict: nested dictionaries of tensors and plain values, alike on all ranks; what it
            has itself may also be a `Stateful`.
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
    for place in _entries(_plain(state_dict)):
        name, value = place.name, place.value
        if name in metadata or name in values:
            raise ValueError(f"save(): two values of the state_dict are at {name!r}")
        if not isinstance(value, Tensor):
            values[name] = {"keys": list(place.keys), "value": value}
            continue
        metadata[name] = {"keys": list(place.keys), **_described(value)}
        part = value if _in_rows(value) else whole_of(value)
        if rank == 0 or (part is value and isinstance(value, DTensor)):
            own[name] = wrap(part._array)
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


def async_save(state_dict: dict[str, Any], **options: Any) -> Future[None]:
    """`save`, which is done when this returns: another thread's collectives would mix with these.

    >>> import tempfile, wengert
    >>> from wengert.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.async_save({"a": wengert.ones(2)}, checkpoint_id=folder).done()
    True
    """
    future: Future[None] = Future()
    save(state_dict, **options)
    future.set_result(None)
    return future


def _described(value: Tensor) -> dict[str, Any]:
    """A tensor's shape and dtype, and the first row that each file has."""
    starts = [0]
    if isinstance(value, DTensor) and _in_rows(value):
        layout = value._layout
        starts = [layout.rows(rank).start for rank in range(layout.group.size())]
    dtype = of_numpy[value._array.dtype].name
    return {"shape": list(value.shape), "dtype": dtype, "starts": starts}


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
    objects = {key: value for key, value in state_dict.items() if isinstance(value, Stateful)}
    state = _plain(state_dict)
    metadata = json.loads((folder / _METADATA).read_text())
    values = serialization.load(folder / _VALUES)
    targets: dict[str, Tensor] = {}
    for place in _entries(state):
        name, value = place.name, place.value
        if name not in (metadata if isinstance(value, Tensor) else values):
            raise RuntimeError(f"load(): the checkpoint {str(folder)!r} has no {name!r}")
        if isinstance(value, Tensor):
            _check_shape(name, value, metadata[name]["shape"])
            targets[name] = value
        else:
            place.holder[place.keys[-1]] = values[name]["value"]
    _read_tensors(folder, metadata, targets)
    for key, value in state.items():
        if key in objects:
            objects[key].load_state_dict(value)
        else:
            state_dict[key] = value


def read_all(folder: Path) -> dict[Any, Any]:
    """All that a checkpoint has, with whole tensors."""
    metadata = json.loads((folder / _METADATA).read_text())
    targets = {
        name: wrap(np.empty(entry["shape"], by_name(entry["dtype"]).np))
        for name, entry in metadata.items()
    }
    _read_tensors(folder, metadata, targets)
    found = [(metadata[name]["keys"], tensor) for name, tensor in targets.items()]
    values = serialization.load(folder / _VALUES)
    state: dict[Any, Any] = {}
    for keys, value in [*found, *((v["keys"], v["value"]) for v in values.values())]:
        holder = state
        for key in keys[:-1]:
            holder = holder.setdefault(key, {})
        holder[keys[-1]] = value
    return state


def _read_tensors(folder: Path, metadata: Any, targets: dict[str, Tensor]) -> None:
    """Write to tensors what a checkpoint has of them."""
    cut = {k: t for k, t in targets.items() if isinstance(t, DTensor) and not _in_rows(t)}
    wholes = {k: wrap(np.empty(t.shape, t._array.dtype)) for k, t in cut.items()}
    into = targets | wholes
    files = max((len(metadata[name]["starts"]) for name in into), default=0)
    for rank in range(files):
        pieces = serialization.load(folder / _file(rank))
        for name, target in into.items():
            if name in pieces:
                _copy_rows(target, pieces[name]._array, metadata[name]["starts"][rank])
        del pieces
    for name, whole in wholes.items():
        mesh, placements = cut[name].device_mesh, cut[name].placements
        part = distribute_tensor(whole, mesh, placements, src_data_rank=None)
        cut[name]._array[...] = part._array
    stamp_all([t._array for t in targets.values()], "load()", *caller(getframe(1)))


def _check_shape(place: str, value: Tensor, shape: list[int]) -> None:
    if list(value.shape) != shape:
        raise RuntimeError(
            f"load(): {place!r} has shape {list(value.shape)}, in the checkpoint {shape}"
        )


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


__all__ = ["FileSystemReader", "FileSystemWriter", "async_save", "load", "save"]
