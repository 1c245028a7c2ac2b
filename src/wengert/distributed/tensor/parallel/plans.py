"""Which submodules are shared out, and how."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch

from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.tensor.parallel.styles import ParallelStyle
from wengert.distributed.world import default_group
from wengert.nn import Module


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Share a module out among ranks, as a plan says; returns the module.

    Args:
        module: the module; its parameters become those of the first rank.
        device_mesh: a mesh of one dimension; None means all ranks.
        parallelize_plan: a style, or styles by the paths of submodules, in which ``*`` stands for
            any name.
        src_data_rank: without effect.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.tensor import parallel
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> model = wengert.nn.Sequential(wengert.nn.Linear(4, 8), wengert.nn.Linear(8, 2))
    >>> plan = {"0": parallel.ColwiseParallel(), "1": parallel.RowwiseParallel()}
    >>> parallel.parallelize_module(model, None, plan)(wengert.ones(3, 4)).shape
    torch.Size([3, 2])
    >>> dist.destroy_process_group()
    """
    mesh = device_mesh or DeviceMesh.from_group(default_group(), "cpu")
    if mesh.ndim != 1:
        raise ValueError(
            f"parallelize_module(): expected a mesh of one dimension, got {mesh!r}; name one:"
            " device_mesh['tp']"
        )
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so"
            " this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        return parallelize_plan._apply(module, mesh)
    for pattern, style in parallelize_plan.items():
        if not pattern:
            style._apply(module, mesh)
            continue
        found = [inner for name, inner in module.named_modules() if _matches(name, pattern)]
        if not found:
            warnings.warn(
                f"Parallelize plan key '{pattern}' could not be resolved: no submodule matching"
                f" it in module {type(module).__name__}, skipping this plan entry.",
                stacklevel=2,
            )
        for inner in found:
            style._apply(inner, mesh)
    return module


def _matches(name: str, pattern: str) -> bool:
    """Whether a path is of as many names as a pattern, which they match one by one."""
    names, patterns = name.split("."), pattern.split(".")
    return len(names) == len(patterns) and all(map(fnmatch, names, patterns))


__all__ = ["parallelize_module"]
