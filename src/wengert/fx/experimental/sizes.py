"""Sizes that follow the inputs: programs recorded at several sizes, as one program for all.

A recording has the sizes of its inputs in it, as numbers: in `reshape`, in `expand`, in masks
that were made for a length. So a program with dynamic dimensions is recorded at several sizes.
A number that changes must be explained: as a size of a tensor that the program has at that
point, or as a sum of products of the dynamic sizes. Some recordings serve to check that alone.
What cannot be explained is refused, with the operation and its line.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.core.tensor import Tensor, memory_of
from wengert.fx.experimental.constants import rebuilt
from wengert.fx.experimental.recorder import BoundCall, RandomDraw, Recording, ValueInfo
from wengert.fx.node import Node

Sizes = dict[str, int]  # by the name of a dynamic dimension


class Symbol(NamedTuple):
    """A dynamic dimension: its size in the example, its bounds, and where the inputs have it."""

    name: str
    size: int
    least: int
    most: int | None
    places: tuple[tuple[int, int], ...]  # (input, dimension)


class SizeError(RuntimeError):
    """A program whose numbers do not follow the sizes of its inputs in a way that is understood."""


def sym_size_int(input: Tensor, dim: int) -> int:
    """The size of a dimension: the node of a dynamic size.

    >>> import wengert
    >>> from wengert.fx.experimental.sizes import sym_size_int
    >>> sym_size_int(wengert.ones(2, 3), 1)
    3
    """
    return int(input.shape[dim])


def _others(symbol: Symbol, step: int) -> tuple[int, int] | None:
    """Two further sizes of a dimension, `step` apart from the example's."""
    first = symbol.size if symbol.size > 1 else symbol.size + step
    upwards = [first + step, first + 3 * step]
    downwards = [first - step, first - 2 * step]
    for sizes in (upwards, downwards):
        most = symbol.most is None or max(sizes) <= symbol.most
        if most and min(sizes) >= max(symbol.least, 1):
            return sizes[0], sizes[1]
    return None


_STEPS = (1, 2, 4, 8, 16, 32)  # networks that halve their images want sizes that can be halved


class Samples(NamedTuple):
    """Recordings of one program at several sizes; the first is that of the example."""

    sizes: list[Sizes]
    recordings: list[Recording]
    symbols: list[Symbol]


def sampled(record_at: Callable[[Sizes], Recording], symbols: Sequence[Symbol]) -> Samples:
    """A program recorded at enough sizes to tell how its numbers follow them."""
    base = {s.name: s.size for s in symbols}
    recordings = {tuple(base.items()): record_at(base)}
    others: dict[str, tuple[int, int]] = {}
    for symbol in symbols:
        others[symbol.name] = _probe(record_at, recordings, base, symbol)
    names = [s.name for s in symbols]
    degree = len(names) if len(names) <= 3 else 2
    wanted = [
        base | {n: others[n][0] for n in chosen}
        for k in range(1, degree + 1)
        for chosen in combinations(names, k)
    ]
    wanted.append(base | {n: others[n][1] for n in names})
    wanted.append(base | {n: others[n][k % 2] for k, n in enumerate(names)})
    # A comparison with a bound goes the other way there, if the bound is where it should be.
    bounds = [(s.name, b) for s in symbols for b in (s.least, s.most) if b]
    wanted += [base | {name: bound} for name, bound in bounds]
    for sizes in wanted:
        key = tuple(sizes.items())
        if key not in recordings:
            recordings[key] = record_at(sizes)
    return Samples([dict(k) for k in recordings], list(recordings.values()), list(symbols))


def _probe(
    record_at: Callable[[Sizes], Recording], recordings: Any, base: Sizes, symbol: Symbol
) -> tuple[int, int]:
    """Two sizes of a dimension at which the program runs, recorded."""
    error: Exception | None = None
    for step in _STEPS:
        sizes = _others(symbol, step)
        if sizes is None:
            continue
        try:
            for size in sizes:
                at = base | {symbol.name: size}
                recordings[tuple(at.items())] = record_at(at)
            return sizes
        except SizeError:
            raise
        except Exception as failure:
            error = failure
    raise SizeError(
        f"dynamic dimension {symbol.name!r}: the program runs for its size in the example,"
        f" {symbol.size}, and for no other that was tried: {error or 'its bounds leave none'}"
    ) from error


def generalized(samples: Samples) -> Recording:
    """One program for all sizes: the first recording, with sizes computed in the program."""
    return _Generalization(samples).result()


class _Generalization:
    """Puts computed sizes in the place of numbers that differ between recordings."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self.recording = samples.recordings[0]
        self.graph = self.recording.graph
        self.lists = [list(r.graph.nodes) for r in samples.recordings]
        self.positions = [{n: k for k, n in enumerate(nodes)} for nodes in self.lists]
        self._sizes: dict[tuple[Node, int], Node] = {}
        self._expressions: dict[tuple[Node, Any], Any] = {}
        self._earlier: list[tuple[Node, list[tuple[int, ...]]]] = []

    def result(self) -> Recording:
        self._check_aligned()
        rows = list(zip(*self.lists, strict=True))
        for row in rows:
            self._note_shapes(row)
        inputs = [row for row in rows if row[0].op in ("placeholder", "get_attr")]
        for row in inputs:
            if row[0].op == "placeholder":
                self._remember(row)
        self.first = next(n for n in self.lists[0] if n.op not in ("placeholder", "get_attr"))
        for row in inputs:
            if row[0].op == "get_attr":
                self._constant(row)
        for row in rows:
            if row[0].op not in ("placeholder", "get_attr"):
                self._node(row)
                self._remember(row)
        return self.recording

    def _check_aligned(self) -> None:
        for sizes, nodes in zip(self.samples.sizes, self.lists, strict=True):
            for a, b in zip(self.lists[0], nodes, strict=False):
                if a.op == b.op and _same_target(a.target, b.target):
                    continue
                if "output" in (a.op, b.op):
                    raise SizeError(
                        f"{_place(b if a.op == 'output' else a)}: the program has"
                        f" {len(self.lists[0])} steps at the sizes {self.samples.sizes[0]}, and"
                        f" {len(nodes)} at {sizes}: it depends on a dynamic size how often"
                        " something is done"
                    )
                raise SizeError(
                    f"{_place(a)}: the program takes another way at the sizes {sizes}: there"
                    f" {_described(b)} stands in the place of {_described(a)}"
                )

    def _note_shapes(self, row: Sequence[Node]) -> None:
        values: list[Any] = [n.meta.get("val") for n in row]
        if isinstance(values[0], ValueInfo):
            shapes = [tuple(v.shape) for v in values]
            if len({len(s) for s in shapes}) > 1:
                raise SizeError(f"{_place(row[0])}: the number of dimensions changes with a size")
            row[0].meta["shapes"] = shapes
            row[0].meta["dims"] = [self._name(column) for column in zip(*shapes, strict=True)]

    def _name(self, column: tuple[int, ...]) -> int | str | None:
        """A size that stays, the name of a dynamic one, or None for one that follows from them."""
        if len(set(column)) == 1:
            return column[0]
        for symbol in self.samples.symbols:
            if column == self._column(symbol.name):
                return symbol.name
        return None

    def _column(self, name: str) -> tuple[int, ...]:
        return tuple(sizes[name] for sizes in self.samples.sizes)

    def _remember(self, row: Sequence[Node]) -> None:
        if "shapes" in row[0].meta:
            self._earlier.append((row[0], row[0].meta["shapes"]))

    def _node(self, row: Sequence[Node]) -> None:
        node = row[0]
        args, kwargs = self._merged(row, [(n.args, n.kwargs) for n in row])
        node.args, node.kwargs = args, kwargs

    def _merged(self, row: Sequence[Node], values: Sequence[Any]) -> Any:
        """The arguments of a node for all sizes."""
        first = values[0]
        if isinstance(first, Node):
            at = {
                self.positions[k][v] if isinstance(v, Node) else None for k, v in enumerate(values)
            }
            if len(at) > 1:
                raise SizeError(f"{_place(row[0])}: reads another value at other sizes")
            return first
        if any(type(v) is not type(first) for v in values):
            raise SizeError(f"{_place(row[0])}: an argument has another type at other sizes")
        if isinstance(first, dict):
            return {k: self._merged(row, [v[k] for v in values]) for k in first}
        if isinstance(first, tuple | list):
            if len({len(v) for v in values}) > 1:
                raise SizeError(f"{_place(row[0])}: an argument has another length at other sizes")
            items = [self._merged(row, column) for column in zip(*values, strict=True)]
            kind = type(first) if hasattr(first, "_fields") else None
            return kind(*items) if kind else tuple(items) if isinstance(first, tuple) else items
        if isinstance(first, slice):
            return slice(*[
                self._merged(row, [getattr(v, part) for v in values])
                for part in ("start", "stop", "step")
            ])  # fmt: skip
        if all(_equal(v, first) for v in values):
            return first
        if isinstance(first, int | float) and not isinstance(first, bool):
            return self.number(row[0], tuple(values))
        raise SizeError(
            f"{_place(row[0])}: the argument {first!r} changes with a dynamic size and is no number"
        )

    def number(self, node: Node, column: tuple[Any, ...]) -> Any:
        """A node, in front of `node`, for a number that changes with the sizes."""
        inputs = self._inputs_of(node)
        named = next((n for n in self.samples.sizes[0] if column == self._column(n)), None)
        if named is not None and type(column[0]) is int:
            return self._symbol(named)
        shown = self._size_of(inputs, column) or self._size_of(self._earlier, column)
        if shown is not None:
            return shown
        with self.graph.inserting_before(node):
            product = self._product(inputs, column)
            if product is not None:
                return product
            polynomial = self._polynomial(column)
            if polynomial is not None:
                return self._built(polynomial, type(column[0]) is float)
            if all(isinstance(v, float) and v for v in column):
                inverse = self._polynomial(tuple(1 / v for v in column))
                if inverse is not None:
                    return self.graph.call_function(
                        operator.truediv, (1.0, self._built(inverse, True))
                    )
        raise SizeError(
            f"{_place(node)}: a number in its arguments is {column[0]} at the sizes"
            f" {self.samples.sizes[0]} and {column[1]} at {self.samples.sizes[1]}; how it follows"
            " from the sizes of tensors is not understood. Make that dimension static"
        )

    def _inputs_of(self, node: Node) -> list[tuple[Node, list[tuple[int, ...]]]]:
        return [(n, n.meta["shapes"]) for n in node.all_input_nodes if "shapes" in n.meta]

    def _size_of(self, tensors: Iterable[Any], column: tuple[Any, ...]) -> Node | None:
        if not all(type(v) is int for v in column):
            return None
        for source, shapes in tensors:
            for d in range(len(shapes[0])):
                if tuple(s[d] for s in shapes) == column:
                    return self._size(source, d)
        return None

    def _size(self, source: Node, dim: int) -> Node:
        if (source, dim) not in self._sizes:
            behind = source if source.op not in ("placeholder", "get_attr") else None
            point = (
                self.graph.inserting_after(behind)
                if behind is not None
                else self.graph.inserting_before(self.first)
            )
            with point:
                node = self.graph.call_function(sym_size_int, (source, dim))
            node.meta["val"] = int(source.meta["shapes"][0][dim])
            self._sizes[source, dim] = node
        return self._sizes[source, dim]

    def _product(self, tensors: Iterable[Any], column: tuple[Any, ...]) -> Node | None:
        """A product of neighbouring sizes of one tensor."""
        for source, shapes in tensors:
            rank = len(shapes[0])
            for start, stop in combinations(range(rank + 1), 2):
                if stop - start > 1 and tuple(prod(s[start:stop]) for s in shapes) == column:
                    names = source.meta["dims"][start:stop]
                    return self._of_product([
                        self._factor(source, start + k, name) for k, name in enumerate(names)
                    ])  # fmt: skip
        return None

    def _factor(self, source: Node, dim: int, name: int | str | None) -> Any:
        if isinstance(name, int):
            return name
        return self._size(source, dim) if name is None else self._symbol(name)

    def _of_product(self, factors: Sequence[Any]) -> Any:
        total = factors[0]
        for factor in factors[1:]:
            total = self.graph.call_function(operator.mul, (total, factor))
        return total

    def _polynomial(self, column: tuple[Any, ...]) -> dict[frozenset[str], Fraction] | None:
        """Coefficients by sets of dynamic sizes: a sum of products, checked in all samples."""
        values = [Fraction(v).limit_denominator(10**6) for v in column]
        by_sizes = {
            tuple(sizes.items()): value
            for sizes, value in zip(self.samples.sizes, values, strict=True)
        }
        base = self.samples.sizes[0]
        changed = {n: self._corner(n) for n in base}
        names = list(base)
        degree = len(names) if len(names) <= 3 else 2
        # The coefficients of products of (size - base) / (corner - base), by inclusion-exclusion.
        terms: dict[frozenset[str], Fraction] = {}
        for k in range(degree + 1):
            for chosen in combinations(names, k):
                at = base | {n: changed[n] for n in chosen}
                value = by_sizes[tuple(at.items())]
                below = sum(v for s, v in terms.items() if s < frozenset(chosen))
                terms[frozenset(chosen)] = value - below
        polynomial = _expanded(terms, base, changed)
        for sizes, value in zip(self.samples.sizes, values, strict=True):
            if sum(c * prod(sizes[n] for n in s) for s, c in polynomial.items()) != value:
                return None
        return polynomial

    def _corner(self, name: str) -> int:
        """The first other size that a dimension was recorded at."""
        base = self.samples.sizes[0]
        return next(s[name] for s in self.samples.sizes if s[name] != base[name])

    def _built(self, polynomial: dict[frozenset[str], Fraction], fractional: bool) -> Any:
        """Nodes that compute a polynomial: a float if it is `fractional`, an integer if not."""
        common = np.lcm.reduce([c.denominator for c in polynomial.values()] or [1])
        total: Any = None
        for names, coefficient in polynomial.items():
            factors: list[Any] = [self._symbol(n) for n in sorted(names)]
            number = int(coefficient * int(common))
            if number != 1 or not factors:
                factors.append(number)
            term = self._of_product(factors)
            total = term if total is None else self.graph.call_function(operator.add, (total, term))
        if common != 1 or fractional:
            divide = operator.truediv if fractional else operator.floordiv
            total = self.graph.call_function(divide, (total, int(common)))
        return total

    def _symbol(self, name: str) -> Node:
        column = self._column(name)
        node = self._size_of([e for e in self._earlier if e[0].op == "placeholder"], column)
        assert node is not None
        return node

    def _constant(self, row: Sequence[Node]) -> None:
        """A constant that changes with the sizes: the program makes it."""
        node = row[0]
        values = [
            r.attributes[str(n.target)] for r, n in zip(self.samples.recordings, row, strict=True)
        ]
        if all(_equal_tensors(values[0], v) for v in values):
            return
        user = next(iter(node.users), node)
        arrays = [memory_of(v) for v in values]
        with self.graph.inserting_before(self.first):
            made = rebuilt(
                self.graph, arrays, values[0].dtype, lambda c: self.number(self.first, c)
            )
        if made is None:
            raise SizeError(
                f"{_place(user)}: a constant of shape {list(values[0].shape)} changes with a"
                " dynamic size, and is no range, triangle or single number. Compute it from an"
                " input, or take a part of a buffer"
            )
        made.meta.update(node.meta)
        self.positions[0][made] = self.positions[0][node]
        node.replace_all_uses_with(made)
        self.graph.erase_node(node)
        del self.recording.attributes[str(node.target)]


def _expanded(
    terms: dict[frozenset[str], Fraction], base: Sizes, corner: Sizes
) -> dict[frozenset[str], Fraction]:
    """Products of (size - base) / (corner - base), multiplied out."""
    polynomial: dict[frozenset[str], Fraction] = {}
    for names, coefficient in terms.items():
        scale = coefficient / prod(corner[n] - base[n] for n in names)
        for k in range(len(names) + 1):
            for chosen in combinations(sorted(names), k):
                others = [-base[n] for n in names if n not in chosen]
                key = frozenset(chosen)
                polynomial[key] = polynomial.get(key, Fraction(0)) + scale * prod(others)
    return {s: c for s, c in polynomial.items() if c}


def _same_target(a: Any, b: Any) -> bool:
    if isinstance(a, BoundCall) and isinstance(b, BoundCall):
        return a.function is b.function and _equal(a.bound, b.bound)
    if isinstance(a, RandomDraw) and isinstance(b, RandomDraw):
        cells = [getattr(d.draw, "__closure__", None) or () for d in (a, b)]
        held = [[c.cell_contents for c in of_draw] for of_draw in cells]
        codes = [getattr(d.draw, "__code__", None) for d in (a, b)]
        return codes[0] is codes[1] and _equal(*held)
    return bool(a == b)


def _equal(a: Any, b: Any) -> bool:
    """Whether two arguments are the same, arrays by their elements."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[k], b[k]) for k in a)
    if isinstance(a, float) and a != a:
        return b != b
    if hasattr(a, "__dict__") and not callable(a) and "__eq__" not in vars(type(a)):
        return _equal(vars(a), vars(b))
    return bool(a == b)


def _equal_tensors(a: Tensor, b: Tensor) -> bool:
    return a is b or _equal(memory_of(a), memory_of(b))


def _described(node: Node) -> str:
    return f"{node.op} {node.target}" if isinstance(node.target, str) else node.name


def _place(node: Node) -> str:
    """An operation and its line."""
    line = (node.stack_trace or "").strip().splitlines()
    at = line[0].strip().removeprefix("File ") if line else "no line"
    return f"{_described(node)} ({at})"
