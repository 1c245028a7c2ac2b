"""A batch from a list of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert import _dtypes
from wengert._core import Tensor, wrap
from wengert.ops import joining

_Collate = Callable[[Sequence[Any]], Any]


def default_collate(batch: list[Any]) -> Any:
    """Samples as one batch: tensors, arrays and numbers are stacked, structures kept.

    >>> from wengert.utils.data import default_collate
    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    return _walk(batch, _stack)


def default_convert(data: Any) -> Any:
    """The arrays in a structure as tensors, and all else as it is.

    >>> import numpy as np
    >>> from wengert.utils.data import default_convert
    >>> default_convert({"x": np.array([1, 2])})
    {'x': tensor([1, 2])}
    """
    if isinstance(data, np.ndarray | np.generic) and data.dtype.kind not in "SUO":
        return wrap(np.asarray(data))
    if isinstance(data, Mapping):
        converted = {key: default_convert(value) for key, value in data.items()}
        return _rebuilt(type(data), converted)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return [default_convert(value) for value in data]
    return data


def _walk(batch: Sequence[Any], stack: _Collate) -> Any:
    first = batch[0]
    kind: Any = type(first)
    stacked = stack(batch)
    if stacked is not None:
        return stacked
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return _rebuilt(
            kind, {key: _walk([sample[key] for sample in batch], stack) for key in first}
        )
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(_walk(values, stack) for values in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError(
                "each element in list of batch should be of equal size, got sizes"
                f" {[len(sample) for sample in batch]}"
            )
        collated = [_walk(values, stack) for values in zip(*batch, strict=True)]
        return collated if isinstance(first, tuple) else _rebuilt(kind, collated)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists;"
        f" found {kind}"
    )


def _rebuilt(kind: Any, collated: Any) -> Any:
    """The batch in the samples' own container type, where that can be made of it."""
    try:
        return kind(collated)
    except TypeError:
        return collated


def _stack(batch: Sequence[Any]) -> Any:
    """Samples that are no structures as one tensor, or None."""
    first = batch[0]
    if isinstance(first, Tensor):
        return joining.stack(list(batch), 0)
    if isinstance(first, np.ndarray) and first.shape != ():
        _check_kind(first)
        return joining.stack([wrap(array) for array in batch], 0)
    if isinstance(first, np.ndarray | np.generic):
        _check_kind(first)
        return wrap(np.array(batch, first.dtype))
    if isinstance(first, bool):
        return wrap(np.array(batch, np.bool_))
    if isinstance(first, float):
        return wrap(np.array(batch, np.float64))
    if isinstance(first, int):
        mixed = any(isinstance(value, float) for value in batch)
        return wrap(np.array(batch, _dtypes.defaults.dtype.np if mixed else np.int64))
    return None


def _check_kind(array: Any) -> None:
    if array.dtype.kind in "SUO":
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists;"
            f" found {array.dtype}"
        )


__all__ = ["default_collate", "default_convert"]
