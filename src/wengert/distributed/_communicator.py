"""Rounds of a group's collectives: numbered, compared across ranks, explained if they fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from wengert.core.tensor import getframe, internal
from wengert.distributed._endpoint import Endpoint, ask_status, call
from wengert.distributed._links import LateRankError, Link, Links, LostRankError, Packet
from wengert.distributed.errors import DistBackendError
from wengert.distributed.observers import observers
from wengert.distributed.store import Store
from wengert.multiprocessing import ending

if TYPE_CHECKING:
    from types import FrameType


class Site:
    """The line of the user's from which a collective was called."""

    __slots__ = ("file", "line")

    def __init__(self) -> None:
        frame: FrameType | None = getframe(1)
        while frame is not None and frame.f_code.co_filename in internal:
            frame = frame.f_back
        self.file = "" if frame is None else frame.f_code.co_filename
        self.line = 0 if frame is None else frame.f_lineno

    def __str__(self) -> str:
        return f"{self.file.replace(chr(92), '/').rpartition('/')[2]}:{self.line}"


class Collective:
    """One call of a collective, as the other ranks are told of it."""

    __slots__ = ("label", "name", "number", "signature", "text", "where")

    def __init__(self, name: str, signature: str, number: int, where: Site) -> None:
        self.name, self.signature, self.number, self.where = name, signature, number, where
        self.label = f"{name} #{number}, {where}"
        self.text = f"{name}\0{signature}\0{where}".encode()

    def agrees_with(self, text: bytes) -> bool:
        """Whether another rank called the same, from whatever line."""
        return text.rpartition(b"\0")[0] == self.text.rpartition(b"\0")[0]


def _described(text: bytes, number: int) -> str:
    name, signature, where = text.decode().split("\0")
    detail = f" ({signature})" if signature else ""
    return f"{name} #{number}{detail}, {where}"


class Communicator:
    """The links of a rank in a group, and the collective that it is in."""

    def __init__(
        self, key: str, ranks: Sequence[int], rank: int, endpoint: Endpoint, seconds: float
    ) -> None:
        self.key, self.ranks, self.rank, self.size = key, tuple(ranks), rank, len(ranks)
        self.seconds = seconds
        self._endpoint = endpoint
        self._addresses: dict[int, dict[str, Any]] = {}
        self._links = Links(rank, self.size, seconds)
        self._current: Collective | None = None
        self._round = 0
        self._inside = False
        self._limit = seconds
        self.sent = 0  # bytes, while somebody observes
        self.failure: str | None = None
        endpoint.status[key] = self

    def connect(self, store: Store) -> None:
        """Meet the other ranks of the group: those below call those above."""
        links = []
        for other, member in enumerate(self.ranks):
            if other == self.rank:
                continue
            address = json.loads(store.get(f"address/{member}"))
            self._addresses[other] = address
            near = address["machine"] == self._own_machine(store)
            if other > self.rank:
                caller = "rounds", self.key, self.rank
                connection = call(address, self._endpoint.token, caller, self.seconds)
            else:
                connection = self._endpoint.take(("rounds", self.key, other), self.seconds)
            links.append(Link(other, connection, near))
        self._links.connect(links)

    def _own_machine(self, store: Store) -> str:
        own = json.loads(store.get(f"address/{self.ranks[self.rank]}"))
        machine: str = own["machine"]
        return machine

    def address_of(self, rank: int) -> dict[str, Any]:
        """Where a rank of the group is."""
        return self._addresses[rank]

    def neighbours(self) -> int:
        """How many ranks of the group this machine has."""
        return 1 + sum(link.near for link in self._links.by_rank.values())

    def begin(self, collective: Collective, seconds: float | None = None) -> None:
        """Enter a collective; DistBackendError if an earlier one has failed."""
        if self.failure is not None:
            raise DistBackendError(f"{collective.label}: the group is broken: {self.failure}")
        self._current, self._round = collective, 0
        self._limit = self.seconds if seconds is None else seconds
        self._inside = True

    def end(self) -> None:
        """Leave the collective."""
        self._inside = False

    def interrupted(self, error: BaseException) -> None:
        """Give up in the middle of a collective: what follows could not be told apart."""
        if self.failure is None and self._round:
            self.give_up(f"{type(error).__name__} in {self._label()}")

    def give_up(self, reason: str) -> None:
        """Tell the others why this rank takes no further part."""
        if self.failure is None:
            self.failure = reason
            self._links.abort(reason)

    def status(self) -> str:
        """What this rank last did, for another that waits for it."""
        return "has called no collective" if self._current is None else (
            f"{'is in' if self._inside else 'last reached'} {self._label()}"
        )  # fmt: skip

    def _label(self) -> str:
        return "" if self._current is None else self._current.label

    def round(
        self, outgoing: Sequence[tuple[int | None, np.ndarray]]
    ) -> dict[int, list[np.ndarray]]:
        """Send arrays, each to one rank or (None) to all; return what each rank sent here."""
        collective = self._current
        assert collective is not None
        if observers:
            others = self.size - 1
            self.sent += sum([a.nbytes * (others if to is None else 1) for to, a in outgoing])
        text = b"" if self._round else collective.text
        try:
            frames = self._links.exchange(
                collective.number, self._round, text, outgoing, self._limit
            )
        except LateRankError as error:
            self._fail(self._late_text(error.rank), self.ranks[error.rank])
        except LostRankError as error:
            self._fail(self._lost_text(error), self.ranks[error.rank])
        for rank, frame in frames.items():
            self._compare(collective, rank, frame)
        self._round += 1
        return {rank: frame.pieces for rank, frame in frames.items()}

    def _compare(self, collective: Collective, rank: int, frame: Packet) -> None:
        if frame.text:
            self._links.by_rank[rank].heard = _described(frame.text, frame.number)
        same = frame.number == collective.number and frame.round == self._round
        if not same or (frame.text and not collective.agrees_with(frame.text)):
            own = _described(collective.text, collective.number)
            self._fail(
                f"ranks disagree: this rank ({self.ranks[self.rank]}) called {own}; rank"
                f" {self.ranks[rank]} called {self._links.by_rank[rank].heard}"
            )

    def _late_text(self, rank: int) -> str:
        answer = ask_status(self._addresses[rank], self._endpoint.token, self.key)
        return (
            f"{self._label()}; rank {self.ranks[rank]} {answer} (the timeout of {self._limit:g} s"
            " is over)"
        )

    def _lost_text(self, error: LostRankError) -> str:
        rank = self.ranks[error.rank]
        if error.text:
            return f"{self._label()}; rank {rank} gave up: {error.text}"
        heard = self._links.by_rank[error.rank].heard
        address = self._addresses[error.rank]
        last = f"last reached {heard}" if heard else "had called no collective"
        return (
            f"{self._label()}; rank {rank} is gone (process {address['pid']} on"
            f" {address['name']}); it {last}"
        )

    def _fail(self, text: str, rank: int | None = None) -> NoReturn:
        self.give_up(text)
        raise DistBackendError(text, rank) from None

    def close(self) -> None:
        """Hang up."""
        self.failure = self.failure or "the group has been destroyed"
        self._links.close()


def exception_text(error: BaseException) -> str:
    """An exception as other ranks are told of it: what, and at which line."""
    trace = error.__traceback__
    where = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename not in internal:
            where = f", {code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"it raised {type(error).__name__}: {error}{where}"


def tell_of_exceptions(communicators: Any) -> Any:
    """Let the groups' other ranks know of an exception that ends this process; returns an undo."""
    before = sys.excepthook

    def tell(error: BaseException) -> None:
        for communicator in communicators():
            communicator.give_up(exception_text(error))

    def hook(kind: Any, error: Any, trace: Any) -> None:
        tell(error)
        before(kind, error, trace)

    sys.excepthook = hook
    ending.append(tell)

    def undo() -> None:
        ending.remove(tell)
        if sys.excepthook is hook:
            sys.excepthook = before

    return undo


__all__ = ["Collective", "Communicator", "Site"]
