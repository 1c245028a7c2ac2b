"""Register-blocked microkernels: the inner loops of matrix products, as LLVM text.

LLVM does not keep a block of sums in registers by itself, but does if each vector of them is a
separate loop-carried value. The functions here are called from kernels in `jit`'s language like
builtins, and they run in Python as well:

    @kernel
    def _rows(a: f32s, b: f32s, c: f32s, depth: i64, width: i64, start: i64, stop: i64) -> None:
        for p in range(start, stop):
            product(4, 3, a, at(b, p), width, depth, at(c, p), width, 0)

They work on a tile: `rows` times `vectors` vectors of `lanes()` floats. A tile must be one of
`tiles()`, the maximum number of vectors for each number of rows; any smaller number is valid as
well. Tiles are never partial: all lanes of `b` are read and all of `c` written, so both need
room for whole vectors.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from wengert.kernels.jit.builtins import f32s, i64, i64s
from wengert.kernels.jit.machine_types import llvm_type
from wengert.kernels.jit.native import Native, native


@cache
def lanes() -> int:
    """The floats of a vector register."""
    return _registers()[1]


@cache
def registers() -> int:
    """The number of vector registers."""
    return _registers()[0]


@cache
def _registers() -> tuple[int, int]:
    """The number of vector registers, and the floats in one."""
    from wengert.kernels.jit.targets import processor

    if processor().has("avx512f"):
        return 32, 16
    if processor().has("avx"):
        return 16, 8
    return (32 if platform.machine().lower() in ("aarch64", "arm64") else 16), 4


@cache
def tiles() -> dict[int, int]:
    """For each number of rows the most vectors of a tile whose sums stay in registers.

    The best tile has the most rows; those with fewer are for the remainder.
    """
    most = 4 if registers() == 16 else 8
    # One register is for the broadcast value, and others hold the shorter side of the tile.
    return {
        rows: max(v for v in range(1, 13) if rows * v + min(rows, v) + 1 <= registers())
        for rows in range(1, most + 1)
    }


Lines = Iterator[str]

# The declaration of the instruction that asks for a line of the cache, and the floats of a line.
PREFETCH = "void @llvm.prefetch.p0(ptr, i32, i32, i32)"
_LINE = 16


class Microkernel(Native):
    """A function of a tile: its first two arguments are the size; each size has its own loop."""

    in_own_module = True

    def __init__(
        self,
        python: Callable[..., None],
        loop: Callable[[int, int], Lines],
        sizes: Callable[[], dict[int, int]],
        declared: str = "",
    ) -> None:
        super().__init__(python, declared=declared)
        self._loop, self._sizes = loop, sizes

    def declarations(self) -> Lines:
        v = f"<{lanes()} x float>"
        yield f"{v} @llvm.fmuladd.v{lanes()}f32({v}, {v}, {v})"
        yield f"float @llvm.vector.reduce.fadd.v{lanes()}f32(float, {v})"
        yield PREFETCH
        yield from self._declared.splitlines()

    def llvm(self) -> str:
        name, whole = self.__name__, self.signature.params
        (high, _), (low, _), *params = whole
        declared = ", ".join(f"{llvm_type(t)} %{n}" for n, t in params)
        loops, cases, calls = [], [], []
        for rows, most in self._sizes().items():
            for vectors in range(1, most + 1):
                tile = f"{rows}x{vectors}"
                body = "\n".join(self._loop(rows, vectors))
                head = f"define internal void @{name}_{tile}({declared}) noinline nounwind"
                loops.append(f"{head} {{\nentry:\n{body}\n}}")
                cases.append(f"i64 {rows * 64 + vectors}, label %tile_{tile}")
                calls.append(f"tile_{tile}:\n  call void @{name}_{tile}({declared})\n  ret void")
        given = ", ".join(f"{llvm_type(t)} %{n}" for n, t in whole)
        chosen = "\n".join((
            f"  %size.high = shl i64 %{high}, 6",
            f"  %size = or i64 %size.high, %{low}",
            f"  switch i64 %size, label %wrong [{' '.join(cases)}]",
            "wrong:\n  unreachable",
            *calls,
        ))  # fmt: skip
        loops.append(f"define internal void @{name}({given}) nounwind {{\nentry:\n{chosen}\n}}")
        return "\n".join(loops)


def _sums(rows: int, vectors: int) -> list[str]:
    return [f"{i}.{v}" for i in range(rows) for v in range(vectors)]


def _phi(type: str, name: str, *incoming: tuple[str, str]) -> str:
    pairs = ", ".join(f"[{value}, %{block}]" for value, block in incoming)
    return f"  %{name} = phi {type} {pairs}"


def _step(pointer: str, name: str, by: str, element: str = "float") -> str:
    return f"  %{name} = getelementptr {element}, ptr %{pointer}, i64 {by}"


def _load(name: str, base: str, offset: str, vector: str, element: str = "float") -> Lines:
    yield _step(base, f"{name}.p", offset, element)
    yield f"  %{name} = load {vector}, ptr %{name}.p, align {_ALIGNED.get(element, 2)}"


# The bytes that elements are aligned to; others have two.
_ALIGNED = {"float": 4, "i8": 1}


def _splat(name: str, base: str, offset: str) -> Lines:
    n = lanes()
    vector = f"<{n} x float>"
    yield _step(base, f"{name}.p", offset)
    yield f"  %{name}.x = load float, ptr %{name}.p, align 4"
    yield f"  %{name}.i = insertelement {vector} poison, float %{name}.x, i32 0"
    zeros = f"<{n} x i32> zeroinitializer"
    yield f"  %{name} = shufflevector {vector} %{name}.i, {vector} poison, {zeros}"


def _added(i: int, v: int) -> Lines:
    """`%t.I.V`: the sum `%s.I.V` plus the product of `%a.I` and `%b.V`."""
    n = lanes()
    vector = f"<{n} x float>"
    terms = f"{vector} %a.{i}, {vector} %b.{v}, {vector} %s.{i}.{v}"
    yield f"  %t.{i}.{v} = call {vector} @llvm.fmuladd.v{n}f32({terms})"


def _multiply(
    rows: int,
    vectors: int,
    row: list[Lines],
    column: list[Lines],
    add: Callable[[int, int], Lines] = _added,
) -> Lines:
    """Add products of `%a.I` and `%b.V` to the sums: `%s.I.V` becomes `%t.I.V`.

    The shorter side is loaded first and stays; one at a time of the other does.
    """
    if vectors <= rows:
        for lines in column:
            yield from lines
        for i, lines in enumerate(row):
            yield from lines
            for v in range(vectors):
                yield from add(i, v)
    else:
        for lines in row:
            yield from lines
        for v, lines in enumerate(column):
            yield from lines
            for i in range(rows):
                yield from add(i, v)


def _finish(rows: int, vectors: int, integers: bool = False) -> Lines:
    """Store the sums of the loop that ends in `%latch`, or add them to what is there.

    Those that are bits of `integers` become floats.
    """
    n, sums = lanes(), _sums(rows, vectors)
    vector = f"<{n} x float>"
    yield "finish:"
    for s in sums:
        name = f"e.{s}" if integers else f"r.{s}"
        yield _phi(vector, name, ("zeroinitializer", "entry"), (f"%t.{s}", "latch"))
    for s in sums if integers else ():
        yield f"  %i.{s} = bitcast {vector} %e.{s} to <{n} x i32>"
        yield f"  %r.{s} = sitofp <{n} x i32> %i.{s} to {vector}"
    for i in range(rows):
        yield f"  %at.{i} = mul i64 %ldc, {i}"
        for v in range(vectors):
            yield f"  %to.{i}.{v} = add i64 %at.{i}, {v * n}"
            yield _step("c", f"pc.{i}.{v}", f"%to.{i}.{v}")
    yield "  %adds = icmp ne i64 %add, 0"
    yield "  br i1 %adds, label %sum, label %put"
    yield "sum:"
    for s in sums:
        yield f"  %c.{s} = load {vector}, ptr %pc.{s}, align 4"
        yield f"  %u.{s} = fadd {vector} %r.{s}, %c.{s}"
        yield f"  store {vector} %u.{s}, ptr %pc.{s}, align 4"
    yield "  ret void"
    yield "put:"
    for s in sums:
        yield f"  store {vector} %r.{s}, ptr %pc.{s}, align 4"
    yield "  ret void"


def _fetch(rows: int, width: int) -> Lines:
    """Ask for the lines of the result, which a tile reads or writes when its loop is done."""
    for i in range(rows):
        yield f"  %line.{i} = mul i64 %ldc, {i}"
        yield _step("c", f"line.0.{i}", f"%line.{i}")
        for k in range(0, width, _LINE):
            place = f"line.{k}.{i}"
            if k:
                yield _step(f"line.0.{i}", place, str(k))
            yield f"  call void @llvm.prefetch.p0(ptr %{place}, i32 1, i32 3, i32 1)"


def product_loop(
    gathered: bool, add: Callable[[int, int], Lines] = _added, integers: bool = False
) -> Callable[[int, int], Lines]:
    """The loop of `product`, or that of `gathered_product`."""

    def loop(rows: int, vectors: int) -> Lines:
        n = lanes()
        vector = f"<{n} x float>"
        sums = _sums(rows, vectors)
        yield from _fetch(rows, vectors * n)
        yield "  %none = icmp sle i64 %depth, 0"
        yield "  br i1 %none, label %finish, label %outer"
        yield "outer:"
        yield _phi("i64", "k", ("0", "entry"), ("%k.next", "latch"))
        yield _phi("ptr", "pa.first", ("%a", "entry"), ("%pa.next", "latch"))
        yield _phi("ptr", "pb", ("%b", "entry"), ("%pb.next", "latch"))
        for s in sums:
            yield _phi(vector, f"o.{s}", ("zeroinitializer", "entry"), (f"%t.{s}", "latch"))
        yield "  br label %inner"
        yield "inner:"
        if gathered:
            yield _phi("i64", "j", ("0", "outer"), ("%j.next", "inner"))
            yield _phi("ptr", "pa", ("%pa.first", "outer"), ("%pa.next", "inner"))
            for s in sums:
                yield _phi(vector, f"s.{s}", (f"%o.{s}", "outer"), (f"%t.{s}", "inner"))
            yield "  %place = getelementptr i64, ptr %offsets, i64 %j"
            yield "  %offset = load i64, ptr %place, align 8"
            yield _step("pb", "row", "%offset")
        else:
            for s in sums:
                yield _phi(vector, f"s.{s}", (f"%o.{s}", "outer"))
            yield _step("pa.first", "pa", "0")
            yield _step("pb", "row", "0")
        yield from _multiply(
            rows, vectors,
            [_splat(f"a.{i}", "pa", str(i)) for i in range(rows)],
            [_load(f"b.{v}", "row", str(v * n), vector) for v in range(vectors)],
            add,
        )  # fmt: skip
        yield _step("pa", "pa.next", str(rows))
        if gathered:
            yield "  %j.next = add nuw nsw i64 %j, 1"
            yield "  %more.inner = icmp slt i64 %j.next, %count"
            yield "  br i1 %more.inner, label %inner, label %latch"
        else:
            yield "  br label %latch"
        yield "latch:"
        yield "  %k.next = add nuw nsw i64 %k, 1"
        yield _step("pb", "pb.next", "%pitch")
        yield "  %more.outer = icmp slt i64 %k.next, %depth"
        yield "  br i1 %more.outer, label %outer, label %finish"
        yield from _finish(rows, vectors, integers)

    return loop


def _listed_product_loop(rows: int, vectors: int) -> Lines:
    """The loop of `listed_product`: over the list, and within over the depth."""
    n, sums = lanes(), _sums(rows, vectors)
    vector = f"<{n} x float>"
    yield "  %none = icmp sle i64 %count, 0"
    yield "  br i1 %none, label %finish, label %outer"
    yield "outer:"
    yield _phi("i64", "j", ("0", "entry"), ("%j.next", "latch"))
    for s in sums:
        yield _phi(vector, f"o.{s}", ("zeroinitializer", "entry"), (f"%t.{s}", "latch"))
    yield from _entry("a", "%j", "%a_step")
    yield from _entry("b", "%j", "%b_step")
    yield "  br label %inner"
    yield "inner:"
    yield _phi("i64", "k", ("0", "outer"), ("%k.next", "inner"))
    yield _phi("ptr", "pa", ("%a.first", "outer"), ("%pa.next", "inner"))
    yield _phi("ptr", "pb", ("%b.first", "outer"), ("%pb.next", "inner"))
    for s in sums:
        yield _phi(vector, f"s.{s}", (f"%o.{s}", "outer"), (f"%t.{s}", "inner"))
    yield from _multiply(
        rows, vectors,
        [_splat(f"a.{i}", "pa", str(i)) for i in range(rows)],
        [_load(f"b.{v}", "pb", str(v * n), vector) for v in range(vectors)],
    )  # fmt: skip
    yield _step("pa", "pa.next", str(rows))
    yield _step("pb", "pb.next", "%pitch")
    yield "  %k.next = add nuw nsw i64 %k, 1"
    yield "  %more.inner = icmp slt i64 %k.next, %depth"
    yield "  br i1 %more.inner, label %inner, label %latch"
    yield "latch:"
    yield "  %j.next = add nuw nsw i64 %j, 1"
    yield "  %more.outer = icmp slt i64 %j.next, %count"
    yield "  br i1 %more.outer, label %outer, label %finish"
    yield from _finish(rows, vectors)


def _entry(side: str, index: str, step: str) -> Lines:
    """Load an operand's entry of a list, `%a_places` or `%b_places`."""
    yield f"  %{side}.entry = getelementptr i64, ptr %{side}_places, i64 {index}"
    yield f"  %{side}.place = load i64, ptr %{side}.entry, align 8"
    yield f"  %{side}.offset = mul i64 %{side}.place, {step}"
    yield _step(side, f"{side}.first", f"%{side}.offset")


def dots_loop(
    element: str = "float", add: Callable[[int, int], Lines] = _added
) -> Callable[[int, int], Lines]:
    """The loop of `dots`: vectors of sums, and at the end the sums of their lanes.

    Of elements that are half as large as a float, vectors have twice as many.
    """

    def loop(rows: int, columns: int) -> Lines:
        n, sums = lanes(), _sums(rows, columns)
        vector, each = f"<{n} x float>", n if element == "float" else 2 * n
        for j in range(columns):
            yield f"  %place.{j} = getelementptr i64, ptr %offsets, i64 {j}"
            yield f"  %offset.{j} = load i64, ptr %place.{j}, align 8"
            yield _step("b", f"first.{j}", f"%offset.{j}", element)
        for i in range(rows):
            yield f"  %lead.{i} = mul i64 %lda, {i}"
            yield _step("a", f"row.{i}", f"%lead.{i}", element)
        yield "  br label %loop"
        yield "loop:"
        yield _phi("i64", "p", ("0", "entry"), ("%p.next", "loop"))
        for s in sums:
            yield _phi(vector, f"s.{s}", ("zeroinitializer", "entry"), (f"%t.{s}", "loop"))
        yield f"  %place = mul nuw nsw i64 %p, {each}"
        yield from _multiply(
            rows, columns,
            [_load(f"a.{i}", f"row.{i}", "%place", vector, element) for i in range(rows)],
            [_load(f"b.{j}", f"first.{j}", "%place", vector, element) for j in range(columns)],
            add,
        )  # fmt: skip
        yield "  %p.next = add nuw nsw i64 %p, 1"
        yield "  %more = icmp slt i64 %p.next, %steps"
        yield "  br i1 %more, label %loop, label %finish"
        yield "finish:"
        yield from _reduce(rows, columns, "t", "1")

    return loop


def _listed_dots_loop(rows: int, columns: int) -> Lines:
    """The loop of `listed_dots`: over the list, and within over the vectors of an entry."""
    n, sums = lanes(), _sums(rows, columns)
    vector = f"<{n} x float>"
    yield "  %none = icmp sle i64 %count, 0"
    yield "  br i1 %none, label %finish, label %outer"
    yield "outer:"
    yield _phi("i64", "j", ("0", "entry"), ("%j.next", "latch"))
    for s in sums:
        yield _phi(vector, f"o.{s}", ("zeroinitializer", "entry"), (f"%t.{s}", "latch"))
    yield from _entry("a", "%j", "%a_step")
    yield from _entry("b", "%j", "%b_step")
    for side, count in (("a", rows), ("b", columns)):
        for i in range(count):
            yield f"  %{side}.lead.{i} = mul i64 %ld{side}, {i}"
            yield _step(f"{side}.first", f"{side}.row.{i}", f"%{side}.lead.{i}")
    yield "  br label %inner"
    yield "inner:"
    yield _phi("i64", "v", ("0", "outer"), ("%v.next", "inner"))
    for s in sums:
        yield _phi(vector, f"s.{s}", (f"%o.{s}", "outer"), (f"%t.{s}", "inner"))
    yield f"  %at = mul nuw nsw i64 %v, {n}"
    yield from _multiply(
        rows, columns,
        [_load(f"a.{i}", f"a.row.{i}", "%at", vector) for i in range(rows)],
        [_load(f"b.{j}", f"b.row.{j}", "%at", vector) for j in range(columns)],
    )  # fmt: skip
    yield "  %v.next = add nuw nsw i64 %v, 1"
    yield "  %more.inner = icmp slt i64 %v.next, %vectors"
    yield "  br i1 %more.inner, label %inner, label %latch"
    yield "latch:"
    yield "  %j.next = add nuw nsw i64 %j, 1"
    yield "  %more.outer = icmp slt i64 %j.next, %count"
    yield "  br i1 %more.outer, label %outer, label %finish"
    yield "finish:"
    for s in sums:
        yield _phi(vector, f"r.{s}", ("zeroinitializer", "entry"), (f"%t.{s}", "latch"))
    yield from _reduce(rows, columns, "r", "%c_step")


def _reduce(rows: int, columns: int, sums: str, step: str) -> Lines:
    """Store the sums of the lanes of vectors, or add them to what is there."""
    n, all_sums = lanes(), _sums(rows, columns)
    yield "  %adds = icmp ne i64 %add, 0"
    reduce = f"reassoc float @llvm.vector.reduce.fadd.v{n}f32(float -0.0, <{n} x float>"
    for i in range(rows):
        yield f"  %at.{i} = mul i64 %ldc, {i}"
        for j in range(columns):
            s = f"{i}.{j}"
            yield f"  %q.{s} = call {reduce} %{sums}.{s})"
            yield f"  %along.{s} = mul i64 {step}, {j}"
            yield f"  %to.{s} = add i64 %at.{i}, %along.{s}"
            yield _step("c", f"pc.{s}", f"%to.{s}")
    yield "  br i1 %adds, label %sum, label %put"
    yield "sum:"
    for s in all_sums:
        yield f"  %c.{s} = load float, ptr %pc.{s}, align 4"
        yield f"  %u.{s} = fadd float %q.{s}, %c.{s}"
        yield f"  store float %u.{s}, ptr %pc.{s}, align 4"
    yield "  ret void"
    yield "put:"
    for s in all_sums:
        yield f"  store float %q.{s}, ptr %pc.{s}, align 4"
    yield "  ret void"


def microkernel(
    loop: Callable[[int, int], Lines],
    sizes: Callable[[], dict[int, int]] = tiles,
    declared: str = "",
) -> Callable[[Callable[..., None]], Microkernel]:
    """Mark a Python function of a tile, which does the same as that loop."""
    return lambda python: Microkernel(python, loop, sizes, declared)


@microkernel(product_loop(gathered=False))
def product(
    rows: i64, vectors: i64, a: f32s, b: f32s, pitch: i64, depth: i64, c: f32s, ldc: i64, add: i64
) -> None:
    """A tile of a matrix product, stored or added:
    `c[m * ldc + p] = sum(a[k * rows + m] * b[k * pitch + p] for k in range(depth))`.
    """
    gathered_product(rows, vectors, a, b, np.zeros(1, int), 1, pitch, depth, c, ldc, add)


def panel_tiles() -> dict[int, int]:
    """Tiles that are as wide as the best, and as high or a power of 2: few, which compile fast."""
    widest = tiles()[max(tiles())]
    return {n: min(most, widest) for n, most in tiles().items() if n & (n - 1) == 0}


@microkernel(product_loop(gathered=False), panel_tiles)
def panel_product(
    rows: i64, vectors: i64, a: f32s, b: f32s, pitch: i64, depth: i64, c: f32s, ldc: i64, add: i64
) -> None:
    """As `product`, for tiles of no more vectors than the best has; rows are a power of 2."""
    product(rows, vectors, a, b, pitch, depth, c, ldc, add)


@microkernel(product_loop(gathered=True))
def gathered_product(
    rows: i64, vectors: i64, a: f32s, b: f32s, offsets: i64s, count: i64, pitch: i64, depth: i64,
    c: f32s, ldc: i64, add: i64,
) -> None:  # fmt: skip
    """A tile of a product whose rows of `b` lie at listed places, stored or added:
    `c[m * ldc + p] = sum(a[(k * count + j) * rows + m] * b[k * pitch + offsets[j] + p]` for `j`
    in `range(count)` and `k` in `range(depth))`. `count` is not 0.
    """
    width = vectors * lanes()
    for m in range(rows):
        total = np.zeros(width)
        for k in range(depth):
            for j in range(count):
                first = k * pitch + int(offsets[j])
                row = b[first : first + width]
                assert len(row) == width
                total += float(a[(k * count + j) * rows + m]) * row
        out = c[m * ldc : m * ldc + width]
        assert len(out) == width
        out[:] = total + out if add else total


@microkernel(dots_loop())
def dots(
    rows: i64, columns: i64, a: f32s, lda: i64, b: f32s, offsets: i64s, steps: i64,
    c: f32s, ldc: i64, add: i64,
) -> None:  # fmt: skip
    """Inner products of `steps * lanes()` elements, stored or added:
    `c[m * ldc + j] = sum(a[m * lda + p] * b[offsets[j] + p] for p in range(steps * lanes()))`.
    `steps` is not 0.
    """
    width = steps * lanes()
    for m in range(rows):
        for j in range(columns):
            row, column = a[m * lda : m * lda + width], b[int(offsets[j]) :][:width]
            assert len(row) == len(column) == width
            total = float(np.dot(row.astype(float), column))
            c[m * ldc + j] = total + c[m * ldc + j] if add else total


@microkernel(_listed_product_loop)
def listed_product(
    rows: i64, vectors: i64, a: f32s, a_places: i64s, a_step: i64, b: f32s, b_places: i64s,
    b_step: i64, count: i64, pitch: i64, depth: i64, c: f32s, ldc: i64, add: i64,
) -> None:  # fmt: skip
    """A tile of a sum of products, whose operands lie at listed places, stored or added:
    `c[m * ldc + p] = sum(a[a_places[j] * a_step + k * rows + m] * b[b_places[j] * b_step +
    k * pitch + p]` for `j` in `range(count)` and `k` in `range(depth))`. `depth` is not 0.
    """
    width = vectors * lanes()
    for m in range(rows):
        total = np.zeros(width)
        for j in range(count):
            for k in range(depth):
                first = int(b_places[j]) * b_step + k * pitch
                row = b[first : first + width]
                assert len(row) == width
                total += float(a[int(a_places[j]) * a_step + k * rows + m]) * row
        out = c[m * ldc : m * ldc + width]
        assert len(out) == width
        out[:] = total + out if add else total


@microkernel(_listed_dots_loop)
def listed_dots(
    rows: i64, columns: i64, a: f32s, lda: i64, a_places: i64s, a_step: i64, b: f32s, ldb: i64,
    b_places: i64s, b_step: i64, count: i64, vectors: i64, c: f32s, ldc: i64, c_step: i64,
    add: i64,
) -> None:  # fmt: skip
    """Inner products of the elements of some vectors at listed places, stored or added:
    `c[m * ldc + j * c_step] = sum(a[m * lda + a_places[i] * a_step + p] *
    b[j * ldb + b_places[i] * b_step + p]` for `i` in `range(count)` and `p` in
    `range(vectors * lanes()))`.
    """
    n = vectors * lanes()
    for m in range(rows):
        for j in range(columns):
            total = 0.0
            for i in range(count):
                row = a[m * lda + int(a_places[i]) * a_step :][:n]
                column = b[j * ldb + int(b_places[i]) * b_step :][:n]
                assert len(row) == len(column) == n
                total += float(np.dot(row.astype(float), column))
            at = m * ldc + j * c_step
            c[at] = total + c[at] if add else total


def transposed_text(name: str, n: int, element: str = "float") -> Lines:
    """The transpose of `n` rows and columns, a power of 2: in each round rows swap halves."""
    vector = f"<{n} x {element}>"
    arguments = "ptr %to, i64 %to_pitch, ptr %source, i64 %pitch"
    yield f"define internal void @{name}({arguments}) nounwind alwaysinline {{"
    for i in range(n):
        yield f"  %from.{i} = mul i64 %pitch, {i}"
        yield from _load(f"r{n}.{i}", "source", f"%from.{i}", vector, element)
    d = n // 2
    while d:
        for i in range(n):
            a, b = f"{vector} %r{d * 2}.{i & ~d}", f"{vector} %r{d * 2}.{i | d}"
            mask = [(x | d if i & d else x & ~d) + (n if x & d else 0) for x in range(n)]
            text = ", ".join(f"i32 {x}" for x in mask)
            yield f"  %r{d}.{i} = shufflevector {a}, {b}, <{n} x i32> <{text}>"
        d //= 2
    for i in range(n):
        yield f"  %at.{i} = mul i64 %to_pitch, {i}"
        yield _step("to", f"to.{i}", f"%at.{i}", element)
        yield f"  store {vector} %r1.{i}, ptr %to.{i}, align {_ALIGNED.get(element, 2)}"
    yield "  ret void\n}"


@native("\n".join(transposed_text("transposed", 8)))
def transposed(to: f32s, to_pitch: i64, source: f32s, pitch: i64) -> None:
    """A transposed block of 8 rows and columns: `to[j * to_pitch + i] = source[i * pitch + j]`."""
    for i in range(8):
        for j in range(8):
            to[j * to_pitch + i] = source[i * pitch + j]
