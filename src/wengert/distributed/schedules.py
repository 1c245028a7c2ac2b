"""Collectives on flat arrays, each a sequence of rounds.

Data goes in chunks that a cache holds: every rank copies a chunk into shared memory, and the
others reduce or copy it from there while it is near. All ranks compute the same number of rounds
from sizes that they agree on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.distributed._communicator import Communicator
from wengert.distributed._links import ROUND_BYTES
from wengert.distributed.errors import DistBackendError
from wengert.distributed.reduce_op import RedOpType, reduce_into

# Up to here every rank reduces everything: one round instead of two.
_SMALL = 1 << 14
_ALIGNMENT = 64
_PIECES = 128  # at most in a round


def _capacity(comm: Communicator, pieces: int) -> int:
    """Bytes for each of so many pieces that a rank writes in a round."""
    return (ROUND_BYTES // pieces - _ALIGNMENT) // _ALIGNMENT * _ALIGNMENT


def _chunks(size: int, step: int) -> list[tuple[int, int]]:
    return [(start, min(start + step, size)) for start in range(0, size, step)] or [(0, 0)]


def all_reduce(comm: Communicator, data: np.ndarray, op: RedOpType) -> None:
    """Reduce the arrays of all ranks into each."""
    if comm.size == 1:
        return
    if data.nbytes <= _SMALL:
        received = comm.round([(None, data)])
        reduce_in_order(comm, data, received, op)
        return
    ranks = comm.size
    step = _capacity(comm, ranks + 1) // data.itemsize * ranks
    chunks = _chunks(data.size, step)

    def segment(k: int, rank: int) -> np.ndarray:
        start, stop = chunks[k]
        return data[start + (stop - start) * rank // ranks : start
                    + (stop - start) * (rank + 1) // ranks]  # fmt: skip

    others = [rank for rank in range(ranks) if rank != comm.rank]
    for k in range(len(chunks) + 1):
        outgoing: list[tuple[int | None, np.ndarray]] = []
        if k < len(chunks):
            outgoing += [(rank, segment(k, rank)) for rank in others]
        if k:
            outgoing.append((None, segment(k - 1, comm.rank)))
        received = comm.round(outgoing)
        if k < len(chunks):
            terms = [received[rank][0].view(data.dtype) for rank in others]
            reduce_into(segment(k, comm.rank), terms, op, ranks)
        if k:
            for rank in others:
                segment(k - 1, rank)[...] = received[rank][-1].view(data.dtype)


def reduce_in_order(
    comm: Communicator,
    data: np.ndarray,
    received: dict[int, list[np.ndarray]],
    op: RedOpType,
) -> None:
    """Reduce what all ranks sent, in the order of ranks: each gets the same bits."""
    terms = [
        data if rank == comm.rank else received[rank][0].view(data.dtype)
        for rank in range(comm.size)
    ]
    total = terms[0].copy()
    reduce_into(total, terms[1:], op, comm.size)
    data[...] = total


def reduce(comm: Communicator, data: np.ndarray, root: int, op: RedOpType) -> None:
    """Reduce the arrays of all ranks into that of the root."""
    for start, stop in _chunks(data.size, _capacity(comm, 1) // data.itemsize):
        chunk = data[start:stop]
        received = comm.round([] if comm.rank == root else [(root, chunk)])
        if comm.rank == root:
            reduce_in_order(comm, chunk, received, op)


def broadcast(comm: Communicator, data: np.ndarray, root: int) -> None:
    """Copy the root's array into the others'."""
    for start, stop in _chunks(data.size, _capacity(comm, 1) // data.itemsize):
        received = comm.round([(None, data[start:stop])] if comm.rank == root else [])
        if comm.rank != root:
            data[start:stop] = received[root][0].view(data.dtype)


def broadcast_rows(comm: Communicator, rows: Sequence[np.ndarray], root: int) -> None:
    """Copy several arrays of the root into the others', as many in a round as there is room for."""
    room, pending = _capacity(comm, 1), [row.view(np.uint8) for row in rows if row.size]
    while pending:
        pieces: list[np.ndarray] = []
        free = room
        while pending and free and len(pieces) < _PIECES:
            piece, left = pending[0][:free], pending[0][free:]
            pieces.append(piece)
            free = max(0, free - -(-piece.size // _ALIGNMENT) * _ALIGNMENT)
            pending[:1] = [left] if left.size else []
        received = comm.round([(None, piece) for piece in pieces] if comm.rank == root else [])
        if comm.rank != root:
            for piece, data in zip(pieces, received[root], strict=True):
                piece[...] = data


def all_gather(comm: Communicator, outputs: Sequence[np.ndarray], data: np.ndarray) -> None:
    """Copy each rank's array into one of the outputs of every rank."""
    outputs[comm.rank][...] = data
    for start, stop in _chunks(data.size, _capacity(comm, 1) // data.itemsize):
        received = comm.round([(None, data[start:stop])])
        for rank, pieces in received.items():
            outputs[rank][start:stop] = pieces[0].view(data.dtype)


def gather(
    comm: Communicator, outputs: Sequence[np.ndarray] | None, data: np.ndarray, root: int
) -> None:
    """Copy each rank's array into one of the outputs of the root."""
    if outputs is not None:
        outputs[comm.rank][...] = data
    for start, stop in _chunks(data.size, _capacity(comm, 1) // data.itemsize):
        received = comm.round([] if comm.rank == root else [(root, data[start:stop])])
        if outputs is not None:
            for rank, pieces in received.items():
                outputs[rank][start:stop] = pieces[0].view(data.dtype)


def scatter(
    comm: Communicator, output: np.ndarray, inputs: Sequence[np.ndarray] | None, root: int
) -> None:
    """Copy one of the root's arrays into each rank's."""
    if inputs is not None:
        output[...] = inputs[root]
    for start, stop in _chunks(output.size, _capacity(comm, comm.size) // output.itemsize):
        outgoing: list[tuple[int | None, np.ndarray]] = []
        if inputs is not None:
            outgoing = [(r, a[start:stop]) for r, a in enumerate(inputs) if r != root]
        received = comm.round(outgoing)
        if comm.rank != root:
            output[start:stop] = received[root][0].view(output.dtype)


def reduce_scatter(
    comm: Communicator, output: np.ndarray, inputs: Sequence[np.ndarray], op: RedOpType
) -> None:
    """Reduce the arrays that all ranks have for a rank into that rank's."""
    own = inputs[comm.rank]
    for start, stop in _chunks(output.size, _capacity(comm, comm.size) // output.itemsize):
        received = comm.round(
            [(rank, a[start:stop]) for rank, a in enumerate(inputs) if rank != comm.rank]
        )
        chunk = output[start:stop]
        chunk[...] = own[start:stop]
        reduce_in_order(comm, chunk, received, op)


def all_to_all(
    comm: Communicator, outputs: Sequence[np.ndarray], inputs: Sequence[np.ndarray]
) -> None:
    """Copy to each rank the array that this one has for it; their sizes may differ."""
    largest = max(a.nbytes for a in inputs)
    announced: list[tuple[int | None, np.ndarray]] = [
        (rank, np.array([a.nbytes, largest])) for rank, a in enumerate(inputs) if rank != comm.rank
    ]
    sizes = {rank: pieces[0].view(np.int64) for rank, pieces in comm.round(announced).items()}
    wrong = [rank for rank, size in sizes.items() if size[0] != outputs[rank].nbytes]
    if wrong or outputs[comm.rank].nbytes != inputs[comm.rank].nbytes:
        rank = wrong[0] if wrong else comm.rank
        sent = int(sizes[rank][0]) if wrong else inputs[rank].nbytes
        text = (
            f"rank {comm.ranks[rank]} sends {sent} bytes to rank {comm.ranks[comm.rank]}, which"
            f" expects {outputs[rank].nbytes}: the split sizes do not match"
        )
        comm.give_up(text)
        raise DistBackendError(text)
    if inputs[comm.rank].size:
        outputs[comm.rank][...] = inputs[comm.rank]
    most = max([largest, *(int(size[1]) for size in sizes.values())])
    step = _capacity(comm, comm.size)
    bytes_in = [a.view(np.uint8) for a in inputs]
    bytes_out = [a.view(np.uint8) for a in outputs]
    for start in range(0, most, step):
        received = comm.round(
            [(r, a[start : start + step]) for r, a in enumerate(bytes_in) if r != comm.rank]
        )
        for rank, pieces in received.items():
            bytes_out[rank][start : start + step] = pieces[0]


def gather_bytes(comm: Communicator, data: bytes, roots: Sequence[int]) -> list[bytes]:
    """The bytes of every rank, of whatever length, at the roots."""
    size = np.array([len(data)])
    sizes = comm.round([(None, size)])
    lengths = [
        len(data) if rank == comm.rank else int(sizes[rank][0].view(np.int64)[0])
        for rank in range(comm.size)
    ]
    outputs = [np.empty(length, np.uint8) for length in lengths]
    own = np.frombuffer(data, np.uint8)
    outputs[comm.rank][...] = own
    step = _capacity(comm, 1)
    for start in range(0, max(lengths), step):
        piece = own[start : start + step]
        outgoing: list[tuple[int | None, np.ndarray]] = (
            [(None, piece)] if len(roots) == comm.size else [(r, piece) for r in roots]
        )
        received = comm.round([entry for entry in outgoing if entry[0] != comm.rank])
        for rank, pieces in received.items():
            if pieces:
                outputs[rank][start : start + step] = pieces[0]
    return [out.tobytes() if comm.rank in roots else b"" for out in outputs]


def barrier(comm: Communicator) -> None:
    """Wait for all ranks."""
    comm.round([])


__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "broadcast_rows",
    "gather",
    "gather_bytes",
    "reduce",
    "reduce_scatter",
    "scatter",
]
