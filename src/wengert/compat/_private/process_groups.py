"""Names of ``torch.distributed`` that programs have in annotations and in branches of their own."""

from __future__ import annotations

from typing import Any, NoReturn

from wengert.distributed import ReduceOp as reduce_op  # noqa: N813 (PyTorch's older name)
from wengert.distributed import (
    all_gather_into_tensor as _all_gather_base,
)
from wengert.distributed import (
    reduce_scatter_tensor as _reduce_scatter_base,
)
from wengert.distributed.process_group import ProcessGroup as ProcessGroupGloo
from wengert.distributed.world import default_group as _get_default_group


class _NoInstances:
    """A class for annotations and `isinstance`: making an instance raises RuntimeError."""

    def __init__(self, *args: Any, **options: Any) -> None:
        refuse(type(self).__name__)


def refuse(name: str, *args: Any, **options: Any) -> NoReturn:
    """Raises RuntimeError."""
    raise RuntimeError(f"torch.distributed.{name}: wengert does not have it")


def _refusing(name: str) -> Any:
    def call(*args: Any, **options: Any) -> NoReturn:
        refuse(f"{name}()")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Raises RuntimeError."
    return call


__all__ = [
    "ProcessGroupGloo",
    "_all_gather_base",
    "_get_default_group",
    "_reduce_scatter_base",
    "reduce_op",
]
