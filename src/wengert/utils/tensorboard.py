"""``torch.utils.tensorboard``: the writer of tensorboardX, which needs no TensorFlow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from wengert.autograd.transforms.tree import map_leaves
from wengert.core.tensor import Tensor


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Tensor) else value


def _of_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, given arrays for tensors: tensorboardX knows those of PyTorch only."""

    @functools.wraps(method)
    def converted(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, *map_leaves(_array, args), **map_leaves(_array, kwargs))

    return converted


def _add_graph(self: Any, *args: Any, **kwargs: Any) -> None:
    raise RuntimeError(
        "SummaryWriter.add_graph needs a traced graph of PyTorch; wengert.graph shows what was"
        " recorded"
    )


@functools.cache
def _writer() -> type:
    try:
        theirs: Any = import_module("tensorboardX").SummaryWriter
    except ModuleNotFoundError:
        raise ImportError(
            "SummaryWriter needs tensorboardX: pip install tensorboardX (and tensorboard, to look"
            " at what it wrote)"
        ) from None
    methods = {n: _of_arrays(m) for n, m in vars(theirs).items() if n.startswith("add_")}
    return type("SummaryWriter", (theirs,), {**methods, "add_graph": _add_graph})


def __getattr__(name: str) -> Any:
    if name == "SummaryWriter":
        return _writer()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
