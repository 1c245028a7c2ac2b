"""Formulas over the elements of many arrays, in one pass on all threads.

A formula is a function that changes arrays in place, in Python that means the same for whole
arrays, by NumPy, and for one element of each, compiled:

    @formula
    def move(p, g, mean, *, rate: real, share: real, maximize: bool):
        if maximize:
            g = -g
        mean += (g - mean) * share
        p -= mean * rate

The arguments in front are arrays of one shape, the keywords numbers (`real`) and what is known
when the formula is compiled (`bool`). Arrays are changed by `x += y` and the like, or by
`x[...] = y`; other assignments define names. Calls are those of the kernel language, and `where`.
A caller gives a list for each array, and the numbers for each place in the lists:

    move([params, grads, means], [{"rate": 0.1, "share": 0.5}] * len(params), maximize=False)

An array that an option leaves unused is None instead of a list.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels.jit import CHUNK, LARGE, available, kernel
from wengert.kernels.jit.builtins import array_at, at, i32, i64, i64s, inline, item
from wengert.kernels.jit.heads import DATA, F32, HEAD, NDIM, SHAPE, is_array, is_plain
from wengert.kernels.layout import is_dense, order_of
from wengert.kernels.precision import HALF, converted

Column = list[np.ndarray] | None
Numbers = dict[str, float]

# The overhead of a NumPy call, in elements.
_CALL = 512
# Elements per NumPy block: temporaries stay in the cache.
_BLOCK = 1 << 14


@inline
def _held(object: i64, slot: i64, second: i64, holder: i64, head: i64) -> i64:
    """What an object holds in a slot, if there is one; it, if there is none.

    If there is a `second` slot, what is meant is the object of type `holder` in that. 0 is none.
    """
    found = object
    if second > 0:
        found = array_at(i64, object + second)[0]
        if found != 0:
            type = array_at(i64, found + head - 8)[0]  # `and` would read it in any case
            if type != holder:
                found = 0
    if found != 0:
        place = found + slot
        if slot > 0:
            found = array_at(i64, place)[0]
    return found


@inline
def _read_row(
    objects: i64, slots: i64s, head: i64, kind: i64, dtype: i64, row: i64, rows: i64, columns: i64,
    addresses: i64s,
) -> i64:  # fmt: skip
    """Note the addresses of the arrays of a row; their size, or -1 - it if they do not fit."""
    fits = 1
    for c in range(columns):
        second = slots[1] if c == 1 else 0
        array = _held(item(objects, c * rows + row), slots[0], second, slots[2], head)
        addresses[c] = array
        if array == 0:
            fits = 0
        else:
            if is_array(array, head, kind) == 0:
                fits = 0
    size = 0
    if fits == 1:
        first = addresses[0] + head
        ndim = array_at(i32, first + NDIM)[0]
        shape = array_at(i64, array_at(i64, first)[SHAPE])
        size = 1
        for d in range(ndim):
            size = size * shape[d]
        for c in range(columns):
            fields = addresses[c] + head
            addresses[c] = array_at(i64, fields)[DATA]
            if is_plain(fields, dtype, ndim, shape) == 0:
                fits = 0
    return size if fits == 1 else -1 - size


@inline
def _sort(keys: i64s, values: i64s, count: i64) -> None:
    """Shell's sort, of values with their keys."""
    gap = 1
    while gap < count:
        gap = 3 * gap + 1
    while gap > 1:
        gap = gap // 3
        for k in range(gap, count):
            key = keys[k]
            value = values[k]
            j = k
            above = j
            while above >= gap:
                above = j - gap
                if keys[above] > key:
                    keys[j] = keys[above]
                    values[j] = values[above]
                    j = above
                else:
                    above = -1
            keys[j] = key
            values[j] = value


@inline
def _overlap(starts: i64s, ends: i64s, count: i64) -> i64:
    """Whether a sorted region that is written (its end doubled, and 1 more) meets another."""
    reached = 0
    reached_writing = 0
    meets = 0
    for k in range(count):
        end = ends[k] >> 1
        writes = ends[k] & 1
        if starts[k] < (reached if writes == 1 else reached_writing):
            meets = 1
        reached = max(reached, end)
        reached_writing = max(reached_writing, end * writes)
    return meets


@kernel
def _survey(
    objects: i64, slots: i64s, head: i64, kind: i64, dtype: i64, rows: i64, columns: i64,
    written: i64, found: i64s, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Read where arrays lie, from the heads of the objects in a list (by its id).

    The list has `rows` arrays for each of the columns, one column after the other; or what holds
    arrays in a slot, as `slots` says (see `Held`). `found` gets:

    - whether some arrays are not plain (1), whether a column that is written (a bit of
      `written`) overlaps another array (2; a row may read what it writes), or neither (0);
    - the size of each row, -1 where an array is not plain, or not shaped as the first;
    - the addresses of the arrays of each row;
    - and then whatever sorting needs, for which there is as much room again, twice.
    """
    sizes = at(found, 1)
    table = at(found, 1 + rows)
    starts = at(table, rows * columns)
    ends = at(starts, rows * columns)
    status = 0
    count = 0
    for r in range(rows):
        size = _read_row(
            objects, slots, head, kind, dtype, r, rows, columns, at(table, r * columns)
        )
        sizes[r] = max(size, -1)
        if size < 0:
            status = 1
            size = -1 - size
        for c in range(columns):
            writes = (written >> c) & 1
            address = table[r * columns + c]
            if size > 0 and (writes == 1 or address != table[r * columns]):
                starts[count] = address
                ends[count] = 2 * (address + 4 * size) + writes
                count = count + 1
    _sort(starts, ends, count)
    if _overlap(starts, ends, count) == 1:
        status = 2
    found[0] = status


_AS_THEY_ARE = np.zeros(3, np.int64)


class Lists:
    """Where the arrays of some lists lie, for kernels to read and write them."""

    __slots__ = ("found", "kept", "rows")

    def __init__(self, columns: Sequence[list[np.ndarray]], written: int) -> None:
        self.kept: list[Any] = [array for column in columns for array in column]
        self.rows = len(columns[0])
        self._look(_AS_THEY_ARE, len(columns), written)

    def _look(self, slots: np.ndarray, width: int, written: int) -> None:
        rows = self.rows
        self.found = found = np.empty(1 + rows + 3 * rows * width, np.int64)
        _survey.f32(
            id(self.kept), slots, HEAD, id(np.ndarray), id(F32), rows, width, written, found, 1, 1
        )

    def fit(self) -> bool:
        """Whether kernels can read and write all of them."""
        return self.found.item(0) == 0

    def apart(self) -> bool:
        """Whether none that is written overlaps another."""
        return self.found.item(0) != 2

    def sizes(self) -> np.ndarray:
        """The size of each row; -1 where an array is not plain."""
        return self.found[1 : 1 + self.rows]

    def pieces(self) -> tuple[np.ndarray, int, int]:
        """The work in pieces (row, start, stop), their number, and that of a thread's share."""
        return _pieces(self.sizes().tobytes())


class Slots(NamedTuple):
    """How objects hold arrays: how far from their address one is.

    Attributes:
        array: where an object has its array.
        second: where those of the first list have the objects of the second one.
        kind: the type that these have.
    """

    array: int
    second: int
    kind: type

    def words(self) -> np.ndarray:
        """The same for a kernel."""
        return np.array([self.array, self.second, id(self.kind)], np.int64)


class Held(Lists):
    """Where the arrays lie that objects hold now."""

    __slots__ = ()

    def __init__(self, objects: list[Any], rows: int, slots: np.ndarray, written: int) -> None:
        """Of one list of objects after the other; `slots` are those of `Slots.words`."""
        self.kept, self.rows = objects, rows
        self._look(slots, len(objects) // rows, written)


@lru_cache(maxsize=256)
def _pieces(sizes: bytes) -> tuple[np.ndarray, int, int]:
    counts = np.frombuffer(sizes, np.int64)
    found = [
        (row, start, min(start + CHUNK, size))
        for row, size in enumerate(counts.tolist())
        for start in range(0, size, CHUNK)
    ]
    table = np.array(found, np.int64).reshape(-1)
    few = int(counts.sum()) <= CHUNK
    return table, len(found), len(found) if few else 1


@cache
def _knows_arrays() -> bool:
    """Whether the heads of arrays are those of this NumPy: flags, shape and dtype are found."""
    if not available():
        return False
    whole, other = np.zeros((3, 2), F32), np.zeros((2, 3), F32)
    odd: list[Any] = [whole[:, :1], whole.astype(np.float64), other, whole.data]
    sizes = [Lists([[whole], [array]], 0).sizes().item(0) for array in odd]
    return sizes == [-1] * 4 and Lists([[whole], [whole.copy()]], 0).sizes().item(0) == 6


def many(column: Sequence[np.ndarray]) -> bool:
    """Whether these arrays have enough work for a kernel, and kernels are available."""
    work = _CALL * len(column)
    for array in column:
        work += array.size
        if work >= LARGE:
            return _knows_arrays()
    return False


class Formula:
    """A formula, as a function of lists of arrays."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.python = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        kinds = inspect.get_annotations(function)
        only = [p.name for p in inspect.signature(function).parameters.values() if p.kind == 3]
        self.arrays = list(inspect.signature(function).parameters)[: -len(only) or None]
        self.numbers = [name for name in only if kinds[name] == "real"]
        self._compiled: dict[Any, Any] = {}

    def __call__(
        self, columns: Sequence[Column], numbers: Sequence[Numbers], **options: bool
    ) -> None:
        """Update the arrays, row by row if the order matters."""
        first = columns[0]
        assert first is not None
        if not many(first) or not self._in_one_pass(columns, numbers, options):
            self._by_numpy(columns, numbers, options)

    def _by_numpy(
        self, columns: Sequence[Column], numbers: Sequence[Numbers], options: dict[str, bool]
    ) -> None:
        used = [k for k, column in enumerate(columns) if column is not None]
        for row, values in enumerate(numbers):
            arrays: list[Any] = [column and column[row] for column in columns]
            if arrays[0].dtype in HALF and many(arrays[:1]):
                self._widened(arrays, values, options)
                continue
            for parts in blocks(*(arrays[k] for k in used)):
                for k, part in zip(used, parts, strict=True):
                    arrays[k] = part
                self.python(*arrays, **values, **options)

    def _widened(self, arrays: list[Any], values: Numbers, options: dict[str, bool]) -> None:
        """Update arrays of a half type: in float32, rounded once."""
        columns: list[Column] = [None if a is None else [converted(a, F32)] for a in arrays]
        written, _ = self.compiled(columns, options)
        self(columns, [values], **options)
        given = [(a, wide[0]) for a, wide in zip(arrays, columns, strict=True) if wide is not None]
        for k, (array, wide) in enumerate(given):
            if written >> k & 1:
                array[...] = converted(wide, array.dtype)

    def _in_one_pass(
        self, columns: Sequence[Column], numbers: Sequence[Numbers], options: dict[str, bool]
    ) -> bool:
        """Run a kernel if the arrays are plain and do not overlap; otherwise return False.

        Some that are not plain (of other dtypes, or with gaps) are left to NumPy.
        """
        lists, run = self._surveyed(columns, options)
        if lists.fit():
            self.run(lists, run, numbers)
            return True
        in_order = _as_they_lie(columns)
        if in_order is not None:
            self(in_order, numbers, **options)
            return True
        odd = lists.sizes() < 0
        if odd.all() or not lists.apart():
            return False
        for chosen in (np.flatnonzero(~odd).tolist(), np.flatnonzero(odd).tolist()):
            some = [column and [column[r] for r in chosen] for column in columns]
            self(some, [numbers[r] for r in chosen], **options)
        return True

    def ready(
        self, columns: Sequence[Column], options: dict[str, bool]
    ) -> Callable[[Sequence[Numbers]], None] | None:
        """What updates these arrays, given the numbers of all rows or of each, in one pass.

        None if they are few, some are not plain or they overlap.
        """
        first = columns[0]
        if not first or not many(first):
            return None
        lists, run = self._surveyed(columns, options)
        return partial(self.run, lists, run) if lists.fit() else None

    def compiled(
        self, columns: Sequence[Column], options: dict[str, bool]
    ) -> tuple[int, Callable[..., Any]]:
        """Which columns are written, as bits, and the kernel for them."""
        key = self._key(columns, options)
        return self._compiled.get(key) or self._compile(key, columns, options)

    def _surveyed(
        self, columns: Sequence[Column], options: dict[str, bool]
    ) -> tuple[Lists, Callable[..., Any]]:
        """Where the arrays lie, and the kernel for them."""
        written, run = self.compiled(columns, options)
        return Lists([column for column in columns if column is not None], written), run

    def run(self, lists: Lists, run: Callable[..., Any], numbers: Sequence[Numbers]) -> None:
        """Run a kernel over arrays that fit."""
        pieces, count, chunk = lists.pieces()
        one = len(numbers) == 1 or numbers.count(numbers[0]) == len(numbers)
        rows = numbers[:1] if one else numbers
        table = np.array([row[name] for row in rows for name in self.numbers], F32)
        stride = 0 if one else len(self.numbers)
        run(lists.found, lists.rows + 1, table, stride, pieces, count, chunk)

    @staticmethod
    def _key(columns: Sequence[Column], options: dict[str, bool]) -> tuple[bool, ...]:
        return (*options.values(), *[column is None for column in columns])

    def _compile(
        self, key: Any, columns: Sequence[Column], options: dict[str, bool]
    ) -> tuple[int, Any]:
        from wengert.kernels.jit import compiler, language

        given = [
            name for name, column in zip(self.arrays, columns, strict=False) if column is not None
        ]
        piece, loop, written = _elementwise(self.python, given, self.numbers, options)

        def text() -> str:
            unit = language.Unit("f32")
            unit.add_tree(loop, self.python.__globals__, inline=True)
            scope = {loop.name: _Inlined(loop.name)}
            unit.add_tree(piece, scope, inline=False)
            return unit.text()

        identity = f"{self.python.__module__}|{given}|{sorted(options.items())}"
        run = compiler.load(piece.name, "pipip", text, identity)
        self._compiled[key] = written, run
        return written, run


def _as_they_lie(columns: Sequence[Column]) -> list[Column] | None:
    """The arrays with their dimensions in the order of memory, where those of a row lie alike.

    None if all are as they were.
    """
    found = [column and [*column] for column in columns]
    used = [column for column in found if column]
    changed = False
    for r, first in enumerate(used[0]):
        if first.flags.c_contiguous or not is_dense(first):
            continue
        order = order_of(first.shape, ((first.shape, first.strides),))
        views = [column[r].transpose(order) for column in used if column[r].ndim == first.ndim]
        if len(views) == len(used) and all([view.flags.c_contiguous for view in views]):
            changed = True
            for column, view in zip(used, views, strict=True):
                column[r] = view
    return found if changed else None


class _Inlined:
    """What the call of a function that the unit has looks up."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.inline = {"any": self}


formula = Formula


def _elementwise(
    function: Callable[..., None], given: list[str], numbers: list[str], options: dict[str, bool]
) -> tuple[ast.FunctionDef, ast.FunctionDef, int]:
    """A kernel over pieces of lists, the loop over a piece, and which arrays are written."""
    from wengert.kernels.jit import machine_types

    name, width = function.__name__, len(given)
    body = _Element(given, options)
    statements = body.all(machine_types.tree_of(function).body)
    arguments = ", ".join([f"{x}_: reals" for x in given] + [f"{x}: real" for x in numbers])
    loop = _parsed(
        f"def {name}_loop({arguments}, start: i64, stop: i64) -> None:\n"
        f"    for i in range(start, stop):\n        pass"
    )
    inner = loop.body[0]
    assert isinstance(inner, ast.For)
    before = [f"{x} = {x}_[i]" for x in given]
    after = [f"{x}_[i] = {x}" for x in given if x in body.written]
    inner.body = [*_statements(before), *statements, *_statements(after)]
    passed = [f"array_at(f32, found[first + {width} * row + {k}])" for k in range(width)]
    passed += [f"numbers[stride * row + {k}]" for k in range(len(numbers))]
    piece = _parsed(
        f"def {name}(found: i64s, first: i64, numbers: f32s, stride: i64, pieces: i64s,"
        f" start: i64, stop: i64) -> None:\n"
        f"    for k in range(start, stop):\n"
        f"        row = pieces[3 * k]\n"
        f"        {name}_loop({', '.join(passed)}, pieces[3 * k + 1], pieces[3 * k + 2])"
    )
    written = sum(1 << k for k, x in enumerate(given) if x in body.written)
    return piece, ast.fix_missing_locations(loop), written


def _parsed(text: str) -> ast.FunctionDef:
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _statements(lines: list[str]) -> list[ast.stmt]:
    return ast.parse("\n".join(lines)).body


class _Element(ast.NodeTransformer):
    """From a formula over arrays to one over an element of each, with the options put in."""

    def __init__(self, arrays: list[str], options: dict[str, bool]) -> None:
        self.arrays, self.options = arrays, options
        self.written: set[str] = set()

    def all(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, those that an option leaves out left out."""
        found: list[ast.stmt] = []
        for node in nodes:
            done = self.visit(node)
            found += done if isinstance(done, list) else [done]
        return found

    def visit_If(self, node: ast.If) -> Any:
        if isinstance(node.test, ast.Name) and node.test.id in self.options:
            return self.all(node.body if self.options[node.test.id] else node.orelse)
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if isinstance(node.test, ast.Name) and node.test.id in self.options:
            return self.visit(node.body if self.options[node.test.id] else node.orelse)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(int(self.options[node.id])) if node.id in self.options else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        if name in self.arrays:
            self.written.add(name)
        value = ast.BinOp(ast.Name(name, ast.Load()), node.op, self.visit(node.value))
        return ast.Assign([ast.Name(name, ast.Store())], value)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        assert isinstance(node.value, ast.Name)
        self.written.add(node.value.id)
        return ast.Name(node.value.id, ast.Store())

    def visit_Call(self, node: ast.Call) -> Any:
        arguments = [self.visit(a) for a in node.args]
        if isinstance(node.func, ast.Name) and node.func.id == "where":
            return ast.IfExp(*arguments)
        return ast.Call(node.func, arguments, [])


def blocks(*arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """The same elements of all arrays, a block at a time; complex numbers as pairs of reals."""
    first = arrays[0]
    if first.ndim == 0:
        arrays = tuple(a.reshape(1) for a in arrays)
    if first.dtype.kind == "c":
        arrays = tuple(map(as_reals, arrays))
    if first.size <= _BLOCK or not all(a.flags.c_contiguous for a in arrays):
        yield arrays
        return
    flat = [a.reshape(-1) for a in arrays]
    for start in range(0, flat[0].size, _BLOCK):
        yield tuple(a[start : start + _BLOCK] for a in flat)


def as_reals(array: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of reals, in a view; real ones as they are."""
    return array[..., None].view(array.real.dtype) if array.dtype.kind == "c" else array
