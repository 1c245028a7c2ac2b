"""Which nodes only one of the two branches of a choice needs: they run if it is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.symbolic.graph import Apply


def is_lazy(node: Apply) -> bool:
    """Whether a node needs one half of its inputs, which its first input chooses."""
    return bool(getattr(node.op, "lazy", False))


Branches = dict[Apply, tuple[list[Apply], list[Apply]]]


def moved_nodes(inside: Branches) -> set[Apply]:
    """All nodes that branches have for themselves."""
    return {node for ways in inside.values() for way in ways for node in way}


def branches_of(nodes: Sequence[Apply], outputs: Sequence[Any]) -> Branches:
    """For each choice among nodes, those that only one of its branches needs."""
    choices = [node for node in nodes if is_lazy(node)]
    if not choices:
        return {}
    clients: dict[Any, list[Apply]] = {}
    for node in nodes:
        for x in node.inputs:
            clients.setdefault(x, []).append(node)
    result: Branches = {}
    results = set(outputs)
    for choice in choices:
        half = (len(choice.inputs) - 1) // 2
        ways = choice.inputs[1 : half + 1], choice.inputs[half + 1 :]
        own = []
        for values, others in (ways, ways[::-1]):
            elsewhere = {choice.inputs[0], *others}
            alone: set[Apply] = set()
            for node in reversed(nodes):
                if node is choice or any(v in results or v in elsewhere for v in node.outputs):
                    continue
                users = [c for v in node.outputs for c in clients.get(v, ())]
                if users and all(
                    c in alone or (c is choice and any(v in values for v in node.outputs))
                    for c in users
                ):
                    alone.add(node)
            own.append([n for n in nodes if n in alone])
        result[choice] = (own[0], own[1])
    return result
