"""Where results differ from PyTorch's on purpose: record, what the failure says, and why.

Each stands in docs/differences.md too. A failure that none of these explains fails the tests;
`make parity` names those that explain nothing any more.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Difference(NamedTuple):
    """A pattern for names of records, one for failures, and the reason."""

    record: str
    failure: str
    why: str


KNOWN: tuple[Difference, ...] = (
    Difference(r"complex|view_as_complex", r"float16", "complex numbers of halves: NumPy has none"),
    Difference(r"nn\.functional\.soft_margin_loss", r"float16", "computed in float32: no overflow"),
)


def explanation(record: str, failure: str) -> Difference | None:
    """The known difference behind a failure, if there is one."""
    for known in KNOWN:
        if re.fullmatch(known.record, record) and re.search(known.failure, failure):
            return known
    return None
