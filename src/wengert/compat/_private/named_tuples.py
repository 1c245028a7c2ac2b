"""``torch.utils._pytree``: which classes are tuples with names."""

from __future__ import annotations

from typing import Any

from wengert.ops.results import Results


def is_namedtuple(obj: Any) -> bool:
    """Whether an object is such a class, or an instance of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class was made by `collections.namedtuple`, or derives from one that was."""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(isinstance(name, str) for name in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is an instance of such a class."""
    return is_namedtuple_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether an object is a class of results such as `torch.return_types.max`, or one of those."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Whether a class is one of results; the interpreter has its own, such as that of times."""
    if not isinstance(cls, type) or not issubclass(cls, tuple):
        return False
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    counted = all(isinstance(getattr(cls, name, None), int) for name in counts)
    return counted and (issubclass(cls, Results) or cls.__bases__ == (tuple,))


def is_structseq_instance(obj: Any) -> bool:
    """Whether an object is an instance of such a class."""
    return is_structseq_class(type(obj))


__all__ = [
    "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq",
    "is_structseq_class", "is_structseq_instance",
]  # fmt: skip
