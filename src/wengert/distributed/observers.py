"""Who watches what ranks exchange: `wengert run --nproc N --report` builds its page from here."""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple, Protocol


class Exchange(NamedTuple):
    """A collective that this rank has taken part in, or a message that it has sent.

    Attributes:
        name: such as ``"all_reduce"``.
        where: ``file:line`` of the call.
        group: what tells its group apart; "" for a message.
        number: which of the group's collectives it is; -1 for a message.
        begin: when this rank entered it, by `time.perf_counter`.
        end: when this rank was done with it.
        sent: the bytes that this rank sent to others.
    """

    name: str
    where: str
    group: str
    number: int
    begin: float
    end: float
    sent: int


class Observer(Protocol):
    """What is told of each exchange, and of each wait for one, in the thread of either."""

    def exchanged(self, exchange: Exchange) -> Any:
        """Called after an exchange, whether or not it succeeded."""

    def waited(self, begin: float, end: float) -> Any:
        """Called after this thread could not go on before an exchange was done."""


observers: list[Observer] = []


def observed_time() -> float:
    """The time; 0 if nobody observes."""
    return perf_counter() if observers else 0.0


def tell_wait(begin: float) -> None:
    """Tell that this thread has waited since some `observed_time`."""
    if begin:
        end = perf_counter()
        for observer in observers:
            observer.waited(begin, end)


def tell_exchange(begin: float, name: str, where: Any, group: str, number: int, sent: int) -> None:
    """Tell of an exchange that began at some `observed_time`; `where` has a file and a line."""
    if begin:
        place = f"{where.file}:{where.line}"
        exchange = Exchange(name, place, group, number, begin, perf_counter(), sent)
        for observer in observers:
            observer.exchanged(exchange)


__all__ = ["Exchange", "Observer", "observed_time", "observers", "tell_exchange", "tell_wait"]
