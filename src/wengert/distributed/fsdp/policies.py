"""What `fully_shard` may be told: dtypes, and where rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Which dtypes a sharded module computes in; None: those that are there.

    Args:
        param_dtype: of the parameters in the forward, and of its floating-point arguments.
        reduce_dtype: in which gradients are averaged; None: that in which they are computed.
        output_dtype: to which floating-point results are cast.
        cast_forward_inputs: whether arguments are cast.

    >>> from wengert.distributed.fsdp import MixedPrecisionPolicy
    >>> MixedPrecisionPolicy().param_dtype is None
    True
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass(frozen=True)
class OffloadPolicy:
    """Where rows are between forwards: where they are.

    >>> from wengert.distributed.fsdp import OffloadPolicy
    >>> OffloadPolicy()
    OffloadPolicy()
    """


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """In the memory of the CPU, where they are anyway.

    >>> from wengert.distributed.fsdp import CPUOffloadPolicy
    >>> CPUOffloadPolicy().pin_memory
    True
    """

    pin_memory: bool = True


__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]
