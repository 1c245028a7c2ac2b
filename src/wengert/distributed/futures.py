"""``torch.futures``: values that arrive later, for programs that also work without them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future as _Waiting
from typing import Any, Generic, TypeVar

from wengert.distributed.observers import observed_time, tell_wait

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that some thread sets, and others wait for.

    >>> from wengert.distributed.futures import Future
    >>> future = Future()
    >>> double = future.then(lambda done: 2 * done.wait())
    >>> future.set_result(3)
    >>> double.wait()
    6
    """

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._waiting: _Waiting[T] = _Waiting()

    def done(self) -> bool:
        """Whether there is a value, or an error."""
        return self._waiting.done()

    def wait(self) -> T:
        """The value, once there is one; raises the error that was set instead."""
        return self.wait_for(None)

    def wait_for(self, seconds: float | None) -> T:
        """The value, as `wait`; RuntimeError if there is none within so many seconds."""
        begin = observed_time()
        try:
            return self._waiting.result(seconds)
        except TimeoutError:
            if self.done():
                raise
            raise RuntimeError(f"not done within {seconds:g} s") from None
        finally:
            tell_wait(begin)

    def value(self) -> T:
        """The value; RuntimeError if there is none yet."""
        if not self.done():
            raise RuntimeError("Future::value() must only be called after the future is completed")
        return self.wait()

    def set_result(self, result: T) -> None:
        """Set the value; RuntimeError if there is one."""
        self._refuse_second()
        self._waiting.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Set the error that waiting raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._refuse_second()
        self._waiting.set_exception(result)

    def _refuse_second(self) -> None:
        if self.done():
            raise RuntimeError("Future can only be marked completed once")

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call a function with this future, once it is done."""
        self._waiting.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """The future of what a function makes of this one, once it is done."""
        following: Future[S] = Future()

        def follow(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self.add_done_callback(follow)
        return following


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of these futures, done when all of them are.

    >>> from wengert.distributed.futures import collect_all
    >>> collect_all([]).wait()
    []
    """
    together: Future[list[Future[Any]]] = Future()
    waiting = set(map(id, futures))

    def check(future: Future[Any]) -> None:
        waiting.discard(id(future))
        if not waiting and not together.done():
            together.set_result(list(futures))

    for future in futures:
        future.add_done_callback(check)
    if not futures:
        together.set_result([])
    return together


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The values of futures; raises the first error among them.

    >>> from wengert.distributed.futures import wait_all
    >>> wait_all([])
    []
    """
    return [future.wait() for future in futures]


__all__ = ["Future", "collect_all", "wait_all"]
