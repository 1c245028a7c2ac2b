"""Contexts that always restore their state, even if a signal arrives at the edge of a `with`.

Python checks for signals when a function begins, after a call into C, and at each turn of a loop;
there the handler's exception is raised, KeyboardInterrupt for Ctrl-C. Code that must be atomic
contains none of these. An `__enter__` makes its calls first and then changes the state without
any. An `__exit__` must not begin with a check: most signals that arrive within a block are noticed
when the next function begins, and the `__exit__` would end there.
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
# The argument that makes the first instruction skip the check for signals: it says that the frame
# resumes after a `yield from`.
_GOES_ON = 2


def without_entry_signals(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function without the signal check at its beginning."""
    changed: Any = function
    code = bytearray(changed.__code__.co_code)
    for at in range(0, len(code), 2):
        if code[at] == _RESUME:
            code[at + 1] = _GOES_ON
            changed.__code__ = changed.__code__.replace(co_code=bytes(code))
            break
    return function


@without_entry_signals
def call_despite_signals(function: Callable[..., Any], *args: Any) -> None:
    """Call an idempotent restore function, and call it again if a signal interrupted it."""
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

    @without_entry_signals
    def __exit__(self, *exception: Any) -> bool | None:
        try:
            return super().__exit__(*exception)
        finally:
            self.gen.close()  # if it has not ended


def contextmanager(
    function: Callable[P, Iterator[T]],
) -> Callable[P, contextlib._GeneratorContextManager[T]]:
    """`contextlib.contextmanager` whose contexts end even if a signal hits an edge of the block.

    The generator's code after its `yield` must make no calls, except through
    `call_despite_signals`.
    """

    @functools.wraps(function)
    def block(*args: P.args, **kwargs: P.kwargs) -> contextlib._GeneratorContextManager[T]:
        return _Block(function, args, kwargs)  # type: ignore[arg-type]  # a generator is meant

    return block
