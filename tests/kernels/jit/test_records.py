"""Records: numbers with names, the same in machine code, in Python and where they are filled in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.kernels.jit import Kernel, available, kernel
from wengert.kernels.jit.builtins import at, i64, i64s, inline
from wengert.kernels.jit.language import Unit
from wengert.kernels.jit.machine_types import KernelSyntaxError
from wengert.kernels.jit.records import Record

needs_llvmlite = pytest.mark.skipif(not available(), reason="no llvmlite")


class Line(Record):
    """A kind of which there may be several."""

    first: i64
    stride: i64


class Window(Line):
    """With all fields of a line, and an array."""

    taps: i64
    weights: i64s


@inline
def _element(line: Line, k: i64) -> i64:
    return line.first + k * line.stride


@inline
def _sum(weights: i64s, count: i64) -> i64:
    total = 0
    for k in range(count):
        total += weights[k]
    return total


@kernel
def _everything(window: Window, lines: Line, state: Line, out: i64s, start: i64, stop: i64) -> None:
    """Fields, elements of an array, records of an array, offsets, and what is written."""
    for k in range(start, stop):
        line = at(lines, k)
        out[5 * k] = _element(line, k) + at(lines, 1).first
        out[5 * k + 1] = _element(window, window.taps)
        out[5 * k + 2] = window.weights[window.taps - k] + window.weights[0]
        out[5 * k + 3] = _sum(window.weights, window.taps)
        out[5 * k + 4] = Window.weights
        state.first += window.stride
        state.stride = k


def _arguments() -> tuple[Window, Line, Line, np.ndarray]:
    window = Window(first=10, stride=3, taps=2, weights=(7, 8, 9))
    lines = Line.array([Line(100 * k, k) for k in range(3)])
    return window, lines, Line(1, 1), np.zeros(15, np.int64)


EXPECTED = [100, 16, 16, 15, 3, 201, 16, 15, 15, 3, 304, 16, 14, 15, 3]


@needs_llvmlite
def test_machine_code_reads_and_writes_fields() -> None:
    window, lines, state, out = _arguments()
    _everything.f32(window, lines, state, out, 3, 3)
    assert out.tolist() == EXPECTED
    assert (state.first, state.stride) == (10, 2)


def test_python_reads_and_writes_fields() -> None:
    window, lines, state, out = _arguments()
    _everything.python(window, lines, state, out, 0, 3)
    assert out.tolist() == EXPECTED
    assert (state.first, state.stride) == (10, 2)
    with pytest.raises(IndexError):
        at(lines, 3).first  # noqa: B018


def test_a_record_is_the_array_of_its_numbers() -> None:
    window, lines, _, _ = _arguments()
    assert window.tolist() == [10, 3, 2, 7, 8, 9]
    assert lines.tolist() == [0, 0, 100, 1, 200, 2]
    assert window.dtype == lines.dtype == np.int64
    assert (Line.first, Line.stride, Window.taps) == (0, 1, 2)
    assert Line.array([]).size == 0


@inline
def _element_by_number(line: i64s, k: i64) -> i64:
    return line[0] + k * line[1]


def test_names_cost_nothing() -> None:
    """LLVM is told the same as with the offsets of the fields."""

    @kernel
    def body(window: Window, lines: Line, out: i64s, start: i64, stop: i64) -> None:
        for k in range(start, stop):
            out[k] = window.weights[k] - _element(at(lines, k), window.taps)
            window.taps = window.first

    @kernel
    def body_by_number(window: i64s, lines: i64s, out: i64s, start: i64, stop: i64) -> None:
        for k in range(start, stop):
            out[k] = window[3 + k] - _element_by_number(at(lines, k * 2), window[2])
            window[2] = window[0]

    assert _text(body) == _text(body_by_number).replace("_by_number", "")


def _text(body: Kernel) -> str:
    unit = Unit("f32")
    unit.add(body.python, inline=False)
    return unit.text()


def _refused(body: Any) -> str:
    with pytest.raises(KernelSyntaxError) as raised:
        Unit("f32").add(body.python, inline=False)
    return str(raised.value)


def test_what_a_record_does_not_have_is_refused() -> None:
    @kernel
    def unknown(line: Line, start: i64, stop: i64) -> None:
        line.first = line.last  # type: ignore[attr-defined]

    @kernel
    def element(line: Line, start: i64, stop: i64) -> None:
        line.first = line[1]

    @kernel
    def deeper(line: Line, start: i64, stop: i64) -> None:
        line.first = line.stride[1]  # type: ignore[index]

    @kernel
    def replaced(window: Window, start: i64, stop: i64) -> None:
        window.weights = 3

    @kernel
    def no_record(numbers: i64s, start: i64, stop: i64) -> None:
        numbers[0] = numbers.first

    assert "line 3: Line has no such field: line.last" in _refused(unknown)
    assert "fields, and no elements: line[1]" in _refused(element)
    assert "a number, not an array: line.stride[1]" in _refused(deeper)
    assert "an array, not a number: window.weights" in _refused(replaced)
    assert "not in the subset: numbers.first" in _refused(no_record)


def test_only_a_record_with_the_fields_is_passed_on() -> None:
    @kernel
    def array(numbers: i64s, start: i64, stop: i64) -> None:
        numbers[0] = _element(numbers, 1)

    @kernel
    def many(window: Window, start: i64, stop: i64) -> None:
        window.first = at(window, 1).first

    assert "'line' is a Line" in _refused(array)
    assert "records of unknown length" in _refused(many)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {"first": 1}),
        ((1,), {"first": 1}),
        ((1, 2), {"first": 1}),
        ((1, 2, 3), {}),
        ((), {"first": 1, "last": 2}),
    ],
)
def test_values_are_for_all_fields_and_no_others(values: Any, named: Any) -> None:
    with pytest.raises(TypeError, match="Line is made of first, stride"):
        Line(*values, **named)


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ({"x": "f32"}, "is f32, not i64 or i64s"),
        ({"size": "i64"}, "is an attribute of arrays"),
        ({"x": "i64s", "y": "i64"}, "comes after an array"),
    ],
)
def test_fields_that_cannot_be_are_refused(annotations: dict[str, str], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        type("Other", (Record,), {"__annotations__": annotations, "__module__": __name__})
