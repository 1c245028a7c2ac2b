"""Blocks that end as a whole: a signal at the edge of a `with` leaves nothing as it was inside.

Python looks for signals when a function begins, after a call of C, and when a loop starts again;
there the exception of their handler comes up, KeyboardInterrupt for Ctrl-C. What is to happen as
a whole has none of these inside. An `__enter__` makes its calls first and then changes the state,
without one, up to its end. An `__exit__` that began with a look would often end there: a signal
that came in the block is mostly seen when the next function begins.
"""

from __future__ import annotations

import contextlib
import functools
import opcode
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_RESUME = opcode.opmap.get("RESUME")
# The argument with which the first instruction does not look for signals: it says that the frame
# goes on after a `yield from`.
_GOES_ON = 2


def heedless(function: Callable[P, T]) -> Callable[P, T]:
    """The function, beginning without a look for signals."""
    changed: Any = function
    code = bytearray(changed.__code__.co_code)
    for at in range(0, len(code), 2):
        if code[at] == _RESUME:
            code[at + 1] = _GOES_ON
            changed.__code__ = changed.__code__.replace(co_code=bytes(code))
            break
    return function


@heedless
def surely(function: Callable[..., Any], *args: Any) -> None:
    """Call what puts a state back, which may be called twice: again, if a signal came meanwhile."""
    try:
        function(*args)
    except BaseException:
        function(*args)
        raise


class _Block(contextlib._GeneratorContextManager[T]):
    """A context from a generator, which ends with its block."""

    def __enter__(self) -> T:
        try:
            return super().__enter__()
        except BaseException:
            self.gen.close()  # if it had begun
            raise

    @heedless
    def __exit__(self, *exception: Any) -> bool | None:
        try:
            return super().__exit__(*exception)
        finally:
            self.gen.close()  # if it has not ended


def contextmanager(
    function: Callable[P, Iterator[T]],
) -> Callable[P, contextlib._GeneratorContextManager[T]]:
    """`contextlib.contextmanager` whose contexts end when a signal comes at an edge of the block.

    What the generator does behind its `yield` has to be without calls, or done by `surely`.
    """

    @functools.wraps(function)
    def block(*args: P.args, **kwargs: P.kwargs) -> contextlib._GeneratorContextManager[T]:
        return _Block(function, args, kwargs)  # type: ignore[arg-type]  # a generator is meant

    return block
