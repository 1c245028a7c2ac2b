"""Backwards that go on where others have come to: at inner nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.autograd._commit import commit
from wengert.autograd._final_callbacks import run_final_callbacks
from wengert.autograd.engine import Walk
from wengert.core.tensor import Call, Leaf, Node


class Onward:
    """The part of a `backward` that is below some nodes; what is above them, somebody else does.

    Attributes:
        call: the user's.
        leaves: those that it arrives at.
    """

    def __init__(self, nodes: Sequence[Node], retain: bool) -> None:
        self.nodes = tuple(nodes)
        self.walk = Walk("backward()", retain, False)
        self.walk.accumulates = True
        self.call: Call = self.walk.call
        self.leaves: list[Leaf] = []

    def is_free(self) -> bool:
        """Whether it can succeed, and nobody sees that it comes after the other part."""
        walk = self.walk
        walk.plan(self.nodes)
        self.leaves = [node for node in walk.order if type(node) is Leaf]
        states = [node.state for node in walk.stateful_nodes if node.state is not None]
        if walk.listeners or any(s.released or s.refusal or s.collector for s in states):
            return False
        try:
            walk.check()
        except RuntimeError:  # the whole backward is to raise it
            return False
        return True

    def go(self, seeds: Sequence[Any]) -> None:
        """Add the gradients of the leaves, given the cotangents of the nodes."""
        walk = self.walk
        try:
            walk.go(self.nodes, seeds)
            walk.final |= walk.retained
            walk.retained.clear()
            commit(walk.final)
        except BaseException:
            walk.interrupted()
            raise
        run_final_callbacks(walk)
