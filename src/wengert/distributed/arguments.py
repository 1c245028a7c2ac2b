"""Checks of what collectives are called with, with PyTorch's exception classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.world import get_group_rank
from wengert.kernels.layout import repeats


def check_tensor(name: str, argument: str, value: Any) -> None:
    """TypeError unless a value is a Tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{argument}` of {name}() of type"
            f" torch.Tensor but got {type(value)} instead."
        )


def check_tensors(name: str, argument: str, values: Any) -> None:
    """TypeError unless a value is a list of Tensors."""
    if not isinstance(values, list | tuple) or not all(isinstance(v, Tensor) for v in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{argument}` of {name}() of type"
            f" List[torch.Tensor] but got {type(values)} with elements of type"
            f" {[type(v) for v in values] if isinstance(values, list | tuple) else values!r}."
        )


def check_list(name: str, argument: str, values: Sequence[Tensor], like: Tensor, size: int) -> None:
    """Raise unless there is a tensor for each rank, all of one dtype and number of elements."""
    if len(values) != size:
        raise RuntimeError(
            f"{name}(): invalid `{argument}`: expected a tensor for each of the {size} ranks, got"
            f" {len(values)}"
        )
    for i, value in enumerate(values):
        if value.dtype != like.dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypes: {name}() found {value.dtype} in"
                f" `{argument}` and {like.dtype}"
            )
        if value.shape != like.shape:
            raise RuntimeError(
                f"{name}(): invalid tensor size at index {i} of `{argument}` (expected"
                f" {tuple(like.shape)}, got {tuple(value.shape)})"
            )


def root_of(name: str, group: ProcessGroup, root: int | None, group_root: int | None) -> int:
    """The rank in the group that is meant by a rank of all, or by one of the group."""
    if root is not None and group_root is not None:
        raise ValueError("Can't specify both global_rank and group_rank")
    if group_root is not None:
        if not 0 <= group_root < group.size():
            raise RuntimeError(f"{name}(): invalid root rank: {group_root}")
        return group_root
    if root is None:
        raise ValueError("Must specify global_rank or group_rank")
    if root not in group.ranks:
        if len(group.ranks) < max(group.ranks) + 1:
            return get_group_rank(group, root)
        raise RuntimeError(
            f"{name}(): invalid root rank: {root}; the ranks are {list(group.ranks)}"
        )
    return group.ranks.index(root)


def signature_of(array: np.ndarray, *more: object) -> str:
    """What ranks must agree on: dtype, number of elements, and whatever else."""
    return ", ".join([of_numpy[array.dtype].name, f"{array.size} elements", *map(str, more)])


def flat_in(tensor: Tensor) -> np.ndarray:
    """The values of a tensor in one row, copied only if they are not contiguous."""
    return np.ascontiguousarray(tensor._array).reshape(-1)


class FlatOutput:
    """A tensor's memory in one row: itself, or a copy that `finish` writes back."""

    def __init__(self, tensor: Tensor) -> None:
        array = tensor._array
        if not array.flags.writeable or repeats(array):
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a"
                " single memory location. Please clone() the tensor before a collective"
            )
        self._target = array
        self.row = flat_in(tensor)

    def finish(self) -> None:
        """Write a copy back."""
        if not np.may_share_memory(self.row, self._target):
            self._target[...] = self.row.reshape(self._target.shape)


def with_outputs(outputs: Sequence[Tensor], algorithm: Callable[..., Any]) -> Callable[[Any], None]:
    """An algorithm on the rows of tensors, as one that writes to the tensors."""
    rows = [FlatOutput(tensor) for tensor in outputs]

    def run(comm: Any) -> None:
        algorithm(comm, *[row.row for row in rows])
        for row in rows:
            row.finish()

    return run


__all__ = ["check_list", "check_tensor", "check_tensors", "root_of", "signature_of"]
