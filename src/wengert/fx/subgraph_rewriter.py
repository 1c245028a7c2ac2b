"""Replacing a pattern in a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wengert.fx._symbolic_trace import symbolic_trace
from wengert.fx.graph import Graph
from wengert.fx.graph_module import GraphModule
from wengert.fx.node import Node

Pattern = Callable[..., Any] | GraphModule


class Match(NamedTuple):
    """Where a pattern was found: its last node, and the node of the graph for each of its own.

    >>> import wengert
    >>> traced = wengert.fx.symbolic_trace(lambda x: x.relu())
    >>> wengert.fx.replace_pattern(traced, lambda y: y.relu(), lambda y: y.tanh())
    [Match(anchor=relu, nodes_map={relu: relu, y: x})]
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A match, and the nodes that stand there now.

    >>> import wengert
    >>> from wengert.fx.subgraph_rewriter import replace_pattern_with_filters
    >>> traced = wengert.fx.symbolic_trace(lambda x: x.relu())
    >>> matches = replace_pattern_with_filters(traced, lambda y: y.relu(), lambda y: y.tanh())
    >>> matches[0].replacements
    [tanh]
    """

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node] = field(default_factory=list)


def replace_pattern(gm: GraphModule, pattern: Pattern, replacement: Pattern) -> list[Match]:
    """Replace each place that computes `pattern` by `replacement`; returns what was replaced.

    Both are functions (or recorded modules) of the same inputs. Where two matches overlap, the
    earlier one counts; values inside of a match must not be read outside of it.

    >>> import wengert
    >>> traced = wengert.fx.symbolic_trace(lambda x: wengert.relu(x) + 1)
    >>> matches = wengert.fx.replace_pattern(traced, lambda x: x.relu(), lambda x: x.tanh())
    >>> len(matches)
    0
    >>> matches = wengert.fx.replace_pattern(traced, lambda x: wengert.relu(x), lambda x: x.tanh())
    >>> print(traced.code.strip())
    def forward(self, x):
        tanh = x.tanh();  x = None
        add = tanh + 1;  tanh = None
        return add
    """
    found = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(m.anchor, m.nodes_map) for m in found]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None = None,
    match_filters: list[Callable[[Any, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[Any, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """As `replace_pattern`, where ``filter(match, graph, pattern)`` is true for all filters.

    Args:
        ignore_literals: constants match whatever constants there are.
        replacement_callback: ``callback(match, graph, pattern)`` gives the graph to put in place
            of a match, instead of `replacement`.
        node_name_match: must be empty.

    >>> import wengert
    >>> from wengert.fx.subgraph_rewriter import replace_pattern_with_filters
    >>> traced = wengert.fx.symbolic_trace(lambda x: x * 3)
    >>> matches = replace_pattern_with_filters(
    ...     traced, lambda x: x * 0, lambda x: x.relu(), ignore_literals=True)
    >>> len(matches)
    1
    """
    if node_name_match:
        raise NotImplementedError(
            "replace_pattern_with_filters(): node_name_match is not supported"
        )
    wanted = _graph_of(pattern)
    substitute = None if replacement is None else _graph_of(replacement)
    last = wanted.output_node().args[0]
    if not isinstance(last, Node):
        raise NotImplementedError("replace_pattern: the pattern must return one value")
    replaced: list[ReplacedPatterns] = []
    erased: set[Node] = set()
    for node in list(gm.graph.nodes):
        matched: dict[Node, Node] = {}
        if not _matches(last, node, matched, ignore_literals) or not _closed(last, matched):
            continue
        inner = {n for p, n in matched.items() if p.op != "placeholder"}
        match = Match(node, matched)
        if inner & erased or not all(f(match, gm.graph, wanted) for f in match_filters or ()):
            continue
        own = substitute
        if replacement_callback is not None:
            own = replacement_callback(match, gm.graph, wanted)
        if own is None:
            raise AssertionError(
                "replace_pattern: expected a replacement or a replacement_callback"
            )
        replaced.append(_replace(gm, own, wanted, match, replaced))
        erased |= inner
    gm.recompile()
    return replaced


def _graph_of(program: Pattern) -> Graph:
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _matches(pattern: Node, node: Any, matched: dict[Node, Node], literals: bool) -> bool:
    """Whether a node computes what a node of the pattern does, given what is matched already."""
    if not isinstance(node, Node):
        return False
    if pattern in matched:
        return matched[pattern] is node
    if pattern.op == "placeholder":
        matched[pattern] = node
        return True
    if pattern.op != node.op or pattern.target != node.target:
        return False
    if len(pattern.args) != len(node.args) or pattern.kwargs.keys() != node.kwargs.keys():
        return False
    matched[pattern] = node
    pairs = [*zip(pattern.args, node.args, strict=True)]
    pairs += [(value, node.kwargs[name]) for name, value in pattern.kwargs.items()]
    return all(_same(p, n, matched, literals) for p, n in pairs)


def _same(pattern: Any, argument: Any, matched: dict[Node, Node], literals: bool) -> bool:
    """Whether arguments match; with `literals`, constants match all constants."""
    if isinstance(pattern, Node):
        return _matches(pattern, argument, matched, literals)
    if isinstance(pattern, list | tuple) and isinstance(argument, list | tuple):
        return len(pattern) == len(argument) and all(
            _same(p, a, matched, literals) for p, a in zip(pattern, argument, strict=True)
        )
    if literals and not isinstance(argument, Node):
        return True
    return type(pattern) is type(argument) and bool(pattern == argument)


def _closed(last: Node, matched: dict[Node, Node]) -> bool:
    """Whether only the result of a match is read outside of it."""
    inner = {node for pattern, node in matched.items() if pattern.op != "placeholder"}
    result = matched[last]
    return all(node is result or node.users.keys() <= inner for node in inner)


def _replace(
    gm: GraphModule,
    substitute: Graph,
    wanted: Graph,
    match: Match,
    earlier: list[ReplacedPatterns],
) -> ReplacedPatterns:
    inputs = [n for n in wanted.nodes if n.op == "placeholder"]
    others = [n for n in substitute.nodes if n.op == "placeholder"]
    if len(inputs) != len(others):
        raise ValueError(
            f"replace_pattern: the pattern has {len(inputs)} inputs, and the replacement"
            f" {len(others)}"
        )
    values = {
        other: _current(match.nodes_map[own], earlier)
        for own, other in zip(inputs, others, strict=True)
        if own in match.nodes_map
    }
    before = set(gm.graph.nodes)
    readers = match.anchor.users.keys()
    first = next((n for n in gm.graph.nodes if n in readers), match.anchor)
    with gm.graph.inserting_before(first):
        result = gm.graph.graph_copy(substitute, values)
    made = [node for node in gm.graph.nodes if node not in before]
    if not isinstance(result, Node):
        raise NotImplementedError("replace_pattern: the replacement must return one value")
    match.anchor.replace_all_uses_with(result)
    for pattern in reversed(wanted.nodes):
        node = match.nodes_map.get(pattern)
        if node is not None and pattern.op != "placeholder" and not node.users:
            gm.graph.erase_node(node)
    return ReplacedPatterns(match.anchor, match.nodes_map, made)


def _current(node: Node, earlier: list[ReplacedPatterns]) -> Node:
    """What stands for a node, if it was the result of an earlier match."""
    for match in earlier:
        if match.anchor is node:
            return match.replacements[-1] if match.replacements else node
    return node
