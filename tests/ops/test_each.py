"""Running a test for every row."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.ops.each import each

ROWS = [SimpleNamespace(name="add", n=1), SimpleNamespace(name="mul", n=2),
        SimpleNamespace(name="add", n=3)]  # fmt: skip
ADDS = ROWS[::2]


def test_rows_of_a_function_run_together() -> None:
    seen = []

    @each(ROWS)
    def test(row: SimpleNamespace) -> None:
        seen.append(row.n)

    (mark,) = test.pytestmark  # type: ignore[attr-defined]
    assert list(mark.kwargs["ids"]) == ["add", "mul"]
    for rows in mark.args[1]:
        test(rows=rows)
    assert seen == [1, 3, 2]


def test_an_error_names_its_row() -> None:
    @each(ROWS)
    def test(row: SimpleNamespace) -> None:
        assert row.n < 2

    with pytest.raises(AssertionError) as caught:
        test(rows=ADDS)
    assert caught.value.__notes__ == ["in the row namespace(name='add', n=3)"]


def test_a_row_that_is_skipped_does_not_skip_the_others() -> None:
    @each(ROWS)
    def test(row: SimpleNamespace) -> None:
        if row.n < 3:
            pytest.skip("small")

    test(rows=ADDS)
    with pytest.raises(pytest.skip.Exception, match="small"):
        test(rows=[ROWS[1]])
