"""What operations with two results return: named tuples that print as PyTorch's do."""

from __future__ import annotations

from typing import Any, NamedTuple

from wengert._core import Tensor


class ValuesIndices(NamedTuple):
    """Values, and their indices along a dimension."""

    values: Tensor
    indices: Tensor


class MinMax(NamedTuple):
    """The smallest and the largest elements."""

    min: Tensor
    max: Tensor


def _kind(name: str, fields: Any) -> Any:
    def text(self: Any) -> str:
        parts = [f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)]
        return f"torch.return_types.{name}(\n" + ",\n".join(parts) + ")"

    def reduce(self: Any) -> tuple[Any, ...]:
        return result_of, (name, *self)

    return type(name, (fields,), {"__slots__": (), "__repr__": text, "__reduce__": reduce})


_VALUES_INDICES = (
    "cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk",
)  # fmt: skip
_KINDS = {name: _kind(name, ValuesIndices) for name in _VALUES_INDICES}
_KINDS["aminmax"] = _kind("aminmax", MinMax)


def result_of(name: str, *values: Tensor) -> Any:
    """The results of the function of that name."""
    return _KINDS[name](*values)
