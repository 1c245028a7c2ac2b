"""`fully_shard`: each rank holds some rows of a module's parameters, and trains those.

A forward gathers the whole parameters, by a function whose derivative averages the gradients and
scatters their rows. The graph holds the whole until its backward is done; then nothing does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from wengert.autograd import Function
from wengert.core.tensor import Tensor, wrap
from wengert.distributed.collectives import broadcast, reduce_scatter_tensor
from wengert.distributed.fsdp.dtensor import (
    DTensor,
    Layout,
    ShardedParameter,
    by_dtype,
    gathered,
    sharded_rows,
)
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.reduce_op import ReduceOp
from wengert.distributed.world import default_group
from wengert.nn import Module


class _Unshard(Function):
    """Whole tensors of the ranks' rows; the derivative is the average over the ranks."""

    @staticmethod
    def forward(ctx: Any, layouts: Sequence[Layout], *rows: Tensor) -> Any:
        ctx.layouts = layouts
        return tuple(map(wrap, gathered([r._array for r in rows], layouts)))

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        return None, *_Reshard.apply(ctx.layouts, *gs)


class _Reshard(Function):
    """A rank's rows of the averages of whole tensors."""

    @staticmethod
    def forward(ctx: Any, layouts: Sequence[Layout], *wholes: Tensor) -> Any:
        ctx.layouts = layouts
        rows: dict[int, Tensor] = {}
        for indices in by_dtype([w._array for w in wholes]):
            _scatter_averages(rows, indices, layouts, wholes)
        return tuple(rows[i] for i in range(len(wholes)))

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        size = ctx.layouts[0].group.size()
        return None, *(g / size for g in _Unshard.apply(ctx.layouts, *gs))


def _scatter_averages(
    rows: dict[int, Tensor],
    indices: Sequence[int],
    layouts: Sequence[Layout],
    wholes: Sequence[Tensor],
) -> None:
    ends = np.cumsum([0, *(layouts[i].padded for i in indices)])
    group = layouts[indices[0]].group
    everyone = np.zeros((group.size(), ends[-1]), wholes[indices[0]]._array.dtype)
    for i, start in zip(indices, ends[:-1], strict=True):
        for rank in range(group.size()):
            piece = wholes[i]._array[layouts[i].rows(rank)]
            everyone[rank, start : start + piece.size] = piece.reshape(-1)
    own = np.empty(ends[-1], everyone.dtype)
    reduce_scatter_tensor(wrap(own), wrap(everyone), ReduceOp.AVG, group)
    for i, start in zip(indices, ends[:-1], strict=True):
        part = layouts[i].rows()
        shape = (part.stop - part.start, *layouts[i].shape[1:])
        rows[i] = wrap(own[start : start + int(np.prod(shape))].reshape(shape).copy())


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Which dtypes a sharded module computes in; the default is those it has.

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


class FSDPModule:
    """What `fully_shard` puts in front of a module's class.

    >>> from wengert.distributed.fsdp import FSDPModule
    >>> FSDPModule().set_requires_gradient_sync(False)
    """

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: Any = True
    ) -> None:
        """Nothing: a sum of averages is the average of sums, and each backward averages."""

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Nothing: each backward is complete."""

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Nothing: the whole parameters live as long as the graph."""


@cache
def _sharded_class(cls: Any) -> type:
    return type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__})


Places = list[tuple[str, str]]  # of parameters: the module's path, and their name in it


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[..., Any] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),
    offload_policy: OffloadPolicy = OffloadPolicy(),
    ignored_params: set[Tensor] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Let each rank hold some rows of a module's parameters; returns the module.

    Parameters start as rank 0 has them, and become `DTensor`: make the optimizer afterwards.
    Gradients are averaged over the ranks. Submodules that are to be gathered on their own are
    sharded before the modules that contain them.

    Args:
        module: the module, or a list of them.
        mesh: a mesh of the ranks; None means all.
        reshard_after_forward: without effect: the graph holds the whole until its backward.
        shard_placement_fn: None: rows.
        mp_policy: the default; use `autocast` in the forward.
        offload_policy: without effect.
        ignored_params: those that every rank holds whole.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.fsdp import fully_shard
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> model = fully_shard(wengert.nn.Linear(2, 1))
    >>> model(wengert.ones(3, 2)).sum().backward()
    >>> model.weight.grad
    tensor([[3., 3.]])
    >>> dist.destroy_process_group()
    """
    if isinstance(module, list | tuple):
        for one in module:
            fully_shard(one, mesh=mesh, mp_policy=mp_policy, ignored_params=ignored_params)
        return module
    refused = (mp_policy != MixedPrecisionPolicy(), shard_placement_fn, dp_mesh_dims)
    if any(x not in (None, False) for x in refused):
        raise NotImplementedError(
            "fully_shard(): mp_policy, shard_placement_fn and dp_mesh_dims are not there; use"
            " torch.autocast in the forward, rows, and a mesh of one dimension"
        )
    if isinstance(module, FSDPModule):
        raise ValueError("fully_shard(): the module has been sharded already")
    group = default_group() if mesh is None else mesh.get_group()
    places = _shard_parameters(module, group, ignored_params or set())
    cls: type = type(module)
    module.__class__ = _sharded_class(cls)
    module._sharded_places = places
    module.register_forward_pre_hook(_gather_parameters)
    module.register_forward_hook(_release_parameters, always_call=True)
    module.register_state_dict_post_hook(_save_rows)
    module.register_load_state_dict_pre_hook(_load_rows)
    return module


def _shard_parameters(module: Module, group: ProcessGroup, ignored: set[Tensor]) -> Places:
    places: Places = []
    rows: dict[Tensor, ShardedParameter] = {}
    for path, owner in module.named_modules(remove_duplicate=False):
        for name, p in list(owner._parameters.items()):
            if p is None or p in ignored or isinstance(p, DTensor):
                continue
            if p.ndim == 0:
                raise ValueError(
                    f"fully_shard doesn't support scalar parameters. Change {path}.{name} to a 1D"
                    " tensor with numel equal to 1."
                )
            if p not in rows:
                rows[p] = _rows_of(p, group)
            owner._parameters[name] = rows[p]
            places.append((path, name))
    for buffer in module.buffers():
        broadcast(buffer, group=group, group_src=0)
    return places


def _rows_of(p: Tensor, group: ProcessGroup) -> Any:
    broadcast(p, group=group, group_src=0)
    layout = Layout(tuple(p._array.shape), group)
    parameter = sharded_rows(p._array[layout.rows()].copy(), layout, ShardedParameter)
    return parameter.requires_grad_(p.requires_grad)


def places_of(module: Any) -> Iterator[tuple[str, Module, str, ShardedParameter]]:
    """The sharded parameters that a module gathers: key, owner, name and rows."""
    for path, name in module._sharded_places:
        owner = module.get_submodule(path)
        yield f"{path}.{name}" if path else name, owner, name, owner._parameters[name]


def _gather_parameters(module: Any, args: Any) -> None:
    """Let the forward see whole parameters."""
    if "_sharded_rows" in module.__dict__:
        return  # the module calls itself
    places = list(places_of(module))
    unique = list(dict.fromkeys(p for *_, p in places))
    if not unique:
        return
    wholes = _Unshard.apply([p._layout for p in unique], *unique)
    whole_of = dict(zip(unique, wholes, strict=True))
    for _, owner, name, p in places:
        owner._parameters[name] = whole_of[p]
    module.__dict__["_sharded_rows"] = [p for *_, p in places]


def _release_parameters(module: Any, args: Any, output: Any) -> None:
    """Put the rows back."""
    rows = module.__dict__.pop("_sharded_rows", None)
    if rows is None:
        return
    for (path, name), whole in zip(module._sharded_places, rows, strict=True):
        module.get_submodule(path)._parameters[name] = whole


def _save_rows(module: Any, state_dict: dict[str, Any], prefix: str, metadata: Any) -> None:
    for key, _, _, p in places_of(module):
        if prefix + key in state_dict:
            state_dict[prefix + key] = sharded_rows(p._array, p._layout)


def _load_rows(module: Any, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
    for key, _, _, p in places_of(module):
        value = state_dict.get(prefix + key)
        if value is not None and not isinstance(value, DTensor):
            state_dict[prefix + key] = rows_for(value, p)


def rows_for(value: Any, p: Any) -> Any:
    """The rows of a whole tensor that a sharded parameter has; anything else as it is."""
    if isinstance(value, Tensor) and tuple(value._array.shape) == p._layout.shape:
        return wrap(value._array[p._layout.rows()])
    return value


__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "fully_shard",
]
