"""How tensors may be distributed over the ranks of a mesh, under PyTorch's names."""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """How a tensor is distributed along one dimension of a mesh.

    >>> from wengert.distributed.tensor.placements import Replicate, Shard
    >>> Shard(1).is_shard(), Shard(1).is_shard(0), Replicate().is_shard()
    (True, False, False)
    """

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is cut, along that dimension."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each rank has it whole."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the ranks' tensors are to be reduced, in that way."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along a dimension."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(
        curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        """How many of so many rows a rank has, and where they begin.

        >>> from wengert.distributed.tensor.placements import Shard
        >>> [Shard.local_shard_size_and_offset(5, 3, rank) for rank in range(3)]
        [(2, 0), (2, 2), (1, 4)]
        """
        chunk = -(-curr_local_size // num_chunks)
        begin = min(rank * chunk, curr_local_size)
        return min(chunk, curr_local_size - begin), begin


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole on each rank."""


@dataclass(frozen=True)
class Partial(Placement):
    """To be reduced over the ranks."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


__all__ = ["Partial", "Placement", "Replicate", "Shard"]
