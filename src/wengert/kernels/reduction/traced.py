"""Traced functions of elements whose values are summed in the loop that computes them.

Sums are taken as in `native`: in float32 over at most some dozens of terms per vector
lane, and in float64 between such blocks. Further functions give arrays, in the same loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.kernels.jit.reals import REALS
from wengert.kernels.jit.tracing import BOOL, Traced, UntraceableError
from wengert.kernels.reduction.native import BLOCK, DEEP, LANES

Functions = Sequence[Callable[..., Any]]


class Summing(Traced):
    """The kernels of functions, and of what is summed, for operands of certain kinds."""

    def __init__(self, functions: Functions, summed: Functions, operands: str) -> None:
        super().__init__([*functions, *summed], operands, False, REALS[""])
        if any(self.passed) or self.trace.guards or self.trace.numbers:
            raise UntraceableError("a result that is an operand, or elements that are refused")
        self.given, self.sums = self.results[: len(functions)], self.results[len(functions) :]
        if any(r.dtype == BOOL for r in self.sums):
            raise UntraceableError("a sum of masks")
        self.outputs = self.dtypes[: len(functions)]

    def _head(self, more: Sequence[str]) -> str:
        one = {"s": "f32", **dict.fromkeys("frc", "f32s"), **dict.fromkeys("bRC", "u8s")}
        parts = [f"x{i}: {one[k]}" for i, k in enumerate(self.operands)]
        parts += [
            f"out{i}: {'u8s' if r.dtype == BOOL else 'f32s'}" for i, r in enumerate(self.given)
        ]
        parts += [f"parts{i}: f32s" for i in range(len(self.sums))]
        return f"def summing({', '.join([*parts, *more, 'start: i64', 'stop: i64'])}) -> None:"

    def _of(self, letters: str) -> list[int]:
        return [i for i, k in enumerate(self.operands) if k in letters]

    def _names(self) -> list[str]:
        """Numbers for all elements."""
        return [f"a{i} = x{i}" for i in self._of("s")]

    def _lines(self) -> list[str]:
        """What is computed of each element."""
        return [f"{name} = {text}" for text, name in self.trace.lines.items()]

    def _each(self, template: str) -> list[str]:
        """A line for each sum."""
        return [template.format(i, r.text) for i, r in enumerate(self.sums)]

    def over_all(self) -> str:
        """Over all elements: a sum of each chunk."""
        loads = [f"a{i} = x{i}[i]" for i in self._of("f")]
        loads += [f"a{i} = x{i}[i] != 0" for i in self._of("b")]
        stores = [f"out{i}[i] = {r.text}" for i, r in enumerate(self.given)]
        return _text(
            self._head(["chunk: i64"]),
            [*self._names(), *self._each("whole{0} = f64(0.0)")],
            self._blocks("start", "stop", loads, stores),
            self._each("parts{0}[start // chunk] = f32(whole{0})"),
        )

    def over_rows(self) -> str:
        """Over the last of three dimensions: a sum of each row.

        Behind the arrays come the strides of operands in the first two, and the last two sizes.
        """
        strided = self._of("rcRC")
        more = [f"{name}{i}: i64" for i in strided for name in ("u", "v")]
        places = ["o = row // middle", "m = row % middle"]
        places += self._rows(strided)
        places += [f"q{i} = at(out{i}, row * width)" for i in range(len(self.given))]
        body = [
            *places,
            *self._each("whole{0} = f64(0.0)"),
            *self._blocks("0", "width", self._loads(), self._stores()),
            *self._each("parts{0}[row] = f32(whole{0})"),
        ]
        return _text(
            self._head([*more, "middle: i64", "width: i64"]), self._names(),
            ["for row in range(start, stop):", *_in(body)],
        )  # fmt: skip

    def _rows(self, strided: Sequence[int], more: str = "") -> list[str]:
        """Where the rows of operands begin at (o, m), and the operands that are constant there."""
        lines = list[str]()
        for i in strided:
            place = f"o * u{i} + m * v{i}"
            lines.append(
                f"p{i} = at(x{i}, {place}{more})" if self.operands[i] in "rR"
                else f"a{i} = {self._loaded(f'x{i}[{place}]', self.operands[i])}"
            )  # fmt: skip
        return lines

    def _loads(self) -> list[str]:
        """The elements of rows."""
        rows = self._of("rR")
        return [f"a{i} = {self._loaded(f'p{i}[i]', self.operands[i])}" for i in rows]

    def _stores(self) -> list[str]:
        """The elements of results."""
        return [f"q{i}[i] = {r.text}" for i, r in enumerate(self.given)]

    def _blocks(self, first: str, last: str, loads: list[str], stores: list[str]) -> list[str]:
        """The loop over elements of a row, in blocks."""
        inner = [*loads, *self._lines(), *stores, *self._each("sum{0} += {1}")]
        block = [
            *self._each("sum{0} = 0.0"),
            f"for i in range(first, min(first + {BLOCK}, {last})):", *_in(inner),
            *self._each("whole{0} += f64(sum{0})"),
        ]  # fmt: skip
        return [f"for first in range({first}, {last}, {BLOCK}):", *_in(block)]

    def over_columns(self) -> str:
        """Over the middle of three dimensions, `high` of its rows at a time: a sum of each column.

        Of each operand there are the strides in the first two dimensions.
        """
        strided = self._of("rcRC")
        more = [f"{name}{i}: i64" for i in strided for name in ("u", "v")]
        places = [f"q{i} = at(out{i}, (o * n + m) * inner + column)"
                  for i in range(len(self.given))]  # fmt: skip
        places += self._rows(strided, " + column")
        inner = [
            *self._loads(), *self._lines(), *self._stores(),
            *self._each("sum{0}[i] = sum{0}[i] + {1}"),
        ]  # fmt: skip
        rows = [*places, "for i in range(lanes):", *_in(inner)]
        block = [
            "for i in range(lanes):", *_in(self._each("sum{0}[i] = 0.0")),
            f"for m in range(first, min(first + {DEEP}, bottom)):", *_in(rows),
            "for i in range(lanes):",
            *_in(self._each("whole{0}[i] = whole{0}[i] + f64(sum{0}[i])")),
        ]  # fmt: skip
        column = [
            f"lanes = min({LANES}, inner - column)",
            "for i in range(lanes):", *_in(self._each("whole{0}[i] = 0.0")),
            f"for first in range(top, bottom, {DEEP}):", *_in(block),
            *self._each("y{0} = at(parts{0}, task * inner + column)"),
            "for i in range(lanes):", *_in(self._each("y{0}[i] = f32(whole{0}[i])")),
        ]  # fmt: skip
        task = [
            "o = task // pieces", "top = task % pieces * high", "bottom = min(n, top + high)",
            f"for column in range(0, inner, {LANES}):", *_in(column),
        ]  # fmt: skip
        local = [
            *self._each(f"sum{{0}} = local(f32, {LANES})"),
            *self._each(f"whole{{0}} = local(f64, {LANES})"),
        ]
        return _text(
            self._head([*more, "n: i64", "inner: i64", "high: i64", "pieces: i64"]),
            [*self._names(), *local], ["for task in range(start, stop):", *_in(task)],
        )  # fmt: skip


def _in(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]


def _text(head: str, *lines: Sequence[str]) -> str:
    return "\n".join([head, *_in([line for group in lines for line in group])]) + "\n"
