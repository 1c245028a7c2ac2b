"""``torch.utils._foreach_utils``: tensors sorted into what one loop can take."""

from __future__ import annotations

from typing import Any


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Parallel lists of tensors, apart by the device and dtype of the tensors in the first.

    Beside the lists of a group: which entries they were, if `with_indices`.
    """
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for index, row in enumerate(zip(*tensorlistlist, strict=True)):
        columns, indices = groups.setdefault(
            (row[0].device, row[0].dtype), ([[] for _ in tensorlistlist], [])
        )
        for column, value in zip(columns, row, strict=True):
            column.append(value)
        if with_indices:
            indices.append(index)
    return groups


__all__ = ["_group_tensors_by_device_and_dtype"]
