"""Products and transposes of unpacked blocks in cache, inside kernels.

A tile is a few rows of sixteen columns of the result, which stay in registers while a loop adds
the products of a column of one matrix and a row of the other. Both may have any strides: blocks
of attention and states of a recurrent layer are used once or twice, too rarely to be packed for a
`microkernel`. Vectors have half a tile's columns, or all of them where registers are that wide.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from wengert.kernels.jit.builtins import apart, at, f32s, i64
from wengert.kernels.jit.machine_types import signature_of
from wengert.kernels.products.microkernel import lanes

COLUMNS = 16
# The sides of the squares that `transpose` turns in registers.
_SIDE = 8


def _written(text: Callable[[str], str]) -> Callable[[Callable[..., None]], Any]:
    """A function for kernels to call whose definition for LLVM is `text(name)`."""

    def mark(function: Any) -> Any:
        function.llvm = partial(text, function.__name__)
        function.signature = signature_of(function, "f32")
        function.declarations = tuple
        function.inline = {"f32": function}
        return function

    return mark


def _width() -> int:
    """The floats of a vector; LLVM splits those that are wider than a register."""
    return COLUMNS if lanes() >= COLUMNS else COLUMNS // 2


def _products_text(rows: int, width: int) -> list[str]:
    """Add the products of a column at %pa and a row at %pb to sums: %t becomes %n."""
    vector = f"<{width} x float>"
    body = []
    for j in range(COLUMNS // width):
        body += [
            f"  %q{j} = getelementptr float, ptr %pb, i64 {j * width}",
            f"  %b{j} = load {vector}, ptr %q{j}, align 4",
        ]
    for i in range(rows):
        body += [
            f"  %p{i} = getelementptr float, ptr %pa, i64 %skip{i}",
            f"  %x{i} = load float, ptr %p{i}, align 4",
            f"  %y{i} = insertelement {vector} poison, float %x{i}, i64 0",
            f"  %a{i} = shufflevector {vector} %y{i}, {vector} poison,"
            f" <{width} x i32> zeroinitializer",
        ]
        for j in range(COLUMNS // width):
            body += [
                f"  %m{i}.{j} = fmul contract {vector} %a{i}, %b{j}",
                f"  %n{i}.{j} = fadd contract {vector} %t{i}.{j}, %m{i}.{j}",
            ]
    return body


def _tile_text(rows: int, name: str) -> str:
    """The tile with that many rows, in LLVM's language."""
    width = _width()
    vector = f"<{width} x float>"
    parts = [(i, j) for i in range(rows) for j in range(COLUMNS // width)]
    places = [f"  %row{i} = mul i64 %ldc, {i}\n  %skip{i} = mul i64 %row, {i}" for i in range(rows)]
    for i, j in parts:
        places += [
            f"  %at{i}.{j} = add i64 %row{i}, {j * width}",
            f"  %c{i}.{j} = getelementptr float, ptr %c, i64 %at{i}.{j}",
        ]
    loads = [f"  %old{i}.{j} = load {vector}, ptr %c{i}.{j}, align 4" for i, j in parts]
    starts = [
        f"  %s{i}.{j} = phi {vector} [zeroinitializer, %entry], [%old{i}.{j}, %load]"
        for i, j in parts
    ]
    sums = [f"  %t{i}.{j} = phi {vector} [%s{i}.{j}, %begin], [%n{i}.{j}, %loop]" for i, j in parts]
    ends = [f"  %e{i}.{j} = phi {vector} [%s{i}.{j}, %begin], [%n{i}.{j}, %loop]" for i, j in parts]
    stores = [f"  store {vector} %e{i}.{j}, ptr %c{i}.{j}, align 4" for i, j in parts]
    lines = [
        f"define internal void @{name}(ptr noalias %a, i64 %row, i64 %step, ptr noalias %b,"
        " i64 %ldb, ptr noalias %c, i64 %ldc, i64 %count, i64 %add) noinline nounwind {",
        "entry:", *places,
        "  %adds = icmp ne i64 %add, 0",
        "  br i1 %adds, label %load, label %begin",
        "load:", *loads,
        "  br label %begin",
        "begin:", *starts,
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %loop, label %end",
        "loop:",
        "  %k = phi i64 [0, %begin], [%following, %loop]",
        "  %pa = phi ptr [%a, %begin], [%na, %loop]",
        "  %pb = phi ptr [%b, %begin], [%nb, %loop]", *sums, *_products_text(rows, width),
        "  %following = add nuw nsw i64 %k, 1",
        "  %na = getelementptr float, ptr %pa, i64 %step",
        "  %nb = getelementptr float, ptr %pb, i64 %ldb",
        "  %more = icmp slt i64 %following, %count",
        "  br i1 %more, label %loop, label %end",
        "end:", *ends, *stores,
        "  ret void",
        "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _multiplied(
    rows: int, a: f32s, row: i64, step: i64, b: f32s, ldb: i64, c: f32s, ldc: i64, count: i64,
    add: i64,
) -> None:  # fmt: skip
    for i in range(rows):
        for j in range(COLUMNS):
            total = c[i * ldc + j] if add else 0.0
            for k in range(count):
                total += a[i * row + k * step] * b[k * ldb + j]
            c[i * ldc + j] = total


def _twice_text(rows: int, half: str, name: str) -> str:
    """A tile of `rows` rows whose sums fit registers that hold all columns; else two of `half`."""
    if _width() == COLUMNS:
        return _tile_text(rows, name)
    same = "i64 %row, i64 %step, ptr %b, i64 %ldb"
    rest = "i64 %ldc, i64 %count, i64 %add"
    return f"""\
define internal void @{name}(ptr noalias %a, i64 %row, i64 %step, ptr noalias %b,
 i64 %ldb, ptr noalias %c, i64 %ldc, i64 %count, i64 %add) noinline nounwind {{
  %rows = mul i64 %row, {rows // 2}
  %lines = mul i64 %ldc, {rows // 2}
  %next.a = getelementptr float, ptr %a, i64 %rows
  %next.c = getelementptr float, ptr %c, i64 %lines
  call void @{half}(ptr %a, {same}, ptr %c, {rest})
  call void @{half}(ptr %next.a, {same}, ptr %next.c, {rest})
  ret void
}}"""


@_written(partial(_tile_text, 6))
def _tile6(
    a: f32s, row: i64, step: i64, b: f32s, ldb: i64, c: f32s, ldc: i64, count: i64, add: i64
) -> None:
    _multiplied(6, a, row, step, b, ldb, c, ldc, count, add)


@_written(partial(_twice_text, 12, "_tile6"))
def _tile12(
    a: f32s, row: i64, step: i64, b: f32s, ldb: i64, c: f32s, ldc: i64, count: i64, add: i64
) -> None:
    _multiplied(12, a, row, step, b, ldb, c, ldc, count, add)


@_written(partial(_tile_text, 4))
def _tile4(
    a: f32s, row: i64, step: i64, b: f32s, ldb: i64, c: f32s, ldc: i64, count: i64, add: i64
) -> None:
    _multiplied(4, a, row, step, b, ldb, c, ldc, count, add)


@_written(partial(_tile_text, 2))
def _tile2(
    a: f32s, row: i64, step: i64, b: f32s, ldb: i64, c: f32s, ldc: i64, count: i64, add: i64
) -> None:
    _multiplied(2, a, row, step, b, ldb, c, ldc, count, add)


@_written(partial(_tile_text, 1))
def _tile1(
    a: f32s, row: i64, step: i64, b: f32s, ldb: i64, c: f32s, ldc: i64, count: i64, add: i64
) -> None:
    _multiplied(1, a, row, step, b, ldb, c, ldc, count, add)


@apart
def multiply(
    a: f32s, row: i64, step: i64, b: f32s, ldb: i64, c: f32s, ldc: i64, rows: i64, count: i64,
    add: i64,
) -> None:  # fmt: skip
    """c = a @ b, or c += a @ b with `add`: `rows` rows of COLUMNS columns.

    The element (i, k) of `a` is a[i * row + k * step]; rows of `b` and `c` lie `ldb` and `ldc`
    elements apart. `count` is how many products a sum has.
    """
    i = 0
    while i + 12 <= rows:
        _tile12(at(a, i * row), row, step, b, ldb, at(c, i * ldc), ldc, count, add)
        i = i + 12
    if i + 6 <= rows:
        _tile6(at(a, i * row), row, step, b, ldb, at(c, i * ldc), ldc, count, add)
        i = i + 6
    if i + 4 <= rows:
        _tile4(at(a, i * row), row, step, b, ldb, at(c, i * ldc), ldc, count, add)
        i = i + 4
    if i + 2 <= rows:
        _tile2(at(a, i * row), row, step, b, ldb, at(c, i * ldc), ldc, count, add)
        i = i + 2
    if i < rows:
        _tile1(at(a, i * row), row, step, b, ldb, at(c, i * ldc), ldc, count, add)


# Panels that a row is multiplied by at a time: a sum waits for its last term, other sums do not.
PANELS = 4


def _row_text(name: str) -> str:
    """The products of a row and panels, in LLVM's language."""
    width = _width()
    vector, each = f"<{width} x float>", COLUMNS // width
    parts = range(PANELS * each)
    skips = [f"  %skip{q} = mul i64 %apart, {q}" for q in range(PANELS)]
    panels = [f"  %b{q} = getelementptr float, ptr %b, i64 %skip{q}" for q in range(PANELS)]
    places = [f"  %c{i} = getelementptr float, ptr %c, i64 {i * width}" for i in parts]
    loads = [f"  %old{i} = load {vector}, ptr %c{i}, align 4" for i in parts]
    starts = [f"  %s{i} = phi {vector} [zeroinitializer, %entry], [%old{i}, %load]" for i in parts]
    body = []
    for i in parts:
        body += [
            f"  %at{i} = add i64 %place, {i % each * width}",
            f"  %p{i} = getelementptr float, ptr %b{i // each}, i64 %at{i}",
            f"  %x{i} = load {vector}, ptr %p{i}, align 4",
            f"  %m{i} = fmul contract {vector} %row, %x{i}",
            f"  %n{i} = fadd contract {vector} %t{i}, %m{i}",
        ]
    sums = [f"  %t{i} = phi {vector} [%s{i}, %begin], [%n{i}, %loop]" for i in parts]
    ends = [f"  %e{i} = phi {vector} [%s{i}, %begin], [%n{i}, %loop]" for i in parts]
    lines = [
        f"define internal void @{name}(ptr noalias %a, ptr noalias %b, i64 %apart,"
        " ptr noalias %c, i64 %count, i64 %add) noinline nounwind {",
        "entry:", *skips, *panels, *places,
        "  %adds = icmp ne i64 %add, 0",
        "  br i1 %adds, label %load, label %begin",
        "load:", *loads,
        "  br label %begin",
        "begin:", *starts,
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %loop, label %end",
        "loop:",
        "  %k = phi i64 [0, %begin], [%following, %loop]", *sums,
        "  %pa = getelementptr float, ptr %a, i64 %k",
        "  %x = load float, ptr %pa, align 4",
        f"  %one = insertelement {vector} poison, float %x, i64 0",
        f"  %row = shufflevector {vector} %one, {vector} poison, <{width} x i32> zeroinitializer",
        f"  %place = mul nuw nsw i64 %k, {COLUMNS}", *body,
        "  %following = add nuw nsw i64 %k, 1",
        "  %more = icmp slt i64 %following, %count",
        "  br i1 %more, label %loop, label %end",
        "end:", *ends, *[f"  store {vector} %e{i}, ptr %c{i}, align 4" for i in parts],
        "  ret void",
        "}",
    ]  # fmt: skip
    return "\n".join(lines)


@_written(_row_text)
def row_times(a: f32s, b: f32s, apart: i64, c: f32s, count: i64, add: i64) -> None:
    """c = a @ b, or c += a @ b with `add`: a row, and PANELS panels of COLUMNS columns.

    Panels lie `apart` elements apart. Terms are added in the same order as by `multiply`.
    """
    for q in range(PANELS):
        _multiplied(1, a, 0, 1, at(b, q * apart), COLUMNS, at(c, q * COLUMNS), 0, count, add)


def _turn_text(name: str) -> str:
    """The transpose of a square of vectors: swap halves, then quarters, then eighths."""
    vector, lines = f"<{_SIDE} x float>", []
    for i in range(_SIDE):
        lines += [
            f"  %o{i} = mul i64 %lda, {i}",
            f"  %p{i} = getelementptr float, ptr %a, i64 %o{i}",
            f"  %v{_SIDE}.{i} = load {vector}, ptr %p{i}, align 4",
        ]
    size = _SIDE
    while size > 1:
        half = size // 2
        # A lane of the first of a pair, and one of the second behind its lanes.
        low = [n if n % size < half else _SIDE + n - half for n in range(_SIDE)]
        high = [n + half if n % size < half else _SIDE + n for n in range(_SIDE)]
        for i in range(_SIDE):
            first, second = (i, i + half) if i % size < half else (i - half, i)
            lanes = ", ".join(f"i32 {n}" for n in (low if i % size < half else high))
            lines.append(
                f"  %v{half}.{i} = shufflevector {vector} %v{size}.{first}, {vector}"
                f" %v{size}.{second}, <{_SIDE} x i32> <{lanes}>"
            )
        size = half
    for i in range(_SIDE):
        lines += [
            f"  %w{i} = mul i64 %ldb, {i}",
            f"  %q{i} = getelementptr float, ptr %b, i64 %w{i}",
            f"  store {vector} %v1.{i}, ptr %q{i}, align 4",
        ]
    head = f"define internal void @{name}(ptr noalias %a, i64 %lda, ptr noalias %b, i64 %ldb)"
    return "\n".join([f"{head} noinline nounwind {{", *lines, "  ret void", "}"])


@_written(_turn_text)
def _turn(a: f32s, lda: i64, b: f32s, ldb: i64) -> None:
    for i in range(_SIDE):
        for j in range(_SIDE):
            b[j * ldb + i] = a[i * lda + j]


def _move_text(name: str) -> str:
    return f"""\
define internal void @{name}(ptr noalias %a, ptr noalias %b) noinline nounwind {{
  %x = load float, ptr %a, align 4
  store float %x, ptr %b, align 4
  ret void
}}"""


@_written(_move_text)
def move(a: f32s, b: f32s) -> None:
    """b[0] = a[0], by a call: LLVM takes long over loops that transpose, and gains nothing."""
    b[0] = a[0]


@apart
def transpose(a: f32s, lda: i64, b: f32s, ldb: i64, rows: i64, columns: i64) -> None:
    """b = a.T for `rows` rows of `a`, which lie `lda` elements apart; those of `b`, `ldb`."""
    for i in range(0, rows - 7, 8):
        for j in range(0, columns - 7, 8):
            _turn(at(a, i * lda + j), lda, at(b, j * ldb + i), ldb)
        for j in range(columns // 8 * 8, columns):
            for n in range(i, i + 8):
                move(at(a, n * lda + j), at(b, j * ldb + n))
    for i in range(rows // 8 * 8, rows):
        for j in range(columns):
            move(at(a, i * lda + j), at(b, j * ldb + i))
