"""``torch.nn.parallel.scatter_gather``: nothing is scattered over devices that are not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from wengert.compat._private.named_tuples import is_namedtuple as is_namedtuple
from wengert.ops.joining import cat


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> NoReturn:
    """Raises RuntimeError: there are no GPUs."""
    raise RuntimeError(
        f"torch.nn.parallel.scatter_gather.scatter(target_gpus={target_gpus!r}): wengert has no"
        " GPUs to scatter to"
    )


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """The outputs of replicas joined along a dimension; dicts and sequences item by item."""
    first = outputs[0]
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    if isinstance(first, tuple | list):
        columns = [gather(column, target_device, dim) for column in zip(*outputs, strict=True)]
        return type(first)(*columns) if is_namedtuple(first) else type(first)(columns)
    return cat([output.reshape(1) if output.ndim == 0 else output for output in outputs], dim)


__all__ = ["gather", "is_namedtuple", "scatter"]
