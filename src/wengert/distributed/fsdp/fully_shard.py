"""`fully_shard`: each rank holds some rows of a module's parameters, and trains those.

A forward gathers the whole parameters, by a function whose derivative averages the gradients and
scatters their rows. The graph holds the whole until its backward is done; then nothing does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from wengert.core.tensor import Tensor, wrap
from wengert.distributed.collectives import broadcast
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.fsdp.gathering import Gathering, Unshard, mapped
from wengert.distributed.fsdp.policies import MixedPrecisionPolicy, OffloadPolicy
from wengert.distributed.fsdp.rows import sharded_rows
from wengert.distributed.tensor.dtensor import DTensor
from wengert.distributed.tensor.layouts import Layout
from wengert.distributed.tensor.parameters import ShardedParameter
from wengert.distributed.tensor.placements import Shard
from wengert.distributed.world import default_group
from wengert.nn import Module, Parameter
from wengert.tensor.creation import empty


class UnshardHandle:
    """What `FSDPModule.unshard` returns; the parameters are there already.

    >>> from wengert.distributed.fsdp import UnshardHandle
    >>> UnshardHandle().wait()
    """

    def wait(self) -> None:
        """Nothing."""


class FSDPModule:
    """What `fully_shard` puts in front of a module's class.

    >>> from wengert.distributed.fsdp import FSDPModule
    >>> FSDPModule().set_requires_gradient_sync(False)
    """

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters now; the next forward uses them, or `reshard` lets go of them."""
        _gather_parameters(self)
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Let go of the whole parameters, if they are there."""
        _release_parameters(self)

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide the sums of gradients by this instead of the number of ranks."""
        vars(self)["_sharded_how"] = vars(self)["_sharded_how"]._replace(divisor=factor)

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Nothing: a sum of averages is the average of sums, and each backward averages."""

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Nothing, likewise."""

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Nothing: each backward is complete."""

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Nothing: the whole parameters live as long as the graph."""

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Nothing, likewise."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Nothing: a backward finds the whole parameters in the graph."""

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Nothing: a module gathers its parameters when its forward begins."""

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Nothing: a backward gathers nothing."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """As of any module; what takes the place of rows is rows, too."""
        layouts = {p: p._layout for *_, p in places_of(self)}
        before = [p for *_, p in places_of(self)]
        module: Any = super()
        module._apply(fn, recurse)
        fresh: dict[Tensor, Any] = {}
        for old, (_, owner, name, p) in zip(before, places_of(self), strict=True):
            if p is not old:
                fresh.setdefault(old, sharded_rows(p, layouts[old], ShardedParameter))
                owner._parameters[name] = fresh[old].requires_grad_(old.requires_grad)
        return self


@cache
def _sharded_class(cls: Any) -> type:
    return type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__})


_SAME, _HERE = MixedPrecisionPolicy(), OffloadPolicy()

Places = list[tuple[str, str]]  # of parameters: the module's path, and their name in it


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[..., Any] | None = None,
    mp_policy: MixedPrecisionPolicy = _SAME,
    offload_policy: OffloadPolicy = _HERE,
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
        mp_policy: the dtypes of the forward and of the averages.
        offload_policy: without effect: rows are in the memory of the CPU anyway.
        ignored_params: those that every rank holds whole.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.fsdp import fully_shard
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> model = fully_shard(wengert.nn.Linear(2, 1))
    >>> model(wengert.ones(3, 2)).sum().backward()
    >>> model.weight.grad.to_local()
    tensor([[3., 3.]])
    >>> dist.destroy_process_group()
    """
    if isinstance(module, list | tuple):
        for one in module:
            fully_shard(one, mesh=mesh, mp_policy=mp_policy, ignored_params=ignored_params)
        return module
    if shard_placement_fn is not None or dp_mesh_dims is not None:
        raise NotImplementedError(
            "fully_shard(): shard_placement_fn and dp_mesh_dims are not there; use rows, and a"
            " mesh of one dimension"
        )
    if isinstance(module, FSDPModule):
        raise ValueError("fully_shard(): the module has been sharded already")
    ranks = DeviceMesh.from_group(default_group(), "cpu") if mesh is None else mesh
    places = _shard_parameters(module, ranks, ignored_params or set())
    cls: type = type(module)
    module.__class__ = _sharded_class(cls)
    module._sharded_places = places
    _register_hooks(module, mp_policy)
    return module


def _register_hooks(module: Any, policy: MixedPrecisionPolicy) -> None:
    """Have forwards and states of a module see what they need."""
    dtypes = [d and d.np for d in (policy.param_dtype, policy.reduce_dtype)]
    vars(module)["_sharded_how"] = Gathering([], *dtypes)
    module.register_forward_pre_hook(_before_forward)
    module.register_forward_hook(_release_parameters, always_call=True)
    if policy.param_dtype is not None and policy.cast_forward_inputs:
        cast = partial(_cast_arguments, dtype=policy.param_dtype)
        module.register_forward_pre_hook(cast, with_kwargs=True)
    if policy.output_dtype is not None:
        module.register_forward_hook(partial(_cast_output, dtype=policy.output_dtype))
    module.register_state_dict_post_hook(_save_rows)
    module.register_load_state_dict_pre_hook(_load_rows)


def _shard_parameters(module: Module, mesh: DeviceMesh, ignored: set[Tensor]) -> Places:
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
                rows[p] = _rows_of(p, mesh)
            owner._parameters[name] = rows[p]
            places.append((path, name))
    for buffer in module.buffers():
        if not buffer.is_meta:
            broadcast(buffer, group=mesh.get_group(), group_src=0)
    return places


def _rows_of(p: Tensor, mesh: DeviceMesh) -> Any:
    layout = Layout(tuple(p.shape), mesh, (Shard(0),))
    if p.is_meta:
        rows = layout.rows()
        shape = (rows.stop - rows.start, *layout.shape[1:])
        own = empty(shape, dtype=p.dtype, device=p.device)
    else:
        broadcast(p, group=layout.group, group_src=0)
        own = wrap(p._array[layout.rows()].copy())
    return sharded_rows(own, layout, ShardedParameter).requires_grad_(p.requires_grad)


def places_of(module: Any) -> Iterator[tuple[str, Module, str, ShardedParameter]]:
    """The sharded parameters that a module gathers: key, owner, name and rows."""
    for path, name in module._sharded_places:
        owner = module.get_submodule(path)
        yield f"{path}.{name}" if path else name, owner, name, owner._parameters[name]


def _before_forward(module: Any, args: Any) -> None:
    _gather_parameters(module)


def _gather_parameters(module: Any) -> None:
    """Let the forward see whole parameters."""
    if "_sharded_rows" in module.__dict__:
        return  # the module calls itself, or has been told to
    places = list(places_of(module))
    unique = list(dict.fromkeys(p for *_, p in places))
    if not unique:
        return
    how: Gathering = module.__dict__["_sharded_how"]
    wholes = Unshard.apply(how._replace(layouts=[p._layout for p in unique]), *unique)
    whole_of = dict(zip(unique, wholes, strict=True))
    for _, owner, name, p in places:
        owner._parameters[name] = whole_of[p]
    module.__dict__["_sharded_rows"] = [p for *_, p in places]


def _release_parameters(module: Any, *forward: Any) -> None:
    """Put the rows back."""
    rows = module.__dict__.pop("_sharded_rows", None)
    if rows is None:
        return
    for (path, name), whole in zip(module._sharded_places, rows, strict=True):
        module.get_submodule(path)._parameters[name] = whole


def _cast_arguments(module: Any, args: Any, kwargs: Any, dtype: Any) -> Any:
    return mapped(partial(_cast, dtype=dtype), (args, kwargs))


def _cast_output(module: Any, args: Any, output: Any, dtype: Any) -> Any:
    return mapped(partial(_cast, dtype=dtype), output)


def _cast(value: Any, dtype: Any) -> Any:
    return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Have another method of a sharded module gather the parameters, as its forward does.

    >>> import wengert
    >>> from wengert.distributed.fsdp import register_fsdp_forward_method
    >>> register_fsdp_forward_method(wengert.nn.ReLU(), "extra_repr")  # it is not sharded
    """
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name)

    def gathering(*args: Any, **kwargs: Any) -> Any:
        _gather_parameters(module)
        try:
            return method(*args, **kwargs)
        finally:
            _release_parameters(module)

    setattr(module, method_name, gathering)


@contextlib.contextmanager
def whole_parameters(root: Any, writeback: bool) -> Iterator[None]:
    """A block in which the parameters of sharded modules are whole; all ranks enter it."""
    replaced: list[tuple[Module, str, ShardedParameter]] = []
    fresh: dict[ShardedParameter, Parameter] = {}
    for module in root.modules():
        for _, owner, name, p in places_of(module) if isinstance(module, FSDPModule) else ():
            if p not in fresh:
                fresh[p] = Parameter(p.full_tensor(), p.requires_grad)
            owner._parameters[name] = fresh[p]
            replaced.append((owner, name, p))
    try:
        yield
    finally:
        for owner, name, p in replaced:
            owner._parameters[name] = p
        for p, whole in fresh.items() if writeback else ():
            p._array[...] = rows_for(whole.detach(), p)._array


def _save_rows(module: Any, state_dict: dict[str, Any], prefix: str, metadata: Any) -> None:
    for key, _, _, p in places_of(module):
        if prefix + key in state_dict:
            state_dict[prefix + key] = sharded_rows(p, p._layout)


def _load_rows(module: Any, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
    for key, _, _, p in places_of(module):
        value = state_dict.get(prefix + key)
        if value is not None and not isinstance(value, DTensor):
            rows = rows_for(value, p)
            state_dict[prefix + key] = value if rows is value else sharded_rows(rows, p._layout)


def rows_for(value: Any, p: Any) -> Any:
    """The rows of a whole tensor that a sharded parameter has; anything else as it is."""
    if isinstance(value, Tensor) and tuple(value._array.shape) == p._layout.shape:
        return wrap(value._array[p._layout.rows()])
    return value


__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]
