"""``torch.utils.tensorboard``: the writer of tensorboardX, which needs no TensorFlow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

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


def _of_numbers(add_scalar: Callable[..., Any]) -> Callable[..., Any]:
    """The method, for what PyTorch takes for a number."""

    @functools.wraps(add_scalar)
    def checked(self: Any, tag: str, scalar_value: Any, *args: Any, **kwargs: Any) -> Any:
        if not (np.isscalar(scalar_value) or isinstance(scalar_value, np.ndarray | Tensor)):
            raise NotImplementedError(
                f"add_scalar(scalar_value={scalar_value!r}): expected a number, an array or a"
                f" tensor with one element, not {type(scalar_value)}"
            )
        return add_scalar(self, tag, scalar_value, *args, **kwargs)

    return checked


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
    methods["add_scalar"] = _of_numbers(methods["add_scalar"])
    return type("SummaryWriter", (theirs,), {**methods, "add_graph": _add_graph})


def __getattr__(name: str) -> Any:
    if name == "SummaryWriter":
        return _writer()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
