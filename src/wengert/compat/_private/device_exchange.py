"""``torch.cuda.comm`` and ``torch.cuda.nccl``: exchange between devices, of which there are none.

Asking whether it is possible is answered, calls raise what they raise in a PyTorch without CUDA.
"""

from __future__ import annotations

from typing import Any

from wengert.platform.absences import refusing


def _never(tensors: Any) -> bool:
    """False: no tensor is on a CUDA device."""
    return False


is_available = _never


def _needs_device(name: str, error: type[Exception] = AttributeError) -> Any:
    text = f"Torch not compiled with CUDA enabled: {name}() needs CUDA devices"
    return refusing(name, __name__, error, text)


all_gather = _needs_device("all_gather")
all_reduce = _needs_device("all_reduce")
broadcast = _needs_device("broadcast")
broadcast_coalesced = _needs_device("broadcast_coalesced")
gather = _needs_device("gather")
init_rank = _needs_device("init_rank")
reduce = _needs_device("reduce")
reduce_add = _needs_device("reduce_add", AssertionError)
reduce_add_coalesced = _needs_device("reduce_add_coalesced", AssertionError)
reduce_scatter = _needs_device("reduce_scatter")
scatter = _needs_device("scatter")
unique_id = _needs_device("unique_id")
version = _needs_device("version")

__all__ = [
    "all_gather", "all_reduce", "broadcast", "broadcast_coalesced", "gather", "init_rank",
    "is_available", "reduce", "reduce_add", "reduce_add_coalesced", "reduce_scatter", "scatter",
    "unique_id", "version",
]  # fmt: skip
