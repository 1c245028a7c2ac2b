"""The inner loops of depthwise convolutions, as LLVM text.

Lines are zero-padded, and split into phases if there is a stride: the columns
`stride t + p` for each `p`, so that the inputs of one kernel tap in neighbouring windows are
contiguous. Loops go over vectors of `lanes()` columns; the last one overlaps the previous one
unless stated otherwise. There is a loop per kernel and stride, which keeps sums in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from wengert.kernels.jit.builtins import f32, f32s, i64
from wengert.kernels.jit.machine_types import llvm_type
from wengert.kernels.jit.native import Native
from wengert.kernels.products.microkernel import lanes, registers

# The supported kernels and strides, and the lines a loop processes at once.
KERNELS, STRIDES, LINES = (3, 5, 7), (1, 2), 4

Body = Callable[["_Lines", int, int, int], None]


class _Lines:
    """Lines of LLVM's text."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.vector = f"<{lanes()} x float>"

    def emit(self, text: str) -> str:
        name = f"%.{len(self.text)}"
        self.text.append(f"  {name} = {text}")
        return name

    def place(self, pointer: str, *offsets: str | int) -> str:
        for offset in offsets:
            if offset != 0:
                pointer = self.emit(f"getelementptr float, ptr {pointer}, i64 {offset}")
        return pointer

    def times(self, name: str, factor: int) -> str | int:
        return self.emit(f"mul i64 {name}, {factor}") if factor else 0

    def load(self, place: str) -> str:
        return self.emit(f"load {self.vector}, ptr {place}, align 4")

    def store(self, value: str, place: str) -> None:
        self.text.append(f"  store {self.vector} {value}, ptr {place}, align 4")

    def splat(self, value: str) -> str:
        one = self.emit(f"insertelement {self.vector} poison, float {value}, i32 0")
        zeros = f"<{lanes()} x i32> zeroinitializer"
        return self.emit(f"shufflevector {self.vector} {one}, {self.vector} poison, {zeros}")

    def splats(self, pointer: str, count: int, apart: int = 1) -> list[str]:
        """Vectors of elements so far apart."""
        places = [self.place(pointer, j * apart) for j in range(count)]
        values = [self.emit(f"load float, ptr {place}") for place in places]
        return [self.splat(value) for value in values]

    def fma(self, a: str, b: str, total: str) -> str:
        three = f"{self.vector} {a}, {self.vector} {b}, {self.vector} {total}"
        return self.emit(f"call {self.vector} @llvm.fmuladd.v{lanes()}f32({three})")

    def loop(
        self, name: str, step: Callable[[str], list[str]], sums: int = 0, start: str = ""
    ) -> list[str]:
        """A loop of `step` over the vectors of `count` columns; it updates the sums `%NAME.K`.

        They start with the vectors at `start`; the result is their final values.
        """
        first = [self.load(self.place(start, lanes() * k)) for k in range(sums)]
        self.text += [f"  br label %{name}.from", f"{name}.from:", f"  br label %{name}"]
        self.text.append(f"{name}:")
        self.text.append(f"  %{name}.i = phi i64 [0, %{name}.from], [%{name}.next, %{name}]")
        at = len(self.text)
        results = step(f"%{name}.i")
        phis = [
            f"  %{name}.{k} = phi {self.vector} [{a}, %{name}.from], [{b}, %{name}]"
            for k, (a, b) in enumerate(zip(first, results, strict=True))
        ]
        # Names are numbered by line; these have fixed names and go to the loop's head.
        self.text[at - 1] += "".join(f"\n{phi}" for phi in phis)
        self.text.append(f"  %{name}.next = add nuw nsw i64 %{name}.i, {lanes()}")
        self.text.append(f"  %{name}.more = icmp slt i64 %{name}.next, %count")
        self.text.append(f"  br i1 %{name}.more, label %{name}, label %{name}.done")
        self.text.append(f"{name}.done:")
        return results

    def overlapping(self, i: str) -> str:
        """Where the vector starts if the last one may not reach beyond `count`."""
        last = self.emit(f"sub i64 %count, {lanes()}")
        return self.emit(f"call i64 @llvm.smin.i64(i64 {i}, i64 {last})")


class Loops(Native):
    """A function whose first argument says for which kernel, stride and number of lines it is."""

    def __init__(
        self, python: Callable[..., None], body: Body, strides: Sequence[int], lines: Sequence[int]
    ) -> None:
        super().__init__(python)
        self._body, self._sizes = body, list(product(KERNELS, strides, lines))

    def declarations(self) -> Iterator[str]:
        v = f"<{lanes()} x float>"
        yield f"{v} @llvm.fmuladd.v{lanes()}f32({v}, {v}, {v})"
        yield "i64 @llvm.smin.i64(i64, i64)"

    def llvm(self) -> str:
        name, (first, *params) = self.__name__, self.signature.params
        declared = ", ".join(f"{llvm_type(t)} %{n}" for n, t in params)
        loops, cases, calls = [], [], []
        for k, stride, count in self._sizes:
            form, lines = form_of(k, stride) + count, _Lines()
            self._body(lines, k, stride, count)
            body = "\n".join(lines.text)
            head = f"define internal void @{name}_{form}({declared}) noinline nounwind"
            loops.append(f"{head} {{\nentry:\n{body}\n  ret void\n}}")
            cases.append(f"i64 {form}, label %form_{form}")
            calls.append(f"form_{form}:\n  call void @{name}_{form}({declared})\n  ret void")
        head = f"define internal void @{name}(i64 %{first[0]}, {declared}) nounwind"
        cases_text = " ".join(cases)
        switch = f"  switch i64 %{first[0]}, label %wrong [{cases_text}]"
        chosen = "\n".join([switch, "wrong:\n  unreachable", *calls])
        return "\n".join([*loops, f"{head} {{\nentry:\n{chosen}\n}}"])


def _loops(body: Body, strides: Sequence[int], lines: Sequence[int]) -> Callable[..., Loops]:
    return lambda python: Loops(python, body, strides, lines)


def form_of(kernel: int, stride: int) -> int:
    """The number of a kernel and stride; with the number of lines it is that of a loop."""
    return kernel * 32 + stride * 8


def _of_form(form: int) -> tuple[int, int, int]:
    return form // 32, form % 32 // 8, form % 8


def _window_body(w: _Lines, k: int, stride: int, lines: int) -> None:
    first, zero = w.splat("%shift"), w.splat("0.0")
    # Long sums are split in two, so that an addition need not wait for the previous one.
    parts = 1 if k == 3 else 2
    # Weights that do not stay in registers are read when their column is due: what LLVM would put
    # away are whole vectors.
    stay = k * k + lines * parts < registers()
    kept = w.splats("%weights", k * k) if stay else []

    def step(i: str) -> list[str]:
        i = w.overlapping(i)
        sums = [[first, zero][:parts] for _ in range(lines)]
        rows = [w.place("%x", w.times("%pitch", a), i) for a in range((lines - 1) * stride + k)]
        for s in range(k):
            column = kept[s::k] if stay else w.splats(w.place("%weights", s), k, k)
            for a, row in enumerate(rows):
                met = w.load(w.place(row, w.times("%apart", s % stride), s // stride))
                for n in range(lines):
                    r = a - n * stride
                    if 0 <= r < k:
                        part = s % parts
                        sums[n][part] = w.fma(column[r], met, sums[n][part])
        for n, (total, *others) in enumerate(sums):
            for other in others:
                total = w.emit(f"fadd {w.vector} {total}, {other}")
            w.store(total, w.place("%out", w.times("%out_pitch", n), i))
        return []

    w.loop("columns", step)


@_loops(_window_body, STRIDES, (1, LINES))
def windows(
    form: i64, x: f32s, pitch: i64, apart: i64, weights: f32s, shift: f32, out: f32s,
    out_pitch: i64, count: i64,
) -> None:  # fmt: skip
    """Lines of a convolution, plus a number: of `lanes()` columns at least."""
    k, stride, lines = _of_form(form)
    for n in range(lines):
        total = np.full(count, shift, float)
        for r, s in np.ndindex(k, k):
            start = (n * stride + r) * pitch + s % stride * apart + s // stride
            assert len(x[start : start + count]) == count
            total += float(weights[r * k + s]) * x[start : start + count]
        out[n * out_pitch : n * out_pitch + count] = total


def _place_body(w: _Lines, k: int, stride: int, lines: int) -> None:
    together = max(1, 10 // k)
    for r0 in range(0, k, together):
        rows = range(r0, min(r0 + together, k))
        name = f"rows{r0}"

        def step(i: str, rows: range = rows, name: str = name) -> list[str]:
            sums = {(r, s): f"%{name}.{n * k + s}" for n, r in enumerate(rows) for s in range(k)}
            given = [w.load(w.place("%g", w.times("%g_pitch", n), i)) for n in range(lines)]
            for a in range((lines - 1) * stride + rows[-1] + 1):
                meeting = [n for n in range(lines) if a - n * stride in rows]
                if not meeting:
                    continue
                row = w.place("%x", w.times("%pitch", a), i)
                for s in range(k):
                    met = w.load(w.place(row, w.times("%apart", s % stride), s // stride))
                    for n in meeting:
                        where = a - n * stride, s
                        sums[where] = w.fma(given[n], met, sums[where])
            return list(sums.values())

        start = w.place("%sums", r0 * k * lanes())
        for j, total in enumerate(w.loop(name, step, len(rows) * k, start)):
            w.store(total, w.place(start, j * lanes()))


@_loops(_place_body, STRIDES, (LINES,))
def places(
    form: i64, x: f32s, pitch: i64, apart: i64, g: f32s, g_pitch: i64, sums: f32s, count: i64
) -> None:
    """Add to a vector for each place of the kernel: products of what it met and of `g`.

    `count` columns are done to the end of the last vector.
    """
    k, stride, lines = _of_form(form)
    width = -(-count // lanes()) * lanes()
    for n in range(lines):
        given = np.array(g[n * g_pitch : n * g_pitch + width], float)
        for r, s in np.ndindex(k, k):
            start = (n * stride + r) * pitch + s % stride * apart + s // stride
            met = given * x[start : start + width]
            to = (r * k + s) * lanes()
            sums[to : to + lanes()] += met.reshape(-1, lanes()).sum(0).astype(np.float32)


def _adjoint_body(w: _Lines, k: int, stride: int, lines: int) -> None:
    weights, zero, start = w.splats("%weights", k * k), w.splat("0.0"), w.place("%g", "%first")
    halves = [
        [p + part for p in range(half, half + lanes() // 2) for part in (0, lanes())]
        for half in (0, lanes() // 2)
    ]

    def step(i: str) -> list[str]:
        reach = range((k + 1) // 2)
        met = [[w.load(w.place(start, w.times("%pitch", -j), i, -t)) for t in reach] for j in reach]
        for u in range(2):
            sums = [zero, zero]
            for r, s in product(range(u, k, 2), range(k)):
                sums[s % 2] = w.fma(weights[r * k + s], met[r // 2][s // 2], sums[s % 2])
            to = w.place("%out", w.times("%out_pitch", u), w.times(i, 2))
            for n, half in enumerate(halves):
                mask = ", ".join(f"i32 {p}" for p in half)
                both = f"{w.vector} {sums[0]}, {w.vector} {sums[1]}"
                mixed = w.emit(f"shufflevector {both}, <{lanes()} x i32> <{mask}>")
                w.store(mixed, w.place(to, n * lanes()))
        return []

    w.loop("columns", step)


@_loops(_adjoint_body, (2,), (1,))
def adjoints(
    form: i64, g: f32s, first: i64, pitch: i64, weights: f32s, out: f32s, out_pitch: i64, count: i64
) -> None:
    """Two lines of what windows with a stride of 2 read, from the gradients of the windows.

    `g[first]` is of the window that starts at the first place. `count` windows are done to the
    end of the last vector.
    """
    k, _, _ = _of_form(form)
    width = -(-count // lanes()) * lanes()
    for u, v in product(range(2), repeat=2):
        total = np.zeros(width)
        for r, s in product(range(u, k, 2), range(v, k, 2)):
            start = first - r // 2 * pitch - s // 2
            assert start >= 0
            total += float(weights[r * k + s]) * g[start : start + width]
        out[u * out_pitch : u * out_pitch + 2 * width][v::2] = total
