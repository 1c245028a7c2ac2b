"""A version that compares by its numbers."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any


def _release(version: Any) -> tuple[int, ...]:
    """The numbers of a release: (2, 13) for "2.13.0+cpu"; trailing zeros do not count."""
    if not isinstance(version, str):
        numbers = [int(number) for number in version]
    else:
        match = re.match(r"\d+(\.\d+)*", version)
        if match is None:
            raise ValueError(f"{version!r} is no version")
        numbers = [int(number) for number in match[0].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


class TorchVersion(str):
    """A string that compares with strings and tuples as a version does.

    >>> from wengert.compat._version import TorchVersion
    >>> TorchVersion("2.13.0") >= "2.2", TorchVersion("2.13.0") < (2, 13, 1)
    (True, True)
    """

    __slots__ = ()

    def _compare(self, other: Any, by: Callable[[Any, Any], bool]) -> Any:
        try:
            return by(_release(self), _release(other))
        except (TypeError, ValueError):
            return NotImplemented

    def __eq__(self, other: object) -> Any:
        return self._compare(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compare(other, operator.ne)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, operator.ge)

    __hash__ = str.__hash__
