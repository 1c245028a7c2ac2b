"""`FullyShardedDataParallel`: the older form of `fully_shard`, a module around a module."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.fsdp.api import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from wengert.distributed.fsdp.fully_shard import FSDPModule, fully_shard, whole_parameters
from wengert.distributed.fsdp.gathering import mapped
from wengert.distributed.fsdp.optimizer_state import named_state, numbered_state
from wengert.distributed.fsdp.policies import MixedPrecisionPolicy
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.tensor.dtensor import whole_of
from wengert.distributed.world import default_group, get_rank
from wengert.nn import Module
from wengert.nn.utils import clip_grad_norm_
from wengert.optim import Optimizer


class FullyShardedDataParallel(Module):
    """A module of whose parameters each rank holds, and trains, some rows.

    Its `state_dict` is the whole one, with the module's own names, on each rank, unless
    `state_dict_type` says otherwise. The submodules that a policy chooses are sharded in place,
    as `fully_shard` does it.

    Args:
        module: the module; its parameters become those of rank 0.
        process_group: the ranks; None means all.
        sharding_strategy: without effect; ValueError for NO_SHARD and HYBRID_SHARD.
        cpu_offload: without effect: rows are in the memory of the CPU anyway.
        auto_wrap_policy: says which submodules are gathered on their own.
        mixed_precision: the dtypes of the forward and of the averages.
        ignored_modules: modules whose parameters every rank holds whole.
        param_init_fn: called with each module that has parameters on the meta device.
        ignored_states: parameters, or modules, likewise.
        device_mesh: a mesh of the ranks, instead of `process_group`.
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
        cpu_offload: Any = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: Any = None,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None,
        param_init_fn: Callable[[Module], None] | None = None,
        *,
        ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if sharding_strategy not in (
            None, ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP
        ):  # fmt: skip
            raise ValueError(
                f"FullyShardedDataParallel: {sharding_strategy}; expected FULL_SHARD or"
                " SHARD_GRAD_OP, or use DistributedDataParallel"
            )
        group = default_group() if process_group is None else process_group
        mesh = DeviceMesh.from_group(group, "cpu") if device_mesh is None else device_mesh
        ignored = _ignored([*(ignored_modules or ()), *(ignored_states or ())])
        _materialize(module, param_init_fn)
        precision = mixed_precision or MixedPrecision()
        root = mixed_precision is not None

        def shard(inner: Module, overrides: dict[str, Any]) -> None:
            own = overrides.get("mixed_precision", precision) or MixedPrecision()
            if not isinstance(inner, FSDPModule):
                policy = _policy(own, own.cast_forward_inputs)
                fully_shard(inner, mesh=mesh, mp_policy=policy, ignored_params=ignored)

        _keep_apart(module, precision, mesh, ignored)
        if auto_wrap_policy is not None:
            wrap_submodules(module, auto_wrap_policy, shard)
        policy = _policy(precision, root and precision.cast_root_forward_inputs)
        sharded = fully_shard(module, mesh=mesh, mp_policy=policy, ignored_params=ignored)
        self._fsdp_wrapped_module = sharded
        self._state_dict_settings = StateDictSettings()

    @property
    def module(self) -> Module:
        """The module."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The state; all ranks call this."""
        saved = self._fsdp_wrapped_module.state_dict(*args, **kwargs)
        settings = self._state_dict_settings
        if settings.state_dict_type is not StateDictType.FULL_STATE_DICT:
            return saved
        whole = type(saved)((name, whole_of(value)) for name, value in saved.items())
        return whole if _here(settings.state_dict_config) else type(saved)()

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Take this rank's rows of a whole state, or of one in rows."""
        return self._fsdp_wrapped_module.load_state_dict(state_dict, strict, assign)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients so that their norm, over all ranks, is at most `max_norm`."""
        return clip_grad_norm_(self.parameters(), max_norm, norm_type)

    def no_sync(self) -> Any:
        """A block without effect: each backward averages, and averages add up."""
        return contextlib.nullcontext()

    def apply(self, fn: Callable[[Any], None]) -> Any:
        """Call a function on every module, with whole parameters."""
        with whole_parameters(self, writeback=True):
            return super().apply(fn)

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The instances of this class in a module."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        return found[:1] if root_only else found

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """A block in which parameters are whole; what is written to them stays, if `writeback`."""
        if with_grads:
            raise NotImplementedError("summon_full_params(): with_grads=True")
        with whole_parameters(module, writeback):
            yield

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Say what states are to be like; returns what was said before."""
        full = state_dict_type is StateDictType.FULL_STATE_DICT
        weights = state_dict_config or (FullStateDictConfig() if full else ShardedStateDictConfig())
        moments = optim_state_dict_config or (
            FullOptimStateDictConfig() if full else ShardedOptimStateDictConfig()
        )
        before = StateDictSettings()
        for wrapper in FullyShardedDataParallel.fsdp_modules(module):
            before = wrapper._state_dict_settings
            wrapper._state_dict_settings = StateDictSettings(state_dict_type, weights, moments)
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """What states are to be like."""
        wrappers = FullyShardedDataParallel.fsdp_modules(module, root_only=True)
        return wrappers[0]._state_dict_settings if wrappers else StateDictSettings()

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """A block in which states are like this."""
        kind = FullyShardedDataParallel
        before = kind.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            kind.set_state_dict_type(
                module, before.state_dict_type, before.state_dict_config,
                before.optim_state_dict_config,
            )  # fmt: skip

    @staticmethod
    def optim_state_dict(
        model: Module,
        optim: Optimizer,
        optim_state_dict: dict[str, Any] | None = None,
        group: ProcessGroup | None = None,
    ) -> dict[str, Any]:
        """The state of the model's optimizer by the names of parameters; all ranks call this."""
        saved = named_state(model, optim)
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        if settings.state_dict_type is not StateDictType.FULL_STATE_DICT:
            return saved
        whole = {**saved, "state": mapped(whole_of, saved["state"])}
        return whole if _here(settings.optim_state_dict_config) else {}

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Optimizer,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: ProcessGroup | None = None,
    ) -> dict[str, Any]:
        """Such a state as `optim.load_state_dict` takes it on this rank."""
        state = numbered_state(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(state)
        return state


def wrap_submodules(
    module: Module, policy: Callable[..., Any], wrapping: Callable[[Module, dict[str, Any]], None]
) -> int:
    """Wrap submodules, the innermost first, as a policy says; returns how many elements."""
    wrapped = 0
    for child in module.children():
        own = sum(p.numel() for p in child.parameters())
        if not policy(module=child, recurse=True, nonwrapped_numel=own):
            continue
        within = wrap_submodules(child, policy, wrapping)
        chosen = policy(module=child, recurse=False, nonwrapped_numel=own - within)
        if chosen:
            wrapping(child, chosen if isinstance(chosen, dict) else {})
        wrapped += own if chosen else within
    return wrapped


def _here(config: Any) -> bool:
    """Whether this rank gets whole tensors."""
    return not getattr(config, "rank0_only", False) or get_rank() == 0


def _ignored(states: list[Any]) -> set[Tensor]:
    """The parameters among parameters and modules."""
    ignored: set[Tensor] = set()
    for state in states:
        ignored.update(state.parameters() if isinstance(state, Module) else [state])
    return ignored


def _materialize(module: Module, param_init_fn: Callable[[Module], None] | None) -> None:
    """Give modules on the meta device memory, and what a function sets there."""
    for inner in module.modules():
        own = [*inner.parameters(recurse=False), *inner.buffers(recurse=False)]
        if not any(tensor.is_meta for tensor in own):
            continue
        if param_init_fn is not None:
            param_init_fn(inner)
            continue
        inner.to_empty(device="cpu", recurse=False)
        inner.reset_parameters()


def _policy(precision: MixedPrecision, cast: bool) -> MixedPrecisionPolicy:
    return MixedPrecisionPolicy(
        precision.param_dtype, precision.reduce_dtype, cast_forward_inputs=cast
    )


def _keep_apart(
    module: Module, precision: MixedPrecision, mesh: DeviceMesh, ignored: set[Tensor]
) -> None:
    """Cast the buffers; modules of some classes keep float32, and cast their results back."""
    kinds = tuple(precision._module_classes_to_ignore or ())
    for inner in module.modules():
        if isinstance(inner, kinds):
            if precision.param_dtype is not None and not isinstance(inner, FSDPModule):
                whole = next(inner.parameters()).dtype if [*inner.parameters()] else None
                policy = MixedPrecisionPolicy(whole, None, precision.param_dtype)
                fully_shard(inner, mesh=mesh, mp_policy=policy, ignored_params=ignored)
        elif precision.buffer_dtype is not None:
            for name, buffer in inner._buffers.items():
                if buffer is not None and buffer.is_floating_point():
                    inner._buffers[name] = buffer.to(precision.buffer_dtype)


__all__ = ["FullyShardedDataParallel"]
