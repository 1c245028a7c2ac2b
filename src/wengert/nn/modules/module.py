"""PyTorch's location of Module, and hooks for all modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.hooks import RemovableHandle, add_hook
from wengert.nn.module import Module as Module
from wengert.nn.module.call import Everywhere, everywhere
from wengert.nn.module.state import _IncompatibleKeys as _IncompatibleKeys
from wengert.nn.module.tree import registering


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before each forward of any module.

    >>> import wengert
    >>> from wengert.nn.modules.module import register_module_forward_pre_hook
    >>> with register_module_forward_pre_hook(lambda module, args: print(module)):
    ...     y = wengert.nn.ReLU()(wengert.ones(1))
    ReLU()
    """
    return add_hook(everywhere, Everywhere("_forward_pre_hooks", hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after each forward of any module.

    Args:
        hook: with `with_kwargs`, it is called as `hook(module, args, kwargs, output)`.
        with_kwargs: pass the keyword arguments as well.
        always_call: also run if forward raised (`output` is then None).

    >>> import wengert
    >>> from wengert.nn.modules.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: output + 1):
    ...     wengert.nn.ReLU()(wengert.ones(1))
    tensor([2.])
    """
    return add_hook(everywhere, Everywhere("_forward_hooks", hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of any module.

    >>> import wengert
    >>> from wengert.nn.modules.module import register_module_full_backward_pre_hook
    >>> x = wengert.ones(1, requires_grad=True)
    >>> with register_module_full_backward_pre_hook(lambda module, grads: print(grads)):
    ...     wengert.nn.ReLU()(x).sum().backward()
    (tensor([1.]),)
    """
    return add_hook(everywhere, Everywhere("_backward_pre_hooks", hook))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when a module's gradients are known.

    >>> import wengert
    >>> from wengert.nn.modules.module import register_module_full_backward_hook
    >>> x = wengert.ones(1, requires_grad=True)
    >>> with register_module_full_backward_hook(lambda module, inputs, outputs: print(inputs)):
    ...     wengert.nn.ReLU()(x).sum().backward()
    (tensor([1.]),)
    """
    _refuse_beside("_node_hooks")
    return add_hook(everywhere, Everywhere("_backward_hooks", hook))


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` in the backward of any module's last node.

    RuntimeError while there are hooks of `register_module_full_backward_hook`, which see more.

    >>> import wengert
    >>> from wengert.nn.modules.module import register_module_backward_hook
    >>> relu, x = wengert.nn.ReLU(), wengert.ones(1, requires_grad=True) * 2
    >>> with register_module_backward_hook(lambda module, inputs, outputs: print(inputs)):
    ...     relu(x).sum().backward()
    (tensor([1.]),)
    """
    _refuse_beside("_backward_hooks")
    return add_hook(everywhere, Everywhere("_node_hooks", hook))


def _refuse_beside(kind: str) -> None:
    if any(every.kind == kind for every in everywhere.values()):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module"
            " hook. Please use only one of them: remove() those of the other kind"
        )


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when any module gets a buffer; it may replace it.

    >>> import wengert
    >>> from wengert.nn.modules.module import register_module_buffer_registration_hook
    >>> with register_module_buffer_registration_hook(lambda module, name, value: print(name)):
    ...     norm = wengert.nn.BatchNorm1d(2)
    running_mean
    running_var
    num_batches_tracked
    """
    return add_hook(registering["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when any module gets a submodule; it may replace it.

    >>> import wengert
    >>> from wengert.nn.modules.module import register_module_module_registration_hook
    >>> with register_module_module_registration_hook(lambda module, name, value: print(value)):
    ...     net = wengert.nn.Sequential(wengert.nn.ReLU())
    ReLU()
    """
    return add_hook(registering["module"], hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, param)` when any module gets a parameter; it may replace it.

    >>> import wengert
    >>> from wengert.nn.modules.module import register_module_parameter_registration_hook
    >>> with register_module_parameter_registration_hook(lambda module, name, value: print(name)):
    ...     layer = wengert.nn.Linear(2, 1)
    weight
    bias
    """
    return add_hook(registering["parameter"], hook)


__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
