"""``torch.cuda.nvtx``: marks for NVIDIA's tools, which are not there."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NoReturn


def _refuse(name: str) -> Any:
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise RuntimeError(
            f"NVTX functions not installed: torch.cuda.nvtx.{name}() needs CUDA, and wengert"
            " computes on the CPU; torch.profiler.record_function names blocks"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises RuntimeError: there is no CUDA."
    return refuse


mark = _refuse("mark")
range_push = _refuse("range_push")
range_pop = _refuse("range_pop")


def range(msg: str, *args: Any, **kwargs: Any) -> AbstractContextManager[None]:
    """Raises RuntimeError: there is no CUDA."""
    refused: AbstractContextManager[None] = range_push(msg)
    return refused
