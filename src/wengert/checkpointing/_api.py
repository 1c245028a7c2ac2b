"""`checkpoint`, `checkpoint_sequential`, and their settings."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from wengert.autograd.saved.programs import programs
from wengert.checkpointing._recompute import Arguments, Frame, first_run, group
from wengert.checkpointing._reentrant import CheckpointFunction
from wengert.core.generators import default_generator
from wengert.core.signals import contextmanager, without_entry_signals
from wengert.core.tensor import mode
from wengert.nn.modules.container import Sequential

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

_CHECKS = ("default", "none")


class _Settings:
    """Settings of the context managers below, for all checkpoints; None defers to the call."""

    debug: bool | None = None
    early_stop: bool | None = None


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context that sets whether checkpoint errors print all operations; None defers to `debug`.

    >>> from wengert.utils.checkpoint import set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(True):
    ...     pass  # train
    """
    before, _Settings.debug = _Settings.debug, enabled
    try:
        yield
    finally:
        _Settings.debug = before


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A context that sets whether recomputations stop after the last value needed.

    The setting during the forward applies.

    >>> import wengert
    >>> from wengert.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = wengert.ones(2, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(wengert.exp, x, use_reentrant=False)
    >>> y.sum().backward()  # runs exp to its end
    """
    before, _Settings.early_stop = _Settings.early_stop, enable
    try:
        yield
    finally:
        _Settings.early_stop = before


def noop_context_fn() -> Contexts:
    """Return two contexts that do nothing: the default of `context_fn`.

    >>> from wengert.utils.checkpoint import noop_context_fn
    >>> len(noop_context_fn())
    2
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


class GraphExecGroup:
    """A context in which backward calls together recompute each checkpoint at most once.

    Values that a walk recomputed but did not visit are kept for the next one anyway; inside this
    context a walk that would need a second recomputation raises `CheckpointError`.

    >>> from wengert.utils.checkpoint import GraphExecGroup
    >>> with GraphExecGroup():
    ...     pass  # several backward calls over parts of one graph
    """

    def __enter__(self) -> GraphExecGroup:
        if group.current is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {group.current}"
            )
        group.current = self
        return self

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        group.current = None


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function`, keep its arguments instead of its saved values, and rerun it in backward.

    Args:
        function: the function to run; it must do the same both times.
        args: its arguments.
        use_reentrant: True runs a backward inside the backward: gradients for `.backward()`
            without `inputs` and for positional tensors only. False has no such limits.
            None warns and means True.
        context_fn: returns the contexts of the forward and of the recomputation.
        determinism_check: "none" does not compare the two runs.
        debug: print every operation of both runs in a `CheckpointError`.
        early_stop: stop a recomputation after the last value needed.
        kwargs: further arguments of `function`, and ``preserve_rng_state``: whether the second
            run draws the random numbers of the first (default True).

    >>> import wengert
    >>> from wengert.utils.checkpoint import checkpoint
    >>> x = wengert.tensor([1.0, 2.0], requires_grad=True)
    >>> y = checkpoint(lambda t: (t * t).exp().sum(), x, use_reentrant=False)
    >>> y.backward()
    >>> x.grad
    tensor([  5.4366, 218.3926])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly."
            " Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an"
            " exception. use_reentrant=False is recommended, but if you need to preserve the"
            " current default behavior, you can pass use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _without_reentrant(
            function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop
        )
    _refuse_unknown(kwargs)
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    return CheckpointFunction.apply(function, preserve, *args)


def _refuse_unknown(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))


def _without_reentrant(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve_rng_state: bool,
    context_fn: Callable[[], Contexts],
    determinism_check: str,
    debug: bool,
    early_stop: bool,
) -> Any:
    if _Settings.debug is not None:
        debug = _Settings.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if determinism_check not in _CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}"
        )
    forward_context, recompute_context = context_fn()
    if mode.site is None:
        return function(*args, **kwargs)
    usual = context_fn is noop_context_fn and not debug and group.current is None
    part = programs.begin() if usual else None
    frame = Frame(
        function,
        Arguments(args, kwargs, part),
        default_generator.snapshot() if preserve_rng_state else None,
        recompute_context,
        check=determinism_check == "default",
        early_stop=early_stop if _Settings.early_stop is None else _Settings.early_stop,
        debug=debug,
    )
    return first_run(frame, args, kwargs, forward_context, part)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run functions in sequence, in equal segments, all but the last one checkpointed.

    Args:
        functions: a `nn.Sequential`, or a list of modules and functions of one argument.
        segments: the number of segments; the last takes the remainder.
        input: the argument of the first function.
        use_reentrant: as for `checkpoint`.
        kwargs: ``preserve_rng_state``, as for `checkpoint`; ValueError for any other.

    >>> import wengert
    >>> from wengert.utils.checkpoint import checkpoint_sequential
    >>> layers = wengert.nn.Sequential(*[wengert.nn.Linear(4, 4) for _ in range(6)])
    >>> checkpoint_sequential(layers, 3, wengert.ones(2, 4), use_reentrant=False).shape
    torch.Size([2, 4])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be"
            " passed explicitly. In version 2.9 we will raise an exception if use_reentrant is not"
            " passed. use_reentrant=False is recommended, but if you need to preserve the current"
            " default behavior, you can pass use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    _refuse_unknown(kwargs)
    steps = list(functions.children()) if isinstance(functions, Sequential) else functions
    size = len(steps) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            _Segment(steps[start:end]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return _Segment(steps[end:])(input)


class _Segment:
    """Some functions, called in sequence."""

    def __init__(self, functions: Any) -> None:
        self.functions = functions

    def __call__(self, input: Any) -> Any:
        for function in self.functions:
            input = function(input)
        return input
