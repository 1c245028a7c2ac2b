"""The linear maps of Winograd convolutions, as matrices and as LLVM text.

A correlation of `n = m + r - 1` values with `r` taps has `m` outputs. It is a product of
polynomials seen backwards, and those are known by their values at `n` points, infinity among
them: `out = A^T ((G taps) * (B^T values))`, with `n` products where the sums have `m r`. In two
dimensions the maps apply to the rows and to the columns. With few and small points their
entries are small, and so is the error.

The functions for kernels work on `lanes()` tiles at a time. Rows of an image lie in `m` phases,
the columns `m t + p` for each `p`, so that the same place of adjacent tiles is
contiguous. Counts are rounded up to a multiple of `lanes()`: sources have to be readable
and targets writable for a vector past their last element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from wengert.kernels.jit.builtins import f32s, i64
from wengert.kernels.jit.machine_types import float_text, llvm_type
from wengert.kernels.jit.native import Native
from wengert.kernels.products.microkernel import lanes, tiles

Matrix = tuple[tuple[Fraction, ...], ...]

# The finite points. Using 1/2 instead of 2 makes F(4x4) two to three times as accurate.
_POINTS = {
    4: (Fraction(0), Fraction(1), Fraction(-1)),
    6: (Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-2)),
}


class Maps(NamedTuple):
    """The matrices of F(m, r): of outputs, of taps and of values."""

    outputs: Matrix
    taps: Matrix
    values: Matrix


def _times(a: Sequence[Fraction], root: Fraction) -> list[Fraction]:
    """The polynomial `a` times `(x - root)`, lowest coefficient first."""
    return [
        low - root * high for low, high in zip([Fraction(0), *a], [*a, Fraction(0)], strict=True)
    ]


@cache
def maps(outputs: int, taps: int) -> Maps:
    """The matrices of F(outputs, taps)."""
    size = outputs + taps - 1
    points = _POINTS[size]

    def powers(count: int) -> list[list[Fraction]]:
        """A row for each point: its powers; at infinity the highest counts alone."""
        finite = [[p**i for i in range(count)] for p in points]
        return [*finite, [Fraction(int(i == count - 1)) for i in range(count)]]

    values, scales = [], []
    for j in range(size):
        polynomial, scale = [Fraction(1)], Fraction(1)
        for other in points[:j] + points[j + 1 :]:
            polynomial = _times(polynomial, other)
            if j < len(points):
                scale *= points[j] - other
        values.append(tuple(polynomial + [Fraction(0)] * (size - len(polynomial))))
        scales.append(scale)
    spread = [tuple(x / s for x in row) for row, s in zip(powers(taps), scales, strict=True)]
    return Maps(tuple(zip(*powers(outputs), strict=True)), tuple(spread), tuple(values))


class Transform(Native):
    """A map over tiles: a loop over `count` in steps of a vector."""

    def __init__(
        self, name: str, python: Callable[..., None], body: Callable[[_Writer], None]
    ) -> None:
        super().__init__(python)
        self.__name__, self._body = name, body

    def declarations(self) -> Iterator[str]:
        for size in (lanes(), max(tiles())):
            v = f"<{size} x float>"
            yield f"{v} @llvm.fmuladd.v{size}f32({v}, {v}, {v})"
        yield "i64 @llvm.umin.i64(i64, i64)"

    def llvm(self) -> str:
        writer = _Writer(lanes())
        self._body(writer)
        params = ", ".join(f"{llvm_type(t)} %{n}" for n, t in self.signature.params)
        body = "\n".join(writer.lines)
        return f"define internal void @{self.__name__}({params}) noinline nounwind {{\n{body}\n}}"


class _Writer:
    """Lines of LLVM's text, over vectors of some size."""

    def __init__(self, size: int) -> None:
        self.lines: list[str] = []
        self.resize(size)

    def resize(self, size: int) -> None:
        self.size, self.type = size, f"<{size} x float>"

    def emit(self, text: str) -> str:
        name = f"%.{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def loop(self, step: int, body: Callable[[str], None]) -> None:
        """`body` for each `i` in `range(0, count, step)`, at least once; then the end."""
        self.lines += ["entry:", "  br label %loop", "loop:"]
        self.lines.append("  %i = phi i64 [0, %entry], [%following, %loop]")
        body("%i")
        self.lines.append(f"  %following = add nuw nsw i64 %i, {step}")
        self.lines.append("  %more = icmp ult i64 %following, %count")
        self.lines += ["  br i1 %more, label %loop, label %done", "done:", "  ret void"]

    def place(self, pointer: str, *terms: tuple[str, int]) -> str:
        """The address of an element: the sum of `name * factor`, "" being 1."""
        for name, factor in terms:
            if factor:
                offset = str(factor) if not name else self.scaled(name, factor)
                pointer = self.emit(f"getelementptr float, ptr {pointer}, i64 {offset}")
        return pointer

    def scaled(self, name: str, factor: int) -> str:
        return name if factor == 1 else self.emit(f"mul i64 {name}, {factor}")

    def load(self, place: str) -> str:
        return self.emit(f"load {self.type}, ptr {place}, align 4")

    def store(self, value: str, place: str) -> None:
        self.lines.append(f"  store {self.type} {value}, ptr {place}, align 4")

    def store_all(self, vectors: Sequence[str], place: str) -> None:
        """Store vectors consecutively."""
        for v, vector in enumerate(vectors):
            self.store(vector, self.place(place, ("", self.size * v)))

    def gathered(self, starts: Sequence[str], *terms: tuple[str, int]) -> str:
        """A vector gathered from elements after each of these addresses."""
        vector = "poison"
        for lane, start in enumerate(starts):
            value = self.emit(f"load float, ptr {self.place(start, *terms)}, align 4")
            text = f"insertelement {self.type} {vector}, float {value}, i32 {lane}"
            vector = self.emit(text)
        return vector

    def constant(self, number: Fraction) -> str:
        text = float_text(float(number), "f32")
        return f"<{', '.join([f'float {text}'] * self.size)}>"

    def shuffle(self, a: str, b: str, places: Sequence[int]) -> str:
        mask = ", ".join(f"i32 {p}" for p in places)
        v = self.type
        return self.emit(f"shufflevector {v} {a}, {v} {b}, <{len(places)} x i32> <{mask}>")

    def apply(self, matrix: Matrix, values: Sequence[str]) -> list[str]:
        """The matrix times a vector of values."""
        return [self._sum(row, values) for row in matrix]

    def _sum(self, row: Sequence[Fraction], values: Sequence[str]) -> str:
        terms = [(c, v) for c, v in zip(row, values, strict=True) if c]
        terms.sort(key=lambda term: (term[0] != 1, abs(term[0]) == 1))
        (first, total), *rest = terms
        kind = self.type
        if first == -1:
            total = self.emit(f"fneg {kind} {total}")
        elif first != 1:
            total = self.emit(f"fmul {kind} {total}, {self.constant(first)}")
        for factor, value in rest:
            if abs(factor) == 1:
                word = "fadd" if factor > 0 else "fsub"
                total = self.emit(f"{word} {kind} {total}, {value}")
            else:
                three = f"{kind} {value}, {kind} {self.constant(factor)}, {kind} {total}"
                total = self.emit(f"call {kind} @llvm.fmuladd.v{self.size}f32({three})")
        return total

    def apply_both(self, matrix: Matrix, square: Sequence[Sequence[str]]) -> list[list[str]]:
        """The matrix times a square of values, times the transposed matrix."""
        columns = [self.apply(matrix, column) for column in zip(*square, strict=True)]
        return [self.apply(matrix, row) for row in zip(*columns, strict=True)]

    def mixed(self, vectors: Sequence[str]) -> list[str]:
        """1, 2 or 4 vectors with their elements in turn: the first of each, the second, .."""
        if len(vectors) == 1:
            return list(vectors)
        n = self.size
        low = [p + part for p in range(n // 2) for part in (0, n)]
        high = [p + n // 2 for p in low]
        pairs = []
        for a, b in zip(self.mixed(vectors[::2]), self.mixed(vectors[1::2]), strict=True):
            pairs += [self.shuffle(a, b, low), self.shuffle(a, b, high)]
        return pairs

    def parted(self, vectors: Sequence[str]) -> list[str]:
        """The inverse of `mixed`."""
        if len(vectors) == 1:
            return list(vectors)
        n = self.size
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        even = self.parted([self.shuffle(a, b, range(0, 2 * n, 2)) for a, b in pairs])
        odd = self.parted([self.shuffle(a, b, range(1, 2 * n, 2)) for a, b in pairs])
        return [v for both in zip(even, odd, strict=True) for v in both]


def _split(m: int) -> Transform:
    """The function that splits a row into phases."""

    def body(w: _Writer) -> None:
        def step(i: str) -> None:
            start = w.place("%row", (i, m))
            loaded = [w.load(w.place(start, ("", w.size * v))) for v in range(m)]
            for p, vector in enumerate(w.parted(loaded)):
                w.store(vector, w.place("%phases", ("%apart", p), (i, 1)))

        w.loop(w.size, step)

    def split(row: f32s, phases: f32s, apart: i64, count: i64) -> None:
        """`phases[p * apart + i] = row[m * i + p]`."""
        size = -(-count // lanes()) * lanes()
        for p in range(m):
            phases[p * apart : p * apart + size] = row[: m * size][p::m]

    return Transform(f"split_{m}", split, body)


def _parts(name: str, matrix: Matrix, m: int) -> Transform:
    """The function that applies a matrix to squares of values in rows that are split."""
    n = len(matrix[0])

    def body(w: _Writer) -> None:
        def step(i: str) -> None:
            square = [
                [
                    w.load(w.place("%rows", ("%row", a), ("%apart", b % m), (i, 1), ("", b // m)))
                    for b in range(n)
                ]
                for a in range(n)
            ]
            found = [v for row in w.apply_both(matrix, square) for v in row]
            for k, vector in enumerate(found):
                w.store(vector, w.place("%out", ("%plane", k), (i, 1)))

        w.loop(w.size, step)

    def parts(rows: f32s, row: i64, apart: i64, out: f32s, plane: i64, count: i64) -> None:
        """The matrix applied to both sides of the square of each place, to planes of `out`."""
        size, exact = -(-count // lanes()) * lanes(), np.array(matrix, float)
        starts = [[a * row + b % m * apart + b // m for b in range(n)] for a in range(n)]
        square = np.array([[rows[s : s + size] for s in line] for line in starts], float)
        found = np.einsum("ia,jb,abt->ijt", exact, exact, square)
        for k, values in enumerate(found.reshape(-1, size)):
            out[k * plane : k * plane + size] = values

    return Transform(name, parts, body)


def _whole(name: str, matrix: Matrix, mixed: bool) -> Transform:
    """The function that applies a matrix to squares of planes.

    The columns of a result go to one row, in turn, or each to a plane of its own.
    """
    m, n = len(matrix), len(matrix[0])

    def body(w: _Writer) -> None:
        def step(i: str) -> None:
            planes = [w.load(w.place("%planes", ("%plane", k), (i, 1))) for k in range(n * n)]
            square = [planes[n * a : n * a + n] for a in range(n)]
            for a, row in enumerate(w.apply_both(matrix, square)):
                if mixed:
                    w.store_all(w.mixed(row), w.place("%out", ("%row", a), (i, m)))
                    continue
                for b, vector in enumerate(row):
                    w.store(vector, w.place("%out", ("%row", m * a + b), (i, 1)))

        w.loop(w.size, step)

    def whole(planes: f32s, plane: i64, out: f32s, row: i64, count: i64) -> None:
        """The matrix applied to both sides of squares whose elements are in `n * n` planes."""
        size, exact = -(-count // lanes()) * lanes(), np.array(matrix, float)
        square = np.array([planes[k * plane : k * plane + size] for k in range(n * n)], float)
        found = np.einsum("ia,jb,abt->ijt", exact, exact, square.reshape(n, n, size))
        for a, b in np.ndindex(m, m):
            if mixed:
                out[a * row : a * row + m * size][b::m] = found[a, b]
            else:
                out[(m * a + b) * row : (m * a + b) * row + size] = found[a, b]

    return Transform(name, whole, body)


def _taps(m: int) -> Transform:
    """The function that transforms the weights of as many outputs as a tile of sums has rows."""
    matrix = maps(m, 3).taps

    def body(w: _Writer) -> None:
        size = max(tiles())
        w.resize(size)

        def step(i: str) -> None:
            starts = []
            for lane in range(size):
                k = w.emit(f"add i64 %k, {lane}")
                k = w.emit(f"call i64 @llvm.umin.i64(i64 {k}, i64 %last)")
                offset = w.emit(f"mul i64 {k}, %output")
                start = w.place("%weight", ("%first", 1), (offset, 1))
                starts.append(w.place(start, (w.emit(f"mul i64 {i}, %channel"), 1)))
            taps = [w.gathered(starts, ("%tap", q)) for q in range(9)]
            found = w.apply_both(matrix, [taps[:3], taps[3:6], taps[6:]])
            for p, vector in enumerate(v for row in found for v in row):
                w.store(vector, w.place("%out", ("%plane", p), (i, size)))

        w.loop(1, step)

    def taps(
        weight: f32s, first: i64, output: i64, channel: i64, tap: i64, k: i64, last: i64,
        out: f32s, plane: i64, count: i64,
    ) -> None:  # fmt: skip
        """The outputs `k`, `k + 1`, .. but none after `last`, whose weights are read instead.

        The weight of tap `q` is `weight[first + k * output + c * channel + q * tap]`.
        """
        rows, exact = max(tiles()), np.array(matrix, float)
        for c, r in np.ndindex(count, rows):
            start = first + min(k + r, last) * output + c * channel
            square = np.array([weight[start + q * tap] for q in range(9)]).reshape(3, 3)
            for p, value in enumerate((exact @ square @ exact.T).reshape(-1)):
                out[p * plane + c * rows + r] = value

    return Transform(f"taps_{m}", taps, body)


# F(2x2, 3x3) and F(4x4, 3x3); for the weights' gradient F(3x3, 2x2) and F(3x3, 4x4), whose
# taps are the gradients of the outputs. The matrix of the values is the same.
split_2, split_4 = _split(2), _split(4)
taps_2, taps_4 = _taps(2), _taps(4)
values_2 = _parts("values_2", maps(2, 3).values, 2)
values_4 = _parts("values_4", maps(4, 3).values, 4)
outputs_2 = _whole("outputs_2", maps(2, 3).outputs, mixed=True)
outputs_4 = _whole("outputs_4", maps(4, 3).outputs, mixed=True)
gradients_2 = _parts("gradients_2", maps(3, 2).taps, 2)
gradients_4 = _parts("gradients_4", maps(3, 4).taps, 4)
sums_2 = _whole("sums_2", maps(3, 2).outputs, mixed=False)
sums_4 = _whole("sums_4", maps(3, 4).outputs, mixed=False)
