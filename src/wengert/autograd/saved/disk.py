"""Saved tensors on disk: out of memory until backward needs them."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from wengert.autograd.errors import GraphError
from wengert.autograd.saved.hooks import saved_tensors_hooks
from wengert.core import storage
from wengert.core.storage import owner
from wengert.core.tensor import Leaf, Tensor, tick, wrap
from wengert.ops.strided import Window, whole, window_of

_BLOCK = 4096  # the smallest file size on most file systems


class save_to_disk(saved_tensors_hooks):  # noqa: N801 (as its siblings)
    """A context that offloads saved tensors to files and reads them back in backward.

    Memory saved by several operations is written once. Leaves that require grad stay in
    memory, since they outlive the graph anyway. A file is deleted when the graph releases its
    contents, and the folder with the last file. A missing or truncated file raises GraphError
    in backward.

    Args:
        dir: where to create the folder for the files; None means the system's temporary one.
        min_bytes: smaller tensors stay in memory.

    >>> import wengert
    >>> from wengert.autograd.graph import save_to_disk
    >>> x = wengert.randn(100, 100, requires_grad=True)
    >>> with save_to_disk():
    ...     y = x.exp().sin().sum()
    >>> wengert.graph.held_by([y.grad_fn.next_functions[0][0]]).graph
    0
    >>> y.backward()
    """

    def __init__(self, dir: str | os.PathLike[str] | None = None, min_bytes: int = _BLOCK) -> None:
        self.dir, self.min_bytes = dir, min_bytes
        super().__init__(_Store(dir, min_bytes).pack, _unpack)

    def __enter__(self) -> None:
        if self.dir is not None and not os.path.isdir(self.dir):
            raise NotADirectoryError(f"save_to_disk(): 'dir' is no folder: {str(self.dir)!r}")
        super().__enter__()


class _Folder:
    """A folder that is removed with its last file."""

    def __init__(self, parent: str | os.PathLike[str] | None) -> None:
        self.path = tempfile.mkdtemp(prefix="wengert-saved-", dir=parent)
        weakref.finalize(self, _in_process(os.getpid(), _remove_folder), self.path)


class _File:
    """A snapshot of some memory in a file, deleted when nothing refers to this any more."""

    def __init__(self, folder: _Folder, source: np.ndarray, memory: np.ndarray) -> None:
        self.folder = folder
        self.path = os.path.join(folder.path, f"{next(_numbers)}.bin")
        self.size, self.time = memory.nbytes, tick()
        self.source = weakref.ref(source)
        self.loaded: Callable[[], np.ndarray | None] = _nothing
        weakref.finalize(self, _in_process(os.getpid(), _remove_file), self.path)
        memory.view(np.uint8).tofile(self.path)

    def read(self) -> np.ndarray:
        """Read the bytes; concurrent readers share one copy."""
        memory = self.loaded()
        if memory is None:
            memory = self._read()
            self.loaded = weakref.ref(memory)
        return memory

    def _read(self) -> np.ndarray:
        try:
            memory = np.fromfile(self.path, np.uint8)
        except OSError as error:
            raise GraphError(
                f"save_to_disk: cannot read back a saved tensor ({error}); its file must stay"
                " until backward"
            ) from error
        if memory.size != self.size:
            raise GraphError(
                f"save_to_disk: cannot read back a saved tensor: {self.path} has {memory.size}"
                f" bytes, and {self.size} were written"
            )
        return memory


_numbers = itertools.count()


def _nothing() -> None:
    return None


def _in_process(process: int, remove: Callable[[str], None]) -> Callable[[str], None]:
    """`remove` in this process only: forked children inherit its finalizers."""
    return lambda path: remove(path) if os.getpid() == process else None


def _remove_file(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _remove_folder(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)


class _Stored(NamedTuple):
    """A saved array on disk: its file, its view of that, the shape it expands to."""

    file: _File
    window: Window
    shape: tuple[int, ...]


class _Store:
    """The files of a context, by the memory they hold."""

    def __init__(self, parent: str | os.PathLike[str] | None, min_bytes: int) -> None:
        self.parent, self.min_bytes = parent, min_bytes
        self.files: WeakValueDictionary[Any, _File] = WeakValueDictionary()
        self.folder: Callable[[], _Folder | None] = _nothing

    def pack(self, tensor: Tensor) -> Tensor | _Stored:
        """The tensor itself if it is small or a leaf's, otherwise its location on disk."""
        array = tensor._array
        once = [slice(0, 1) if s == 0 else slice(None) for s in array.strides]
        core = array[(*once, ...)]
        if core.nbytes < max(self.min_bytes, 1) or _of_leaf(tensor):
            return tensor
        base = owner(array)
        flat = base.ravel("K")
        if core.nbytes == base.nbytes and np.may_share_memory(flat, base):
            window = window_of(core, flat)
            return _Stored(self._file(id(base), base, base, flat), window, array.shape)
        compact = core.copy(order="K")
        key = id(base), window_of(core, base)
        return _Stored(self._file(key, base, core, compact.ravel("K")), whole(compact), array.shape)

    def _file(self, key: Any, base: np.ndarray, array: np.ndarray, flat: np.ndarray) -> _File:
        """The file of some memory, written unless an up-to-date one exists."""
        file = self.files.get(key)
        if file is None or file.source() is not base or storage.write_after(array, file.time):
            folder = self.folder()
            if folder is None:
                folder = _Folder(self.parent)
                self.folder = weakref.ref(folder)
            file = self.files[key] = _File(folder, base, flat)
        return file


def _of_leaf(tensor: Tensor) -> bool:
    """Whether a tensor is a leaf, or a view of one."""
    node: Any = tensor._edge
    while node is not None and type(node) is not Leaf:
        if not getattr(getattr(node, "op", None), "view", False):
            return False
        node = node.edges[0]
    if node is None:
        return False
    leaf = node.tensor()
    return leaf is not None and owner(leaf._array) is owner(tensor._array)


def _unpack(value: Tensor | _Stored) -> Tensor:
    if not isinstance(value, _Stored):
        return value
    offset, shape, strides, dtype = value.window
    core = np.ndarray(shape, dtype, value.file.read(), offset, strides)
    return wrap(np.broadcast_to(core, value.shape) if value.shape != shape else core)
