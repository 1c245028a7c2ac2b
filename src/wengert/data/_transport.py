"""Passing objects from workers to their loader through shared memory.

A slot is an anonymous in-memory file that is reused. An object is pickled into it with its arrays
out of band, and read into the reader's own memory, so that a tensor kept from one batch does not
keep the others alive. Nothing can leak: the kernel frees the memory with the last process that
has the file open.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from multiprocessing import reduction
from typing import Any

import numpy as np


class Slot:
    """Room for one object at a time."""

    __slots__ = ("_file",)

    def __init__(self, file: int | None = None) -> None:
        self._file = _nameless_file() if file is None else file

    def write(self, value: Any) -> list[int]:
        """Store an object; return the sizes of its parts, which `read` needs."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(value, 5, buffer_callback=buffers.append)
        offset, sizes = 0, []
        for chunk in (memoryview(head), *(buffer.raw() for buffer in buffers)):
            sizes.append(chunk.nbytes)
            while chunk.nbytes:  # one call writes 2 GiB at most
                written = os.pwrite(self._file, chunk, offset)
                chunk, offset = chunk[written:], offset + written
        return sizes

    def read(self, sizes: list[int]) -> Any:
        """The object stored last."""
        offset, buffers = 0, list[memoryview]()
        for size in sizes:
            unread = np.empty(size, np.uint8).data
            buffers.append(unread)
            while unread.nbytes:
                count = os.preadv(self._file, [unread], offset)
                if not count:
                    raise EOFError(
                        f"a batch of a DataLoader worker ends {unread.nbytes} bytes early"
                    )
                unread, offset = unread[count:], offset + count
        return pickle.loads(buffers[0], buffers=buffers[1:])

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def __reduce__(self) -> tuple[Any, ...]:
        # When passed to a process being spawned.
        return _received, (reduction.DupFd(self._file),)


def _received(handle: Any) -> Slot:
    return Slot(handle.detach())


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("wengert-batch")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
