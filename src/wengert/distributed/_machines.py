"""The launchers of several machines agree on who takes part in an attempt."""

from __future__ import annotations

import json
import time
from datetime import timedelta

from wengert.distributed.errors import DistNetworkError
from wengert.distributed.store import Store

_POLL = 0.05


class Machines:
    """The machines of a run, between `least` and `most` of them.

    Each attempt has a list of those that take part. It is closed when all are there, or once
    there are enough and `last_call` has passed: a machine that was lost does not come again.
    """

    def __init__(
        self, store: Store, run_id: str, number: int, least: int, most: int, last_call: float
    ) -> None:
        self.store, self.number, self.least, self.most = store, number, least, most
        self.last_call = last_call
        self._run_id = run_id

    def _key(self, attempt: int, what: object) -> str:
        return f"{self._run_id}/{attempt}/{what}"

    def join(self, attempt: int, ranks: int, limit: timedelta) -> list[tuple[int, int]]:
        """Take part in an attempt with so many ranks; the machines and their ranks, in order.

        DistNetworkError if too few come, or if the others began without this one.
        """
        self.store.set(self._key(attempt, self.number), str(ranks))
        listed, begin, enough = self._key(attempt, "list"), time.monotonic(), 0.0
        while not self.store.check([listed]):
            here = [k for k in range(self.most) if self.store.check([self._key(attempt, k)])]
            now = time.monotonic()
            if len(here) >= self.least:
                enough = enough or now
            elif now - begin > limit.total_seconds():
                seconds = limit.total_seconds()
                raise DistNetworkError(
                    f"{len(here)} of {self.least} machines came within {seconds:.0f} s"
                )
            if len(here) == self.most or (enough and now - enough > self.last_call):
                entries = [(k, int(self.store.get(self._key(attempt, k)))) for k in here]
                self.store.compare_set(listed, "", json.dumps(entries))
            time.sleep(_POLL)
        chosen = [(k, count) for k, count in json.loads(self.store.get(listed))]
        if self.number not in dict(chosen):
            raise DistNetworkError(
                f"machine {self.number} came when the others had begun without it"
            )
        return chosen

    def fail(self, attempt: int) -> None:
        """Tell the others that ranks of an attempt have failed here."""
        self.store.set(self._key(attempt, "failed"), str(self.number))

    def has_failed(self, attempt: int) -> bool:
        """Whether ranks of an attempt have failed on some machine."""
        return self.store.check([self._key(attempt, "failed")])


__all__ = ["Machines"]
