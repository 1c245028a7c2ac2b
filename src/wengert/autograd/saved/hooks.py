"""Contexts that pack saved tensors: user hooks, `save_on_cpu`, and disabling them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.autograd.saved import packing
from wengert.autograd.saved.packing import Hooks, Pack, Unpack, saver_stack
from wengert.core.signals import call_despite_signals, contextmanager, without_entry_signals
from wengert.core.tensor import Tensor, wrap


class saved_tensors_hooks:  # noqa: N801 (PyTorch's name)
    """A context in which each saved tensor is packed by a hook.

    The result of `pack_hook(tensor)` is stored in place of the tensor. When the tensor is
    needed, `unpack_hook` takes that and returns a tensor of the same shape and values. Of
    nested contexts the innermost applies. Leaves are passed to the hook as they are; an output
    saved by its own operation is passed detached, so that no hook can create a cycle.

    Args:
        pack_hook: called once for each saved tensor, with recording off. RuntimeError if
            it writes to the tensor in place.
        unpack_hook: called whenever a derivative needs the tensor. TypeError if it returns
            something else than a tensor, RuntimeError for another shape.

    >>> import wengert
    >>> from wengert.autograd.graph import saved_tensors_hooks
    >>> x = wengert.tensor([1.0, 2.0], requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t.tolist(), wengert.tensor):
    ...     y = x * x
    >>> y.sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._entered: tuple[Any, ...] = ()  # the saver it is entered as now, and those before that

    def __enter__(self) -> None:
        hooks = Hooks(*packing.callables(self.pack_hook, self.unpack_hook))
        self._entered = hooks, self._entered
        packing.enter_saver(hooks)

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        hooks, self._entered = self._entered
        call_despite_signals(packing.leave_saver, hooks)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """A context that keeps saved tensors in CPU memory, where they are anyway.

    Nothing is copied unless `pin_memory` is set.

    Args:
        pin_memory: keep copies. (There is no pinned memory; PyTorch copies as well.)
        device_type: where PyTorch would look for pinned memory.

    >>> import wengert
    >>> from wengert.autograd.graph import save_on_cpu
    >>> x = wengert.tensor([1.0, 2.0], requires_grad=True)
    >>> with save_on_cpu():
    ...     y = x.exp()
    >>> y.sum().backward()
    >>> x.grad
    tensor([2.7183, 7.3891])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(_copied if pin_memory else _same, _same)


def _copied(tensor: Tensor) -> Tensor:
    return wrap(tensor._array.copy(order="K"))


def _same(tensor: Tensor) -> Tensor:
    return tensor


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A context in which entering a context of hooks raises RuntimeError with your message.

    Entering this one inside such a context raises it, too.

    >>> import wengert
    >>> from wengert.autograd.graph import disable_saved_tensors_hooks, save_on_cpu
    >>> with disable_saved_tensors_hooks("saved tensors stay where they are here"):
    ...     with save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    ...
    RuntimeError: saved tensors stay where they are here
    """
    if not isinstance(error_message, str):
        raise TypeError(
            f"disable_saved_tensors_hooks(): argument 'error_message' must be str, not"
            f" {type(error_message).__name__}"
        )
    if saver_stack.entries:
        raise RuntimeError(error_message)
    before = saver_stack.refusal
    saver_stack.refusal = error_message
    try:
        yield
    finally:
        saver_stack.refusal = before
