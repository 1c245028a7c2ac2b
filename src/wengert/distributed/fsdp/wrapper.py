"""`FullyShardedDataParallel`: the older form of `fully_shard`, a module around a module."""

from __future__ import annotations

import contextlib
from enum import Enum
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.fsdp.dtensor import DTensor, whole_of
from wengert.distributed.fsdp.fully_shard import FSDPModule, fully_shard
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.world import default_group
from wengert.nn import Module
from wengert.nn.utils import clip_grad_norm_


class ShardingStrategy(Enum):
    """How much is cut; here, parameters, gradients and the optimizer's state always are."""

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4


class FullyShardedDataParallel(Module):
    """A module of whose parameters each rank holds, and trains, some rows.

    Its `state_dict` is the whole one, with the module's own names, on each rank.

    Args:
        module: the module; its parameters become those of rank 0.
        process_group: the ranks; None means all.
        sharding_strategy: without effect; ValueError for NO_SHARD and HYBRID_SHARD.
        auto_wrap_policy: says which submodules are gathered on their own.
        ignored_states: parameters that every rank holds whole.
        options: those that say when things are moved; without effect.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.fsdp import FullyShardedDataParallel
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> model = FullyShardedDataParallel(wengert.nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['weight', 'bias']
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        process_group: ProcessGroup | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        *,
        auto_wrap_policy: Any = None,
        mixed_precision: Any = None,
        ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if sharding_strategy in (ShardingStrategy.NO_SHARD, ShardingStrategy.HYBRID_SHARD):
            raise ValueError(
                f"FullyShardedDataParallel: {sharding_strategy}; expected FULL_SHARD or"
                " SHARD_GRAD_OP, or use DistributedDataParallel"
            )
        if mixed_precision is not None:
            raise NotImplementedError(
                "FullyShardedDataParallel: mixed_precision; use torch.autocast in the forward"
            )
        group = default_group() if process_group is None else process_group
        mesh = DeviceMesh.from_group(group, "cpu") if device_mesh is None else device_mesh
        ignored = set(ignored_states or ())
        if auto_wrap_policy is not None:
            for inner in [*module.modules()][:0:-1]:
                whole = [p for p in inner.parameters() if not isinstance(p, DTensor)]
                size = sum(p.numel() for p in whole)
                wraps = auto_wrap_policy(module=inner, recurse=False, nonwrapped_numel=size)
                if wraps and not isinstance(inner, FSDPModule):
                    fully_shard(inner, mesh=mesh, ignored_params=ignored)
        self._fsdp_wrapped_module = fully_shard(module, mesh=mesh, ignored_params=ignored)

    @property
    def module(self) -> Module:
        """The module."""
        return self._fsdp_wrapped_module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The whole state; all ranks call this."""
        saved = self._fsdp_wrapped_module.state_dict(*args, **kwargs)
        return type(saved)((name, whole_of(value)) for name, value in saved.items())

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Take this rank's rows of a whole state."""
        return self._fsdp_wrapped_module.load_state_dict(state_dict, strict, assign)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients so that their norm, over all ranks, is at most `max_norm`."""
        return clip_grad_norm_(self.parameters(), max_norm, norm_type)

    def no_sync(self) -> Any:
        """A block without effect: each backward averages, and averages add up."""
        return contextlib.nullcontext()


__all__ = ["FullyShardedDataParallel", "ShardingStrategy"]
