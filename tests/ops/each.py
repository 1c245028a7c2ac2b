"""One test for all rows of a function: pytest itself takes longer for a test than most rows do."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def each(rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test that takes `row` for these rows, those of one function in one test.

    What a row raises says which one it was. A test is skipped if all its rows are.
    """
    by_name: dict[str, list[Any]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)

    def mark(test: Test) -> Test:
        @functools.wraps(test)
        def together(*args: Any, rows: list[Any], **fixtures: Any) -> None:
            skipped = []
            for row in rows:
                try:
                    test(*args, row=row, **fixtures)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except BaseException as error:
                    error.add_note(f"in the row {row}")
                    raise
            if len(skipped) == len(rows):
                raise skipped[0]

        parameters = inspect.signature(test).parameters.values()
        together.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [p.replace(name="rows") if p.name == "row" else p for p in parameters]
        )
        return pytest.mark.parametrize("rows", by_name.values(), ids=by_name)(together)

    return mark
