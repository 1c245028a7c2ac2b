"""``theano.compile.profiling``: how often a function was called, and how long that took."""

from __future__ import annotations

import sys
from typing import Any


class ProfileStats:
    """The calls of a function that was compiled with ``profile=True``: its `profile`.

    Attributes:
        fct_callcount: how many calls there were.
        fct_call_time: how many seconds they took.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dscalar("x")
    >>> f = function([x], x * 2, profile=True)
    >>> f(1.0), f(2.0), f.profile.fct_callcount
    (array(2.), array(4.), 2)
    """

    def __init__(self, message: str | None = None, **options: Any) -> None:
        self.message, self.fct_callcount, self.fct_call_time = message, 0, 0.0

    def note(self, seconds: float) -> None:
        """One more call."""
        self.fct_callcount += 1
        self.fct_call_time += seconds

    def summary(self, file: Any = None, n_ops_to_print: int = 20, n_apply_to_print: int = 20
                ) -> None:  # fmt: skip
        """Print the numbers, to standard error by default; operations are not timed one by one."""
        print(
            f"Function profiling\n==================\n  Message: {self.message}\n"
            f"  Time in {self.fct_callcount} calls to Function.__call__:"
            f" {self.fct_call_time:e}s",
            file=file or sys.stderr,
        )

    print_summary = summary
