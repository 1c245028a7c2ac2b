"""``torch.nn._reduction``, also ``nn.functional._Reduction``: reductions by number."""

from __future__ import annotations

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction. Raises ValueError for another word."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction that two old arguments stand for."""
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """The number of the reduction that two old arguments stand for."""
    return get_enum(legacy_get_string(size_average, reduce))


__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]
