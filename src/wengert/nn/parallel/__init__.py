"""Modules over several devices, of which there is one CPU, and over several processes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from wengert.nn.module import Module


class DataParallel(Module):
    """Calls the wrapped module: there is only one device.

    The keys of its state begin with ``module.``, as in PyTorch.

    Args:
        module: the module.
        device_ids: without effect.
        output_device: without effect.
        dim: the dimension of samples.

    >>> import wengert
    >>> net = wengert.nn.DataParallel(wengert.nn.Linear(2, 1))
    >>> list(net.state_dict())
    ['module.weight', 'module.bias']
    >>> net(wengert.ones(3, 2)).shape
    torch.Size([3, 1])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """Call a module: there is only one device.

    Args:
        module: the module.
        inputs: its arguments: a tuple, or a single argument.
        device_ids: without effect.
        output_device: without effect.
        dim: the dimension of samples.
        module_kwargs: its keyword arguments.

    >>> import wengert
    >>> wengert.nn.parallel.data_parallel(wengert.nn.ReLU(), wengert.ones(2))
    tensor([1., 1.])
    """
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*arguments, **(module_kwargs or {}))


def __getattr__(name: str) -> Any:
    # It stands on process groups, a layer above.
    if name != "DistributedDataParallel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("wengert.distributed.data_parallel").DistributedDataParallel


__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
