"""The write log: which later write touched which elements of which memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from wengert.core import storage
from wengert.core.storage import (
    Write,
    address_of,
    before_write,
    before_writes,
    guards,
    line_numbers,
    line_of,
    location_of,
    owner,
    quoted_location,
    source_text,
    stamp,
    stamp_all,
    write_after,
    write_count,
)
from wengert.core.tensor import tick


def here() -> tuple[CodeType, int]:
    """The line that calls."""
    frame = sys._getframe(1)
    return frame.f_code, frame.f_lasti


def write(array: np.ndarray, by: str = "add_") -> None:
    stamp(array, by, *here())


def test_the_owner_of_views_of_views() -> None:
    base = np.zeros((4, 6))
    assert owner(base) is base
    assert owner(base[1:]) is base
    assert owner(base.T[1:, ::2][..., None]) is base


def test_the_owner_beneath_stride_tricks() -> None:
    base = np.arange(6.0)
    windows = np.lib.stride_tricks.as_strided(base[1:], (3, 2), (8, 8))
    assert owner(windows) is base
    assert owner(np.lib.stride_tricks.sliding_window_view(base, 3)) is base
    assert owner(np.broadcast_to(base, (2, 6))) is base


def test_the_owner_of_foreign_memory_is_the_last_array() -> None:
    array = np.frombuffer(bytearray(16), np.float32)
    assert owner(array) is array
    assert owner(array[1:]) is array


def test_nothing_is_noted_of_memory_that_nobody_wrote() -> None:
    array = np.zeros(3)
    assert write_after(array, 0) is None
    assert write_count(array) == 0


def test_a_write_to_all_of_the_memory() -> None:
    array = np.zeros((2, 3))
    before = tick()
    write(array, "mul_")
    after = tick()
    newest = write_after(array[1:], before)
    assert newest is not None
    assert (newest.by, newest.offset, newest.shape, newest.strides) == ("mul_", 0, (2, 3), (24, 8))
    assert newest.dtype == array.dtype
    assert before < newest.clock < after
    assert write_after(array, after) is None


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.reshape(-1),
        lambda a: a.T,
        lambda a: a[:],
        lambda a: a.reshape(4, 1, 2, 3).transpose(2, 1, 0, 3),
    ],
)
def test_a_write_to_a_view_of_it_all(view: Callable[[np.ndarray], np.ndarray]) -> None:
    base = np.zeros((4, 6))
    write(base[1])
    time = tick()
    stamp_all([view(base)], "step()", *here())
    found = write_after(base[3], time)
    assert found is not None
    assert (found.by, found.shape, found.offset) == ("step()", base.shape, 0)
    assert not storage._writes[id(base)].regions


def test_as_many_elements_are_not_all_of_them() -> None:
    """A view with gaps that repeats elements elsewhere leaves some as they were."""
    base = np.zeros(8)
    time = tick()
    write(as_strided(base, (2, 2, 2), (16, 16, 24)))
    assert write_after(base[2:3], time) is not None
    assert write_after(base[1:2], time) is None


def test_the_time_of_a_write_itself_is_not_after_it() -> None:
    array = np.zeros(3)
    write(array)
    assert write_after(array, storage.clock.newest) is None
    assert write_after(array, storage.clock.newest - 1) is not None
    write(array[:2])
    assert write_after(array, storage.clock.newest) is None
    assert write_after(array, storage.clock.newest - 1) is not None


def test_the_line_of_a_write() -> None:
    array = np.zeros(3)
    before = tick()
    write(array)
    newest = write_after(array, before)
    assert newest is not None
    assert source_text(newest.code, newest.lasti) == "stamp(array, by, *here())"
    assert location_of(newest.code, newest.lasti).startswith(__file__)


def halves() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    base = np.zeros(8)
    return base, base[:4], base[4:]


def test_writes_to_other_regions_do_not_count() -> None:
    base, left, right = halves()
    before = tick()
    write(left)
    assert write_after(right, before) is None
    assert write_after(left, before) is not None
    assert write_after(base, before) is not None
    assert write_after(base[3:5], before) is not None


def test_regions_interleave_without_touching() -> None:
    base = np.zeros(8)
    even, odd = base[::2], base[1::2]
    before = tick()
    write(even)
    assert write_after(odd, before) is None
    assert write_after(base[2:3], before) is not None
    assert write_after(base[3:4], before) is None


def test_columns_and_rows() -> None:
    base = np.zeros((5, 7))
    before = tick()
    write(base[:, 2])
    assert write_after(base[:, 3], before) is None
    assert write_after(base[4], before) is not None
    assert write_after(base[4, 3:], before) is None


def test_a_base_in_fortran_order_is_dense() -> None:
    base = np.zeros((4, 5), order="F")
    before = tick()
    write(base[1])
    assert write_after(base[2], before) is None
    assert write_after(base[:, 3], before) is not None


def test_reversed_views() -> None:
    base = np.zeros(8)
    before = tick()
    write(base[3::-1])  # its first element is the fourth
    assert write_after(base[4:], before) is None
    assert write_after(base[:1], before) is not None


def test_the_dtype_of_the_region_counts() -> None:
    base = np.zeros(4, np.float64)
    before = tick()
    write(base.view(np.float32)[2:4])  # the second of the doubles
    assert write_after(base[:1], before) is None
    assert write_after(base[1:2], before) is not None
    assert write_after(base[2:], before) is None


def test_of_several_writes_the_newest_that_touches_is_told() -> None:
    base, left, right = halves()
    before = tick()
    write(left, "first")
    write(right, "second")
    write(base[1:2], "third")
    assert _by(left, before) == "third"
    assert _by(base[:1], before) == "first"
    assert _by(right, before) == "second"


def test_a_region_written_again_is_the_newest() -> None:
    _, left, right = halves()
    before = tick()
    write(left, "first")
    write(right, "second")
    between = tick()
    write(left, "third")
    assert _by(left, before) == "third"
    assert write_after(right, between) is None
    assert write_count(left) == 3


def test_of_overlapping_regions_the_one_written_again_is_the_newest() -> None:
    base, left, _ = halves()
    before = tick()
    write(left, "first")
    write(base[2:6], "second")
    write(left, "third")
    assert _by(base[3:4], before) == "third"


def test_a_write_to_all_replaces_the_regions() -> None:
    base, left, _ = halves()
    before = tick()
    write(left, "part")
    write(base, "whole")
    assert _by(left, before) == "whole"
    assert storage._writes[id(base)].regions == {}


def test_a_region_after_a_write_to_all() -> None:
    base, left, right = halves()
    before = tick()
    write(base, "whole")
    write(left, "part")
    assert _by(left, before) == "part"
    assert _by(right, before) == "whole"


def _by(array: np.ndarray, time: int) -> str:
    newest = write_after(array, time)
    assert newest is not None
    return newest.by


def test_too_many_regions_are_a_write_to_all() -> None:
    base = np.zeros(100)
    before = tick()
    for k in range(storage._MOST_REGIONS):
        write(base[k : k + 1])
    assert write_after(base[50:], before) is None
    write(base[40:41])
    assert write_after(base[50:], before) is not None  # no longer told apart
    assert write_count(base) == storage._MOST_REGIONS + 1
    again = tick()
    write(base[:1])
    assert write_after(base[50:], again) is None


def test_the_same_region_again_does_not_fill_the_log() -> None:
    base = np.zeros(100)
    before = tick()
    for _ in range(3 * storage._MOST_REGIONS):
        write(base[:1])
    assert write_after(base[1:], before) is None


def test_writes_at_once_have_one_time() -> None:
    a, b = np.zeros(3), np.zeros(3)
    before = tick()
    stamp_all((a, b), "step", *here())
    first, second = write_after(a, before), write_after(b, before)
    assert first is not None
    assert second is not None
    assert first.clock == second.clock == storage.clock.newest


def test_an_empty_array_is_never_touched() -> None:
    base = np.zeros(4)
    before = tick()
    write(base)
    assert write_after(base[2:2], before) is None


def test_memory_with_gaps_is_taken_as_touched() -> None:
    # What owns the memory is no dense array: which elements a region has cannot be told.
    base = np.ndarray((2, 2), np.float64, bytearray(64), strides=(32, 8))
    before = tick()
    write(base[0])
    assert write_after(base[1], before) is not None


def test_hard_overlaps_are_taken_as_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    base, left, right = halves()
    before = tick()
    write(left)
    assert write_after(right, before) is None
    assert base.base is None

    def too_hard(*arguments: Any, **options: Any) -> bool:
        raise np.exceptions.TooHardError

    monkeypatch.setattr(np, "shares_memory", too_hard)
    assert write_after(right, before) is not None


def test_the_log_goes_with_the_memory() -> None:
    array = np.zeros(3)
    write(array)
    key = id(array)
    assert key in storage._writes
    view = array[1:]
    del array
    assert key in storage._writes
    del view
    assert key not in storage._writes


def test_the_log_holds_nothing() -> None:
    array = np.zeros(3)
    count = sys.getrefcount(array)
    write(array[:1])
    write(array)
    assert sys.getrefcount(array) == count


@pytest.fixture
def guarded() -> Iterator[list[np.ndarray]]:
    seen: list[np.ndarray] = []
    guards.append(seen.append)
    yield seen
    guards.remove(seen.append)


def test_guards_see_each_array(guarded: list[np.ndarray]) -> None:
    a, b = np.zeros(1), np.zeros(2)
    before_write(a)
    before_writes(iter([b, a]))
    assert [id(x) for x in guarded] == [id(a), id(b), id(a)]


def test_a_guard_may_take_itself_away(guarded: list[np.ndarray]) -> None:
    def leaving(array: np.ndarray) -> None:
        guards.remove(leaving)

    guards.insert(0, leaving)
    a = np.zeros(1)
    before_write(a)
    assert guarded == [a]
    assert leaving not in guards


def test_without_guards_nothing_is_looked_at() -> None:
    def never() -> Iterator[np.ndarray]:
        raise AssertionError
        yield

    assert not guards
    before_writes(never())


def test_the_address_of_views() -> None:
    array = np.zeros((3, 4))
    assert address_of(array[1:, 2:]) - address_of(array) == 8 * (4 + 2)
    assert address_of(array[::-1]) - address_of(array) == 8 * 8


def two_lines() -> Callable[[], int]:
    def function() -> int:
        first = 1
        return first + 1

    return function


def test_lines_of_instructions() -> None:
    code = two_lines().__code__
    first = code.co_firstlineno
    lines = line_numbers(code)
    assert {*lines} == {*range(0, len(code.co_code), 2)}
    assert {*lines.values()} <= {first, first + 1, first + 2}
    assert all(line_of(code, at) == line for at, line in lines.items())
    assert line_of(code, max(lines)) == first + 2
    assert source_text(code, max(lines)) == "return first + 1"
    assert location_of(code, max(lines)) == f"{__file__}:{first + 2}"
    assert quoted_location(code, max(lines)) == f"{__file__}:{first + 2}  return first + 1"


def test_lines_that_cannot_be_read_have_no_text() -> None:
    code = compile("x = 1", "<no such file>", "exec")
    assert source_text(code, 0) == ""
    assert quoted_location(code, 0).endswith(("<no such file>:1", "<no such file>:0"))


class _Shell:
    """What IPython offers of the code of its cells."""

    class compile:  # noqa: N801 (IPython's name)
        @staticmethod
        def format_code_name(file: str) -> tuple[str, str] | None:
            return ("Cell", "In[7]") if file == "/tmp/ipykernel_1/99.py" else None


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("/tmp/ipykernel_1/99.py", "cell [7], line 3"),
        ("<ipython-input-12-abcdef>", "cell [12], line 3"),
        ("model.py", "model.py:3"),
    ],
)
def test_cells_of_notebooks(monkeypatch: pytest.MonkeyPatch, file: str, text: str) -> None:
    class IPython:
        get_ipython = staticmethod(_Shell)

    monkeypatch.setitem(sys.modules, "IPython", IPython)
    assert storage.format_location(file, 3) == text


def test_a_write_compares_by_its_fields() -> None:
    code, lasti = here()
    a = Write(1, code, lasti, "add_", 0, (2,), (8,), np.dtype(np.float64))
    assert a == a._replace(clock=1)
    assert a != a._replace(offset=8)
