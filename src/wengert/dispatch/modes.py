"""Modes that see every operation of a thread: `TorchDispatchMode`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.core.dispatching import dispatched, dispatching
from wengert.core.signals import contextmanager
from wengert.dispatch.interception import begin, end


class TorchDispatchMode:
    """A context in which operations go to `__torch_dispatch__` of the mode.

    `__torch_dispatch__(func, types, args, kwargs)` is given each operation that is computed, below
    autograd, those of a backward too; `func` is an overload of ``torch.ops``, such as
    ``aten.mm.default``, and calling it computes the operation. Inside, the mode is off and nothing
    is recorded: gradients are those of the operation. Modes nest; each counts for the thread that
    entered it. `wengert.utils._python_dispatch` has it, as in PyTorch.

    >>> import wengert
    >>> from wengert.utils._python_dispatch import TorchDispatchMode
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = wengert.ones(2, 2, requires_grad=True)
    >>> with Log():
    ...     y = (x @ x).exp()
    aten.mm.default
    aten.exp.default
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise ValueError(
                f"_dispatch_key must be None, but is {_dispatch_key!r}: modes have no keys here"
            )

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """What becomes of an operation; every mode defines it."""
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_dispatch__")

    def __enter__(self) -> Any:
        begin()
        dispatched[:] = [None]
        dispatching.modes.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        if self in dispatching.modes:
            dispatching.modes.remove(self)
            end()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchDispatchMode:
        """A fresh mode, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode is part of a compiler: none is."""
        return False


BaseTorchDispatchMode = TorchDispatchMode


def current_mode() -> TorchDispatchMode | None:
    """The innermost mode of this thread."""
    return dispatching.modes[-1] if dispatching.modes else None


def current_modes() -> list[TorchDispatchMode]:
    """The modes of this thread, outermost first."""
    return [*dispatching.modes]


@contextmanager
def without_modes() -> Iterator[list[TorchDispatchMode]]:
    """A context without the modes of this thread; gives them."""
    modes, dispatching.modes = dispatching.modes, []
    try:
        yield modes
    finally:
        dispatching.modes = modes
