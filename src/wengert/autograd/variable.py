"""``torch.autograd.Variable``: the pre-0.4 name of a tensor in the graph."""

from __future__ import annotations

from typing import Any

from wengert.autograd._final_callbacks import queue_callback
from wengert.core.messages import warn
from wengert.core.tensor import Tensor, wrap


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class _ExecutionEngine:
    """What packages call on PyTorch's engine."""

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=_VariableMeta):
    """The old name of a tensor; calling it returns one with the same memory, outside any graph.

    >>> import wengert
    >>> from wengert.autograd import Variable
    >>> x = Variable(wengert.ones(2), requires_grad=True)
    >>> x.is_leaf, isinstance(x, Variable)
    (True, True)
    """

    _execution_engine = _ExecutionEngine()

    def __new__(
        cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None
    ) -> Any:
        """A tensor that shares the memory of `data`."""
        if volatile is not None:
            _check_volatile(volatile, requires_grad)
        if data is None:
            return Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        result = wrap(data._array)
        if requires_grad:
            result.requires_grad_()
        return result


def _check_volatile(volatile: bool, requires_grad: bool) -> None:
    if volatile:
        warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
    if volatile and requires_grad:
        raise ValueError("Variable can't be volatile and require_grad at the same time!")


def variable(*args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError: use `wengert.tensor` to create tensors.

    >>> import wengert
    >>> try:
    ...     wengert.autograd.variable([1.0])
    ... except RuntimeError as error:
    ...     print(error)
    torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead
    """
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


# The function hides this module; programs that `fx` writes look for the class here all the same.
variable.Variable = Variable  # type: ignore[attr-defined]

__all__ = ["Variable", "variable"]
