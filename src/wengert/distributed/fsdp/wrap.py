"""Which submodules are wrapped: policies for ``auto_wrap_policy``.

A policy is asked ``policy(module=, recurse=, nonwrapped_numel=)``: with ``recurse=True`` whether to
look into a module, otherwise whether to wrap it, with the number of elements not yet wrapped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from wengert.nn import Module, ModuleDict, ModuleList, MultiheadAttention


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """True.

    >>> from wengert.distributed.fsdp.wrap import always_wrap_policy
    >>> always_wrap_policy(recurse=False)
    True
    """
    return True


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Whether at least so many elements are not wrapped yet.

    Args:
        module: the module.
        recurse: whether to look into it, or to wrap it.
        nonwrapped_numel: the elements of its parameters that are not wrapped.
        min_num_params: the number of elements that is enough.
        force_leaf_modules: classes not to look into; None: `MultiheadAttention`.
        exclude_wrap_modules: classes not to wrap; None: containers, which have no forward.

    >>> import wengert
    >>> from wengert.distributed.fsdp.wrap import size_based_auto_wrap_policy
    >>> size_based_auto_wrap_policy(wengert.nn.Linear(9, 9), False, 90, min_num_params=50)
    True
    """
    leaves = (MultiheadAttention,) if force_leaf_modules is None else tuple(force_leaf_modules)
    excluded = (
        (ModuleList, ModuleDict) if exclude_wrap_modules is None else tuple(exclude_wrap_modules)
    )
    return nonwrapped_numel >= min_num_params and not isinstance(
        module, leaves if recurse else excluded
    )


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Whether a function says so; every module is looked into.

    >>> import wengert
    >>> from wengert.distributed.fsdp.wrap import lambda_auto_wrap_policy
    >>> lambda_auto_wrap_policy(wengert.nn.ReLU(), False, 0, lambda module: False)
    False
    """
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: set[type[Module]],
) -> bool:
    """Whether a module is one of the classes; every module is looked into.

    >>> import wengert
    >>> from wengert.distributed.fsdp.wrap import transformer_auto_wrap_policy
    >>> linear = wengert.nn.Linear(2, 1)
    >>> transformer_auto_wrap_policy(linear, False, 3, transformer_layer_cls={wengert.nn.Linear})
    True
    """
    return recurse or isinstance(module, tuple(transformer_layer_cls))


class ModuleWrapPolicy:
    """Wraps the modules of some classes.

    >>> import wengert
    >>> from wengert.distributed.fsdp.wrap import ModuleWrapPolicy
    >>> ModuleWrapPolicy({wengert.nn.Linear})(wengert.nn.ReLU(), recurse=False)
    False
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = tuple(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        """Whether the module is one of the classes; every module is looked into."""
        return recurse or isinstance(module, self._module_classes)

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({set(self._module_classes)})"


class CustomPolicy:
    """Wraps the modules for which a function says so, or gives arguments of their own.

    >>> from wengert.distributed.fsdp.wrap import CustomPolicy
    >>> policy = CustomPolicy(lambda module: {"mixed_precision": None})
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> Any:
        """What the function says of a module; every module is looked into."""
        return recurse or self._lambda_fn(module)


_wrappers: list[tuple[Any, dict[str, Any]]] = []


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """A block in which `wrap` wraps modules in a class.

    >>> import wengert
    >>> from wengert.distributed.fsdp.wrap import enable_wrap, wrap
    >>> with enable_wrap(wrapper_cls=wengert.nn.Sequential):
    ...     type(wrap(wengert.nn.ReLU())).__name__
    'Sequential'
    """
    _wrappers.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrappers.pop()


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """A module in the class of `enable_wrap`; outside of it, the module.

    >>> import wengert
    >>> from wengert.distributed.fsdp.wrap import wrap
    >>> wrap(wengert.nn.ReLU())
    ReLU()
    """
    if not _wrappers:
        return module
    kind, options = _wrappers[-1]
    wrapped: Module = kind(module, **{**options, **wrap_overrides})
    return wrapped


__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]
