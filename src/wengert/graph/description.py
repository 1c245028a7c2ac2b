"""A graph as data: each node, its line, what it saved, its bytes, what a backward would free."""

from __future__ import annotations

import dataclasses
import json
import linecache
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from wengert.autograd import naming
from wengert.autograd.edges import GradientEdge, node_at
from wengert.autograd.saved.packing import arrays_in
from wengert.core import dtypes
from wengert.core.references import other_references
from wengert.core.sparse import stored_array
from wengert.core.storage import format_location, line_numbers, owner
from wengert.core.tensor import Leaf, Node, Tensor, memory_of, nodes_below
from wengert.graph import _tables
from wengert.graph._flops import Flops, flops_of, summed
from wengert.graph._module_paths import ModulePaths, parameter_names
from wengert.graph._saved import kept_by, size_of_packed
from wengert.graph._tables import Row, Table
from wengert.graph.formatting import (
    format_bytes,
    format_count,
    format_flops,
    format_memory,
    shorten_path,
)
from wengert.graph.memory import without_collecting

LEAF, LIVE = "leaf", "live"
_ROWS = 40


@dataclass(frozen=True, slots=True)
class SavedInfo:
    """A tensor that a node saved, without the tensor.

    Attributes:
        name: as in ``node._saved_<name>``.
        of: ``"input 0"``, ``"output"`` or ``"intermediate"``.
        shape: its shape, if it is known.
        dtype: its dtype, if it is known.
        nbytes: bytes of the storage that it is in, however much of that it shows.
        storage: the address of that storage, None for what a hook packed.
        leaf: whether the storage is that of a leaf (a parameter, mostly), which exists without the
            graph too.
    """

    name: str
    of: str
    shape: tuple[int, ...] | None
    dtype: str | None
    nbytes: int
    storage: int | None
    leaf: bool


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One node of a graph.

    Attributes:
        index: its place in the report, inputs before what is computed from them.
        op: the operation, as it was called.
        kind: the name of the node, such as ``MulBackward0``.
        where: ``file:line``, or in a notebook ``cell [2], line 3``.
        text: that line.
        module: the module inside of which it ran, such as ``Net.features.3``, or nothing.
        shape: of what it computed.
        inputs: the indices of the nodes of its inputs; None for an input without one.
        saved: the tensors that it keeps.
        nbytes: bytes of their storages, of those that no earlier node of the report keeps and
            that are no leaf's.
        frees: as much of that as a backward gives back, because nothing else holds it.
        state: ``"leaf"``, ``"live"``, or the call and the line that released it.
        roots: from which of the roots a backward gets here: positions in the report's `roots`.
        calls: the calls of modules inside of which it ran, outermost first: the name that each
            adds to `module`, and a number that no other call in the report has.
        name: of a leaf that is a parameter: its name in the module that used it first.
        output: of a node that only stands for one output of the operation below it: which.
        flops: floating-point operations of the call and of its derivative; None where they are
            not known, as of a released node.
    """

    index: int
    op: str
    kind: str
    where: str
    text: str
    module: str
    shape: tuple[int, ...]
    inputs: tuple[int | None, ...]
    saved: tuple[SavedInfo, ...]
    nbytes: int
    frees: int
    state: str
    roots: tuple[int, ...]
    calls: tuple[tuple[str, int], ...] = ()
    name: str = ""
    output: int | None = None
    flops: Flops | None = None

    @property
    def released(self) -> bool:
        """Whether a backward has let go of what it saved."""
        return self.state not in (LEAF, LIVE)


@dataclass(frozen=True, slots=True)
class Group:
    """The nodes of one line, or of one module: how many, their bytes, what they compute."""

    name: str
    text: str
    nodes: int
    nbytes: int
    frees: int
    released: int
    flops: Flops


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What `describe` found. Printed, it is a table; a notebook shows it as HTML.

    Attributes:
        nodes: all nodes, leaves among them, inputs first.
        roots: the indices of the nodes that were asked about, in their order.
        nbytes: bytes that the graph keeps; each storage once, leaves apart.
        leaf_bytes: bytes of saved storages that are those of leaves.
        frees: what a backward gives back of `nbytes`.
        flops: floating-point operations of the calls and of a backward, as far as they are known.
    """

    nodes: tuple[NodeInfo, ...]
    roots: tuple[int, ...]
    nbytes: int
    leaf_bytes: int
    frees: int
    flops: Flops

    def by_line(self) -> list[Group]:
        """The nodes by their line of code, the most bytes first."""
        return _groups(self.nodes, lambda n: (n.where, n.text))

    def by_module(self) -> list[Group]:
        """The nodes by the module inside of which they ran, the most bytes first."""
        return _groups(self.nodes, lambda n: (n.module or "(no module)", ""))

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; the options are those of ``json.dumps``."""
        return json.dumps(self.to_dict(), **options)

    def table(self, by: str = "line", rows: int = _ROWS) -> str:
        """A table by ``"line"``, ``"module"`` or ``"node"``, of at most so many rows.

        Raises ValueError for another `by`.
        """
        return _table(self, by, rows).text()

    def show(self, by: str = "line", rows: int = _ROWS) -> None:
        """Print the summary and a table: in a terminal with rich, if it is installed.

        Raises ValueError as `table` does.
        """
        _tables.print_report(_summary(self), _table(self, by, rows))

    def __str__(self) -> str:
        return f"{_summary(self)}\n{self.table()}"

    __repr__ = __str__  # an interactive session shows it as it prints

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        yield from _tables.in_terminal(_summary(self), _table(self, "line", _ROWS))

    def _repr_html_(self) -> str:
        tables = {by: _table(self, by, _ROWS) for by in ("module", "line", "node")}
        return _tables.notebook(_summary(self), tables, "line")


def describe(*roots: Tensor | Node | GradientEdge) -> GraphReport:
    """The graph behind tensors, nodes or edges: each node, its line, what it saves, its bytes.

    Nothing is computed or unpacked. A released node keeps nothing and no longer knows the nodes
    below it: what is reported of it is who released it. Raises TypeError for another kind of
    root, and RuntimeError for a tensor without a graph.

    >>> import wengert
    >>> x = wengert.ones(3, requires_grad=True)
    >>> loss = (x + 2).exp().sum()
    >>> report = wengert.graph.describe(loss)
    >>> [node.op for node in report.nodes]
    ['AccumulateGrad', 'add', 'exp', 'sum']
    >>> report.nbytes, report.frees
    (12, 12)
    """
    if not roots:
        raise TypeError("describe() takes at least one tensor, node or edge")
    tops = [_node_of(root) for root in roots]
    with without_collecting():
        return _Describer(tops).report()


def report_of(nodes: Sequence[NodeInfo], roots: Sequence[int]) -> GraphReport:
    """The report of some nodes, by the indices of those that were asked about."""
    of_leaves = {s.storage: s.nbytes for node in nodes for s in node.saved if s.leaf}
    return GraphReport(
        nodes=tuple(nodes),
        roots=tuple(roots),
        nbytes=sum(node.nbytes for node in nodes),
        leaf_bytes=sum(of_leaves.values()),
        frees=sum(node.frees for node in nodes),
        flops=summed(node.flops for node in nodes),
    )


def _node_of(root: Any) -> Node:
    if isinstance(root, Node):
        return root
    if not isinstance(root, (Tensor, GradientEdge)):
        raise TypeError(
            f"describe(): a root must be a Tensor, a Node or a GradientEdge, not"
            f" {type(root).__name__}"
        )
    node = root._edge if isinstance(root, Tensor) else node_at(root, [])
    if node is None:
        raise RuntimeError(
            "describe(): the tensor does not require grad and does not have a grad_fn: nothing"
            " recorded how it was made (wengert.graph.why says why)"
        )
    return node


def _roots_above(nodes: list[Node], roots: list[Node]) -> dict[int, tuple[int, ...]]:
    """For the id of each node, the positions of the roots that it is below, or is."""
    marks = dict.fromkeys(map(id, nodes), 0)  # a bit for each root
    for k, root in enumerate(roots):
        marks[id(root)] |= 1 << k
    for node in reversed(nodes):
        mark = marks[id(node)]
        for edge in node.edges:
            if edge is not None:
                marks[id(edge)] |= mark
    read = {
        mark: tuple([k for k in range(len(roots)) if mark >> k & 1]) for mark in {*marks.values()}
    }
    return {key: read[mark] for key, mark in marks.items()}


class _Describer:
    """Reads nodes; remembers what many of them share."""

    def __init__(self, roots: list[Node]) -> None:
        self.roots = roots
        self.nodes = nodes = nodes_below(roots)
        self.above = _roots_above(nodes, roots)
        self.index = {id(node): k for k, node in enumerate(nodes)}
        self.sites = ModulePaths()
        self.names = parameter_names(nodes)
        self.places: dict[tuple[int, int], tuple[str, str]] = {}
        self.lines: dict[int, dict[int, int]] = {}  # of the instructions of each code, by its id
        self.of_leaves = {
            id(owner(memory_of(t)))
            for n in nodes
            if type(n) is Leaf and (t := n.tensor()) is not None
        }
        self.arrays = [_arrays(node) for node in nodes]
        self.held = _held_elsewhere(self.arrays)
        self.counted = set(self.of_leaves)  # storages, by their ids
        self.dtypes: dict[np.dtype[Any], str] = {}
        self.addresses: dict[int, int] = {}  # of storages, by their ids

    def report(self) -> GraphReport:
        infos = [self.info(k, node) for k, node in enumerate(self.nodes)]
        return report_of(infos, [self.index[id(root)] for root in self.roots])

    def info(self, index: int, node: Node) -> NodeInfo:
        where, text = self.line(node)
        module, calls = self.sites.read(node.site)
        nbytes = frees = 0
        for array in self.arrays[index]:
            base = owner(array)
            if id(base) not in self.counted:
                self.counted.add(id(base))
                nbytes += base.nbytes
                frees += 0 if id(base) in self.held else base.nbytes
        return NodeInfo(
            index=index,
            op=naming.op_name(node),
            kind=node.name(),
            where=where,
            text=text,
            module=module,
            shape=tuple(node.shape),
            inputs=tuple([None if e is None else self.index[id(e)] for e in node.edges]),
            saved=() if type(node) is Leaf else self.saved(node),
            nbytes=nbytes,
            frees=frees,
            state=_state(node),
            roots=self.above[id(node)],
            calls=calls,
            name=self.names.get(id(node), ""),
            output=node.index,
            flops=flops_of(node),
        )

    def saved(self, node: Node) -> tuple[SavedInfo, ...]:
        return tuple(
            [
                self.described(name, of, value)
                for name, of, value in kept_by(node)
                if of != "argument" and value is not None
            ]
        )

    def described(self, name: str, of: str, value: Any) -> SavedInfo:
        if isinstance(value, Tensor):  # of a derivative inside another transform
            value = stored_array(value)
        if isinstance(value, np.ndarray):
            base = owner(value)
            of_leaf = id(base) in self.of_leaves
            dtype = self.dtype(value.dtype)
            return SavedInfo(name, of, value.shape, dtype, base.nbytes, self.address(base), of_leaf)
        packed = size_of_packed(value)
        if packed is None:
            return SavedInfo(name, of, None, None, 0, None, False)
        return SavedInfo(name, of, value.shape, self.dtype(value.dtype), packed, None, False)

    def dtype(self, dtype: np.dtype[Any]) -> str:
        if dtype not in self.dtypes:
            self.dtypes[dtype] = str(dtypes.of_numpy[dtype]).removeprefix("torch.")
        return self.dtypes[dtype]

    def address(self, base: np.ndarray) -> int:
        if id(base) not in self.addresses:
            self.addresses[id(base)] = base.__array_interface__["data"][0]
        return self.addresses[id(base)]

    def line(self, node: Node) -> tuple[str, str]:
        code = node.code
        key = id(code), node.lasti
        if key not in self.places:
            if id(code) not in self.lines:
                self.lines[id(code)] = line_numbers(code)
            number = self.lines[id(code)].get(node.lasti, code.co_firstlineno)
            text = linecache.getline(code.co_filename, number).strip()
            self.places[key] = format_location(code.co_filename, number), text
        return self.places[key]


def _state(node: Node) -> str:
    if type(node) is Leaf:
        return LEAF
    call = None if node.state is None else node.state.released
    return LIVE if call is None else f"released by {naming.describe_call(call)}"


def _arrays(node: Node) -> list[np.ndarray]:
    arrays = []
    for slot, _ in node.saved:
        value = getattr(node, slot)
        if type(value) is np.ndarray:
            arrays.append(value)
        elif value is not None:
            arrays += arrays_in(value)
    return arrays


def _held_elsewhere(saved: list[list[np.ndarray]]) -> set[int]:
    """The ids of saved storages that something outside of the nodes holds.

    By counting references: to each saved array from the nodes' slots and from these lists, and to
    each storage from the saved arrays that are views of it. Whatever is left is somebody else's.
    """
    slots: dict[int, int] = {}
    arrays: dict[int, np.ndarray] = {}
    array = base = under = None  # the loops' variables would count as holders
    for array in chain.from_iterable(saved):
        slots[id(array)] = slots.get(id(array), 0) + 1
        arrays[id(array)] = array
    views: dict[int, int] = {}
    bases: dict[int, np.ndarray] = {}
    for array in arrays.values():
        base = array.base
        if base is not None and not isinstance(base, np.ndarray):
            base = None if (under := owner(array)) is array else under
        if base is not None:
            views[id(base)] = views.get(id(base), 0) + 1
            bases[id(base)] = base
    array = base = under = None
    held = set()
    for key in list({**arrays, **bases}):
        value = arrays.get(key)
        several = (key in arrays) + (key in bases)  # of these dictionaries
        if value is None:
            value = bases[key]
        if other_references(value) > 2 * slots.get(key, 0) + views.get(key, 0) + several:
            held.add(id(owner(value)))
    return held


def _groups(nodes: Iterable[NodeInfo], key: Any) -> list[Group]:
    members_of: dict[tuple[str, str], list[NodeInfo]] = {}
    for node in nodes:
        if node.state != LEAF:
            members_of.setdefault(key(node), []).append(node)
    groups = [
        Group(
            name=name,
            text=text,
            nodes=len(members),
            nbytes=sum(n.nbytes for n in members),
            frees=sum(n.frees for n in members),
            released=sum(n.released for n in members),
            flops=summed(n.flops for n in members),
        )
        for (name, text), members in members_of.items()
    ]
    return sorted(groups, key=lambda g: g.nbytes, reverse=True)


def _summary(report: GraphReport) -> str:
    leaves = sum(n.state == LEAF for n in report.nodes)
    count = len(report.nodes) - leaves
    text = (
        f"{format_count(count, 'operation')} over {format_count(leaves, 'leaf')}"
        f" keep{'s' * (count == 1)} {format_memory(report.nbytes, report.leaf_bytes)};"
        f" backward frees {format_bytes(report.frees)}"
    )
    released = sum(n.released for n in report.nodes)
    text += f"; {released:,} {'is' if released == 1 else 'are'} released" if released else ""
    forward, backward = map(format_flops, report.flops)
    return f"{text}; {forward} forward, {backward} backward" if any(report.flops) else text


def _table(report: GraphReport, by: str, most: int) -> Table:
    """Numbers stand first, and what may be long last; columns that would be empty are left out."""
    total = max(report.nbytes, 1)
    some, computed = any(node.released for node in report.nodes), any(report.flops)
    numbers = ["bytes", "frees", *["forward", "backward"] * computed]
    if by == "node":
        nodes = [node for node in report.nodes if node.state != LEAF]
        inside = any(node.module for node in nodes[:most])
        head = [*numbers, "op", "shape", "line"]
        head += ["module"] * inside + ["saves"] + ["state"] * some
        rows = [
            Row(
                [*_numbers(n, computed), *_node_row(n, inside, some)],
                n.nbytes / total,
                n.released,
            )
            for n in nodes[:most]
        ]
        return Table(head, rows, len(nodes), set(range(len(numbers))), 0)
    if by not in ("line", "module"):
        raise ValueError(f"by must be 'line', 'module' or 'node', and is {by!r}")
    groups = report.by_line() if by == "line" else report.by_module()
    rows = [
        Row(
            [*_numbers(g, computed), *_group_row(g, some)],
            g.nbytes / total,
            g.released == g.nodes,
        )
        for g in groups[:most]
    ]
    head = [*numbers, "nodes", *["released"] * some, by]
    return Table(head, rows, len(groups), set(range(len(head) - 1)), 0)


def _numbers(item: NodeInfo | Group, computed: bool) -> list[str]:
    flops = [format_flops(count) for count in item.flops] if item.flops else ["", ""]
    return [
        format_bytes(item.nbytes),
        format_bytes(item.frees),
        *flops * computed,
    ]


def _group_row(group: Group, some: bool) -> list[str]:
    return [
        f"{group.nodes:,}",
        *[f"{group.released:,}"] * some,
        f"{shorten_path(group.name)}  {group.text}".rstrip(),
    ]


def _node_row(node: NodeInfo, inside: bool, some: bool) -> list[str]:
    saves = ", ".join(
        f"{s.name}{'' if s.shape is None else list(s.shape)}{' (leaf)' * s.leaf}"
        for s in node.saved
    )
    return [
        node.op, str(list(node.shape)), shorten_path(node.where), *[node.module] * inside,
        saves, *[shorten_path(node.state)] * some,
    ]  # fmt: skip
