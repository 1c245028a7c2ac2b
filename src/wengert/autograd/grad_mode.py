"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled, inference_mode."""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from wengert.core.signals import without_entry_signals
from wengert.core.tensor import Block, RawCut, caller, getframe, inference, inferences, mode


def is_grad_enabled() -> bool:
    """Whether operations on this thread are recorded.

    >>> import wengert
    >>> with wengert.no_grad():
    ...     wengert.is_grad_enabled()
    False
    """
    return mode.site is not None or (inference.block is not None and inference.grad)


class _GradMode:
    """A context that is also a decorator; around a generator it covers each of its steps."""

    enabled: bool
    what: str  # as written in the program

    def __enter__(self) -> None:
        line, before = caller(getframe(1)), is_grad_enabled()
        # No call from here on: a signal would come in between.
        self._before, self._off = before, mode.off
        if inference.block is not None:  # nothing is recorded in any case
            inference.grad = self.enabled
        elif self.enabled:
            mode.site = mode.where
        else:
            mode.off = self.what, *line, None  # lets errors explain why there is no graph
            mode.site = None

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        if inference.block is not None:
            inference.grad, mode.site, mode.off = self._before, None, self._off
        elif self._before:
            mode.site = mode.where
        else:
            mode.site = None
            mode.off = self._off  # the enclosing block has turned recording off

    def _fresh(self) -> _GradMode:
        return type(self)()

    def _around(self, function: Callable[..., Any]) -> _GradMode:
        fresh = self._fresh()
        name = getattr(function, "__name__", type(function).__name__)  # a partial has none
        fresh.what = f"{self.what} around {name}()"
        return fresh

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions: decorate"
                f" {function.__name__}.__init__, which is what is covered",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):
            return _around_generator(self, function)

        @functools.wraps(function)
        def decorated(*args: Any, **options: Any) -> Any:
            with self._around(function):
                return function(*args, **options)

        return decorated


def _around_generator(context: _GradMode, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def decorated(*args: Any, **options: Any) -> Any:
        generator = function(*args, **options)
        step: Callable[[], Any] = functools.partial(next, generator)
        try:
            while True:
                with context._around(function):
                    try:
                        value = step()
                    except StopIteration as end:
                        return end.value
                try:
                    sent = yield value
                    step = functools.partial(generator.send, sent)
                except GeneratorExit:
                    raise
                except BaseException as error:
                    step = functools.partial(generator.throw, error)
        finally:
            with context._fresh():
                generator.close()

    return decorated


class no_grad(_GradMode):  # noqa: N801 (PyTorch's name)
    """Disable recording: outputs do not require grad, whatever the inputs.

    >>> import wengert
    >>> x = wengert.ones(2, requires_grad=True)
    >>> with wengert.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    enabled = False
    what = "no_grad()"

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)

    def __init__(self, orig_func: Callable[..., Any] | None = None) -> None:
        self._before = True


class enable_grad(no_grad):  # noqa: N801
    """Enable recording inside a `no_grad`.

    >>> import wengert
    >>> x = wengert.ones(2, requires_grad=True)
    >>> with wengert.no_grad(), wengert.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    enabled = True
    what = "enable_grad()"


class set_grad_enabled(_GradMode):  # noqa: N801
    """Turn recording on or off by a flag; works as a call or as a context.

    >>> import wengert
    >>> with wengert.set_grad_enabled(False):
    ...     wengert.is_grad_enabled()
    False
    """

    what = "set_grad_enabled(False)"

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not"
                f" {type(mode).__name__}"
            )
        self.enabled = mode
        super().__enter__()

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.enabled})"

    def __enter__(self) -> None:
        before, off = self._before, self._off
        super().__enter__()
        self._before, self._off = before, off

    def _fresh(self) -> _GradMode:
        return set_grad_enabled(self.enabled)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self.__exit__()  # as a decorator it has no effect outside the function
        return super().__call__(function)


def is_inference_mode_enabled() -> bool:
    """Whether `inference_mode` is on in this thread.

    >>> import wengert
    >>> with wengert.inference_mode():
    ...     wengert.is_inference_mode_enabled()
    True
    """
    return inference.block is not None


class inference_mode(_GradMode):  # noqa: N801
    """Like `no_grad`, but tensors made inside can never be part of a graph later on.

    Outside, saving such a tensor for backward, writing to it in place or making it require
    grad raises RuntimeError. Its `clone()` is an ordinary tensor. With `mode=False` operations are
    recorded again, and tensors are ordinary ones.

    >>> import wengert
    >>> with wengert.inference_mode():
    ...     x = wengert.ones(2)
    >>> x.is_inference(), x.clone().is_inference()
    (True, False)
    """

    what = "inference_mode()"

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        self = super().__new__(cls)
        if callable(mode):
            cls.__init__(self)
            return self(mode)
        return self

    def __init__(self, mode: bool | Callable[..., Any] = True) -> None:
        self._wanted = mode if isinstance(mode, bool) else True
        self.enabled = not self._wanted
        self._before = True

    def __enter__(self) -> None:
        cut = self.what, *caller(getframe(1)), None
        before, block = is_grad_enabled(), None
        if self._wanted:
            block = inference.block or _block(cut)
        # No call from here on: a signal would come in between.
        self._outside, self._before, self._off = inference.block, before, mode.off
        inference.block = block
        if block is None:
            mode.site = mode.where
        else:
            inference.grad, mode.site, mode.off = False, None, cut

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        inference.block = self._outside
        _GradMode.__exit__(self)  # not through super(), which is a call into C

    def _fresh(self) -> _GradMode:
        return inference_mode(self._wanted)


def _block(cut: RawCut) -> Block:
    block = Block()
    block.cut = cut
    inferences.add(weakref.ref(block, inferences.discard))
    return block
