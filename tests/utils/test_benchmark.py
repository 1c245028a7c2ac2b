"""Timers: what they count, and how it is shown."""

from __future__ import annotations

import pytest

from wengert.utils.benchmark import Compare, Measurement, TaskSpec, Timer, select_unit


def test_timeit_runs_the_statement():
    seen = []
    measured = Timer("f()", globals={"f": lambda: seen.append(1)}, label="calls").timeit(50)
    assert measured.number_per_run == 50
    assert len(seen) == 52  # and two to warm up
    assert measured.median == measured.mean > 0
    assert "calls" in repr(measured)


def test_autoranges_measure_for_a_while():
    blocks = []
    measured = Timer().blocked_autorange(lambda n, t: blocks.append((n, t)), min_run_time=0.01)
    assert sum(t for _, t in blocks) >= 0.01
    assert len(measured.times) == len(blocks)
    adaptive = Timer().adaptive_autorange(threshold=10.0, min_run_time=0.001)
    assert len(adaptive.times) >= 4


def test_statistics():
    measured = Measurement(2, [8.0, 2.0, 4.0, 6.0], TaskSpec("x", "pass", label="a", sub_label="b"))
    assert measured.times == [1.0, 2.0, 3.0, 4.0]
    assert (measured.mean, measured.median, measured.iqr) == (2.5, 2.5, 1.5)
    assert (measured.title, measured.num_threads) == ("a: b", 1)


def test_tables_group():
    def of(sub_label, description, seconds):
        spec = TaskSpec("x", "pass", label="op", sub_label=sub_label, description=description)
        return Measurement(1, [seconds], spec)

    table = Compare([of("small", "old", 2e-6), of("small", "new", 1e-6), of("big", "old", 3e-3)])
    rows = [line.split("|") for line in str(table).splitlines()[1:]]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["", "old", "new"],
        ["small (1 thread)", "2.0", "1.0"],
        ["big (1 thread)", "3000.0", ""],
    ]


def test_units():
    assert [select_unit(t)[0] for t in (2.0, 0.5, 2e-5, 1e-8)] == ["s", "ms", "us", "ns"]


def test_only_python():
    with pytest.raises(ValueError, match="language='c\\+\\+'"):
        Timer(language="c++")
