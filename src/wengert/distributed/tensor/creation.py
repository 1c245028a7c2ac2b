"""Distributed tensors and modules, made of whole ones or of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.core.tensor import Tensor, wrap
from wengert.distributed.collectives import broadcast
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.tensor.dtensor import DTensor, distributed
from wengert.distributed.tensor.layouts import Layout, checked, moved
from wengert.distributed.tensor.placements import Placement, Replicate
from wengert.distributed.world import default_group
from wengert.nn import Module, Parameter
from wengert.tensor import creation, random


def _mesh(device_mesh: DeviceMesh | None) -> DeviceMesh:
    """The mesh; None means all ranks."""
    return device_mesh or DeviceMesh.from_group(default_group(), "cpu")


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """A leaf of which this rank has a part of a tensor; all ranks of the mesh call this.

    Args:
        tensor: the whole.
        device_mesh: the ranks; None means all.
        placements: where parts go; None: each rank has the whole.
        src_data_rank: whose values are taken, along each dimension of the mesh; None: each
            rank's own.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.tensor import Shard, distribute_tensor
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> distribute_tensor(wengert.zeros(4, 2), mesh, [Shard(1)]).to_local().shape
    torch.Size([4, 2])
    >>> dist.destroy_process_group()
    """
    mesh = _mesh(device_mesh)
    fixed = checked("distribute_tensor", mesh, placements, tensor.ndim)
    if any(p.is_partial() for p in fixed):
        raise RuntimeError(
            f"distribute_tensor(): expected Shard or Replicate, got placements {list(fixed)}"
        )
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or tensor.placements != fixed:
            raise ValueError(
                f"distribute_tensor(): the tensor is on {tensor.device_mesh!r} with"
                f" {tensor.placements} already: use redistribute()"
            )
        return tensor
    target = Layout(tuple(tensor.shape), mesh, fixed)
    if tensor.is_meta:
        local = _empty_part(target, tensor)
    else:
        whole = tensor.detach().clone()
        for dim in range(mesh.ndim) if src_data_rank is not None else ():
            broadcast(whole, group=mesh.get_group(dim), group_src=src_data_rank)
        local = wrap(moved(whole._array, target.replaced([Replicate()] * mesh.ndim), target))
    result: DTensor = distributed(local, target)
    result.requires_grad_(tensor.requires_grad)
    return result


def _empty_part(layout: Layout, like: Tensor) -> Tensor:
    shape = local_shape(layout)
    return creation.empty(shape, dtype=like.dtype, device=like.device)


def local_shape(layout: Layout) -> tuple[int, ...]:
    """The shape of this rank's part."""
    ndim = len(layout.shape)
    return tuple(layout.length_before(layout.mesh.ndim, dim) for dim in range(ndim))


def _made(
    make: Callable[..., Tensor], size: Any, mesh: Any, placements: Any, options: dict[str, Any]
) -> DTensor:
    """A tensor whose parts a function makes."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    ranks = _mesh(mesh)
    layout = Layout(shape, ranks, checked("tensor", ranks, placements, len(shape)))
    grad = options.pop("requires_grad", False)
    result: DTensor = distributed(make(local_shape(layout), **options), layout)
    result.requires_grad_(grad)
    return result


def _cut_of_whole(
    make: Callable[..., Tensor], size: Any, mesh: Any, placements: Any, options: dict[str, Any]
) -> DTensor:
    """A tensor that a function makes whole on each rank: of equal seeds, the same numbers."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    return distribute_tensor(make(shape, **options), _mesh(mesh), placements)


def zeros(*size: Any, device_mesh: Any = None, placements: Any = None, **options: Any) -> DTensor:
    """Zeros; `size`, `dtype` and `requires_grad` as of `wengert.zeros`.

    >>> import wengert.distributed as dist
    >>> from wengert.distributed import tensor
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> tensor.zeros(4, 2, placements=[tensor.Shard(0)]).full_tensor().sum()
    tensor(0.)
    >>> dist.destroy_process_group()
    """
    return _made(creation.zeros, size, device_mesh, placements, options)


def ones(*size: Any, device_mesh: Any = None, placements: Any = None, **options: Any) -> DTensor:
    """Ones; `size`, `dtype` and `requires_grad` as of `wengert.ones`.

    >>> import wengert.distributed as dist
    >>> from wengert.distributed import tensor
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> tensor.ones(4, 2, placements=[tensor.Shard(0)]).full_tensor().sum()
    tensor(8.)
    >>> dist.destroy_process_group()
    """
    return _made(creation.ones, size, device_mesh, placements, options)


def empty(*size: Any, device_mesh: Any = None, placements: Any = None, **options: Any) -> DTensor:
    """Whatever is there; `size`, `dtype` and `requires_grad` as of `wengert.empty`.

    >>> import wengert.distributed as dist
    >>> from wengert.distributed import tensor
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> tensor.empty(4, 2).shape
    torch.Size([4, 2])
    >>> dist.destroy_process_group()
    """
    return _made(creation.empty, size, device_mesh, placements, options)


def full(
    size: Any, fill_value: Any, *, device_mesh: Any = None, placements: Any = None, **options: Any
) -> DTensor:
    """One value everywhere; `dtype` and `requires_grad` as of `wengert.full`.

    >>> import wengert.distributed as dist
    >>> from wengert.distributed import tensor
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> tensor.full((2, 2), 3.0).full_tensor().sum()
    tensor(12.)
    >>> dist.destroy_process_group()
    """

    def make(shape: tuple[int, ...], **own: Any) -> Tensor:
        return creation.full(shape, fill_value, **own)

    return _made(make, (size,), device_mesh, placements, options)


def rand(*size: Any, device_mesh: Any = None, placements: Any = None, **options: Any) -> DTensor:
    """Uniform numbers, as `wengert.rand` draws them on the first rank.

    >>> import wengert.distributed as dist
    >>> from wengert.distributed import tensor
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> tensor.rand(4, 2).shape
    torch.Size([4, 2])
    >>> dist.destroy_process_group()
    """
    return _cut_of_whole(random.rand, size, device_mesh, placements, options)


def randn(*size: Any, device_mesh: Any = None, placements: Any = None, **options: Any) -> DTensor:
    """Normal numbers, as `wengert.randn` draws them on the first rank.

    >>> import wengert.distributed as dist
    >>> from wengert.distributed import tensor
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> tensor.randn(4, 2).shape
    torch.Size([4, 2])
    >>> dist.destroy_process_group()
    """
    return _cut_of_whole(random.randn, size, device_mesh, placements, options)


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
) -> Module:
    """Have each rank hold parts of a module's parameters; returns the module.

    Args:
        module: the module.
        device_mesh: the ranks; None means all.
        partition_fn: called with the name of each submodule, with that, and with the mesh; what
            it does not distribute, each rank has whole.
        input_fn: called with the module, its inputs and the mesh before each forward.
        output_fn: called likewise with its output.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.tensor import distribute_module
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> distribute_module(wengert.nn.Linear(2, 1)).weight.placements
    (Replicate(),)
    >>> dist.destroy_process_group()
    """
    mesh = _mesh(device_mesh)
    for name, inner in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, inner, mesh)
        for key, p in inner._parameters.items():
            if p is not None and not isinstance(p, DTensor):
                whole = distribute_tensor(p.detach(), mesh)
                inner._parameters[key] = Parameter(whole, p.requires_grad)
        for key, buffer in inner._buffers.items():
            if buffer is not None and not isinstance(buffer, DTensor):
                inner._buffers[key] = distribute_tensor(buffer, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda own, args: input_fn(own, args, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda own, args, output: output_fn(own, output, mesh))
    return module


__all__ = [
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "ones",
    "rand",
    "randn",
    "zeros",
]
