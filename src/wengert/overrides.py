"""``torch.overrides``: whose implementation runs when a function of the library is called.

A class answers for its instances by a classmethod `__torch_function__(func, types, args, kwargs)`:
a subclass of Tensor, or any other class. A `TorchFunctionMode` answers for every call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from typing import Any

from wengert.core.fronts import (
    PublicFunction,
    arm_for_classes,
    arm_for_mode,
    disarm_for_mode,
    public_functions,
)
from wengert.core.overriding import (
    DisableTorchFunction as DisableTorchFunction,
)
from wengert.core.overriding import (
    DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
)
from wengert.core.overriding import answering, ask, asked_modes, overriding
from wengert.core.overriding import (
    disabled_torch_function_impl as _disabled_torch_function_impl,  # noqa: F401 (PyTorch's name)
)
from wengert.core.tensor import Tensor, unconverted

Function = Callable[..., Any]

# Who imports this module means to use it.
arm_for_classes()


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether somebody answers for a call with these arguments: a class of theirs, or a mode.

    >>> import wengert.overrides
    >>> wengert.overrides.has_torch_function((wengert.ones(1),))
    False
    """
    if overriding.off:
        return False
    return bool(asked_modes() or (not overriding.subclasses_off and answering(relevant_args)))


def has_torch_function_unary(obj: Any) -> bool:
    """As `has_torch_function`, of one argument.

    >>> import wengert.overrides
    >>> wengert.overrides.has_torch_function_unary(3)
    False
    """
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """As `has_torch_function`, of arguments one by one.

    >>> import wengert.overrides
    >>> wengert.overrides.has_torch_function_variadic(1, 2)
    False
    """
    return has_torch_function(args)


def handle_torch_function(
    public_api: Function, relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What a mode or one of the relevant arguments answers in the place of a function.

    For functions outside of the library; TypeError if nobody answers.

    >>> from wengert.overrides import handle_torch_function, has_torch_function
    >>> class Meters:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of Meters"
    >>> def area(x):
    ...     if has_torch_function((x,)):
    ...         return handle_torch_function(area, (x,), x)
    ...     return x * x
    >>> area(Meters())
    'area of Meters'
    """
    name = f"{public_api.__module__}.{public_api.__name__}"
    asked = [] if overriding.subclasses_off else answering(relevant_args)
    public = public_functions.get(public_api)
    return ask(public_api, name if public is None else public.name, asked, args, kwargs)


def wrap_torch_function(dispatcher: Function) -> Callable[[Function], Function]:
    """Make a function one for which its arguments may answer; `dispatcher` says which of them.

    >>> import wengert.overrides
    >>> @wengert.overrides.wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return x + x
    >>> double(2)
    4
    """

    def decorate(func: Function) -> Function:
        @wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


class TorchFunctionMode:
    """A context in which the calls of public functions go to `__torch_function__` of the mode.

    Inside of it the mode is off, so that it may call the function. Modes nest; each counts for
    the thread that entered it.

    >>> import wengert
    >>> class Log(wengert.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     x = wengert.tanh(wengert.ones(2))
    ones
    tanh
    """

    inner: TorchFunctionMode

    def __init__(self) -> None:
        """A mode without state; subclasses may have some."""

    def __torch_function__(
        self, func: Function, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} has no __torch_function__: define the method that answers"
        )

    def __enter__(self) -> TorchFunctionMode:
        arm_for_mode()
        overriding.modes.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        overriding.modes.pop()
        disarm_for_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """A new mode, to be entered by `with`."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls the function.

    >>> import wengert
    >>> with wengert.overrides.BaseTorchFunctionMode():
    ...     wengert.ones(2)
    tensor([1., 1.])
    """

    def __torch_function__(
        self, func: Function, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The modes of this thread, the innermost last."""
    return [*overriding.modes]


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The innermost mode of this thread."""
    return overriding.modes[-1] if overriding.modes else None


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A context in which arguments and modes are asked again, inside of an implementation.

    >>> import wengert
    >>> with wengert.overrides.enable_reentrant_dispatch():
    ...     wengert.ones(1)
    tensor([1.])
    """
    before = overriding.off, overriding.subclasses_off
    overriding.off = overriding.subclasses_off = False
    try:
        yield
    finally:
        overriding.off, overriding.subclasses_off = before


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor, or says that it may stand for one.

    >>> import wengert.overrides
    >>> wengert.overrides.is_tensor_like(wengert.ones(1))
    True
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


# Where public functions are; those of namespaces that are loaded late enter the table then.
_NAMESPACES = {
    "torch": "wengert",
    "torch.autograd": "wengert.autograd",
    "torch.fft": "wengert.fft",
    "torch.linalg": "wengert.linalg",
    "torch.nn.functional": "wengert.nn.functional",
    "torch.nn.init": "wengert.nn.init",
    "torch.special": "wengert.special",
}


def published_functions() -> list[PublicFunction]:
    """All public functions, properties among them, with the names that they have.

    >>> import wengert
    >>> any(f.name == "torch.tanh" for f in wengert.overrides.published_functions())
    True
    """
    for module in (*_NAMESPACES.values(), "wengert.nn._forms"):
        import_module(module)
    return [*public_functions.values()]


def _made_of_no_tensor(public: PublicFunction) -> bool:
    """Whether only modes answer for a function: it takes no tensor."""
    return public.function.__module__ in ("wengert.tensor.ranges", "wengert.tensor.windows") or (
        public.function.__module__ in ("wengert.tensor.creation", "wengert.tensor.random")
        and not public.name.endswith("_like")
    )


@cache
def get_overridable_functions() -> dict[Any, list[Function]]:
    """The functions for which arguments may answer, by namespace or class.

    >>> import wengert
    >>> wengert.tanh in wengert.overrides.get_overridable_functions()[wengert]
    True
    """
    by_namespace: dict[Any, list[Function]] = {}
    for public in published_functions():
        if _made_of_no_tensor(public):
            continue
        prefix = public.name.rpartition(".")[0]
        if prefix.startswith("torch.Tensor"):
            namespace: Any = Tensor
        else:
            namespace = import_module(_NAMESPACES[prefix])
        by_namespace.setdefault(namespace, []).append(public.func)
    for name, method in vars(Tensor).items():
        if name[0] != "_" and method in public_functions and method not in by_namespace[Tensor]:
            by_namespace[Tensor].append(method)
    return by_namespace


@cache
def get_ignored_functions() -> set[Function]:
    """Functions that take no tensor, for which no argument answers.

    >>> import wengert
    >>> wengert.ones in wengert.overrides.get_ignored_functions()
    True
    """
    names = (
        "from_numpy", "get_default_dtype", "get_rng_state", "initial_seed", "is_grad_enabled",
        "is_storage", "load", "manual_seed", "save", "set_default_device", "set_default_dtype",
        "set_printoptions", "set_rng_state",
    )  # fmt: skip
    library = import_module("wengert")
    ignored = {public.function for public in published_functions() if _made_of_no_tensor(public)}
    return ignored | {getattr(library, name) for name in names} | {Tensor.as_subclass, Tensor.new}


@cache
def get_testing_overrides() -> dict[Function, Function]:
    """For each overridable function one with the same arguments that returns -1.

    >>> import wengert
    >>> wengert.overrides.get_testing_overrides()[wengert.add](1, 2)
    -1
    """
    return {
        func: _returning_minus_one(func)
        for functions in get_overridable_functions().values()
        for func in functions
    }


def _returning_minus_one(func: Function) -> Function:
    def stand_in(*args: Any, **kwargs: Any) -> int:
        return -1

    if func in public_functions:
        stand_in.__signature__ = inspect.signature(func)  # type: ignore[attr-defined]
    return stand_in


def get_default_nowrap_functions() -> set[Function]:
    """Functions whose results `Tensor.__torch_function__` leaves as they are.

    >>> import wengert
    >>> wengert.Tensor.grad.__get__ in wengert.overrides.get_default_nowrap_functions()
    True
    """
    return unconverted


@cache
def _names() -> dict[Function, str]:
    return {public.func: public.name for public in reversed(published_functions())}


def resolve_name(f: Function) -> str | None:
    """Where a function stands, such as ``torch.Tensor.shape.__get__``; None of others.

    >>> import wengert
    >>> wengert.overrides.resolve_name(wengert.nn.functional.linear)
    'torch.nn.functional.linear'
    """
    return _names().get(f)


def is_tensor_method_or_property(func: Function) -> bool:
    """Whether a function is a method of Tensor, or reads or writes an attribute.

    >>> import wengert
    >>> wengert.overrides.is_tensor_method_or_property(wengert.Tensor.shape.__get__)
    True
    """
    return func.__name__ == "__get__" or func in get_overridable_functions()[Tensor]


def redispatch_function(func: Function, types: Any, args: Any, kwargs: Any) -> Any:
    """Call a function whose arguments are not asked, modes further out are.

    >>> import wengert
    >>> wengert.overrides.redispatch_function(wengert.tanh, (), (wengert.zeros(1),), {})
    tensor([0.])
    """
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))
