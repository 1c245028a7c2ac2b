"""What `FullyShardedDataParallel` may be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from wengert.nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm

_NORMS = (BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm)


class ShardingStrategy(Enum):
    """How much is cut; here, parameters, gradients and the optimizer's state always are."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When a backward would gather the next parameters; here the graph has them."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """What a `state_dict` has: whole tensors, or this rank's rows."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """Which dtypes a sharded module computes in; None: those that are there.

    Args:
        param_dtype: of the parameters in the forward.
        reduce_dtype: in which gradients are averaged; None: that in which they are computed.
        buffer_dtype: of the buffers.
        keep_low_precision_grads: without effect: gradients have the dtype of their parameters.
        cast_forward_inputs: whether arguments of submodules are cast.
        cast_root_forward_inputs: whether arguments of the whole are.

    >>> import wengert
    >>> from wengert.distributed.fsdp import MixedPrecision
    >>> MixedPrecision(param_dtype=wengert.bfloat16).cast_root_forward_inputs
    True
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = _NORMS


@dataclass
class CPUOffload:
    """Where rows are between forwards; here in the memory of the CPU anyway."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """How a `state_dict` is given; whatever it says, tensors are on the CPU."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """How whole tensors are given: with `rank0_only`, to rank 0 alone."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """How rows are given."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """How rows are given."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How the state of an optimizer is given."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """How a whole state is given: with `rank0_only`, to rank 0 alone."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """How rows of a state are given."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """How rows of a state are given."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """What states of a module, and of its optimizer, are like."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)


__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]
