"""Parameter and Buffer: the tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._core import Tensor, leaf_of, new
from wengert._dtypes import canonical, inexact, of_numpy


class Parameter(Tensor):
    """A tensor that a `Module` trains: assigned to one, it is among its `parameters()`.

    It shares the memory of `data` and is a leaf of the graph.

    >>> import wengert
    >>> wengert.nn.Parameter(wengert.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        self = new(cls)
        self._array = np.empty(0, np.float32) if data is None else _array_of(data, "Parameter")
        self._edge = None
        if requires_grad:
            if self._array.dtype not in inexact:
                raise RuntimeError(
                    "Only Tensors of floating point and complex dtype can require gradients;"
                    f" Parameter() got data of dtype {of_numpy[self._array.dtype]}, which takes"
                    " requires_grad=False"
                )
            self._edge = leaf_of(self)
        return self

    def __init__(self, *args: Any, **options: Any) -> None:
        """All is done in `__new__`; Tensor's own constructor takes other arguments."""

    def __repr__(self) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        known = memo.get(id(self))
        if known is None:
            known = memo[id(self)] = _rebuild(type(self), self._array.copy("K"), self.requires_grad)
        return known

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._array, self.requires_grad)


class Buffer(Tensor):
    """A tensor that belongs to a `Module`'s state and is not trained.

    Args:
        data: the tensor whose memory it shares.
        persistent: whether it is part of the module's `state_dict()`.

    >>> import wengert
    >>> module = wengert.nn.Module()
    >>> module.mean = wengert.nn.Buffer(wengert.zeros(2))
    >>> [name for name, _ in module.named_buffers()]
    ['mean']
    """

    __slots__ = ("persistent",)

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        self = new(cls)
        self._array = np.empty(0, np.float32) if data is None else _array_of(data, "Buffer")
        self._edge = None
        self.persistent = persistent
        if data is not None and data._edge is not None:
            self._edge = leaf_of(self)
        return self

    def __init__(self, *args: Any, **options: Any) -> None:
        """All is done in `__new__`; Tensor's own constructor takes other arguments."""


def _array_of(data: Any, name: str) -> np.ndarray:
    if not isinstance(data, Tensor):
        # AttributeError is what PyTorch raises: it calls data.detach().
        raise AttributeError(
            f"{name}(): argument 'data' must be a Tensor, got {type(data).__name__}, an object"
            " that has no attribute 'detach'"
        )
    return data._array


def _rebuild(cls: type[Parameter], array: np.ndarray, requires_grad: bool) -> Parameter:
    """A parameter around an array: what copies and pickles are made by."""
    self = new(cls)
    self._array = canonical(array)
    self._edge = leaf_of(self) if requires_grad else None
    return self


__all__ = ["Buffer", "Parameter"]
