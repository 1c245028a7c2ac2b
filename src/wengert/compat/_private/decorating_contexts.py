"""``torch.utils._contextlib``: contexts that are decorators as well."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from wengert.core.messages import warn

Function = Callable[..., Any]


def context_decorator(ctx: Any, func: Function) -> Function:
    """A function that runs in a context; a generator enters it anew for each of its steps.

    Args:
        ctx: the context, or a function that gives one for each call. AssertionError if it could
            be either.
        func: no class: that is a RuntimeError.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(f"ctx is callable and a context, and could be used as both: {ctx}")
    if inspect.isclass(func):
        raise RuntimeError(
            f"Cannot decorate classes: {func.__name__} is one; decorate its methods instead"
        )
    enter: Function = ctx if callable(ctx) else lambda: ctx
    if inspect.isgeneratorfunction(func):
        return _stepwise(enter, func)

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with enter():
            return func(*args, **kwargs)

    return decorated


def _stepwise(enter: Function, func: Function) -> Function:
    """A generator function whose steps run in contexts of their own."""

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        generator = func(*args, **kwargs)
        step, value = generator.send, None
        while True:
            try:
                with enter():
                    value = step(value)
            except StopIteration as end:
                return end.value
            try:
                value = yield value
                step = generator.send
            except GeneratorExit:
                with enter():
                    generator.close()
                raise
            except BaseException:
                step, value = generator.throw, sys.exception()

    return decorated


class _DecoratorContextManager:
    """A base of contexts; around a function, a fresh one (`clone`) for each call."""

    def __call__(self, orig_func: Any) -> Any:
        if not inspect.isclass(orig_func):
            return context_decorator(self.clone, orig_func)
        warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should"
            " only decorate functions or methods.",
            FutureWarning,
        )
        return context_decorator(self.clone, lambda *args, **kwargs: orig_func(*args, **kwargs))

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __enter__()")

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __exit__()")

    def clone(self) -> Any:
        """Another one; a class whose constructor takes arguments defines it."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One whose class decorates functions without being called."""

    def __new__(cls, orig_func: Any = None) -> Any:
        context = super().__new__(cls)
        return context if orig_func is None else context(orig_func)


__all__ = [
    "_DecoratorContextManager",
    "_NoParamDecoratorContextManager",
    "context_decorator",
]
