"""What saved values hold: each buffer once, leaves apart."""

from __future__ import annotations

import wengert
from wengert.autograd import engine
from wengert.graph import Held, held_by


def nodes_of(root):
    """Every node below a tensor."""
    order = [root._edge]
    for node in order:
        order.extend(e for e in node.edges if e is not None and e not in order)
    return order


def leaf(count=8):
    return wengert.tensor([1.0] * count, requires_grad=True)


def test_nothing_saved_nothing_held():
    assert held_by(nodes_of(-leaf() + 1)) == Held(0, 0)


def test_a_buffer_that_two_nodes_saved_counts_once():
    y = leaf().tanh()  # saves its output
    z = y * y  # saves the same array twice
    assert held_by(nodes_of(z)) == Held(graph=32, leaves=0)


def test_leaves_are_apart():
    w = leaf()
    x = wengert.tensor([2.0] * 8)
    assert held_by(nodes_of(w * x)) == Held(graph=32, leaves=0)
    assert held_by(nodes_of(w * w)) == Held(graph=0, leaves=32)


def test_a_view_counts_its_whole_buffer():
    x = wengert.from_numpy(wengert.tensor([1.0] * 100)._array[:8])
    assert held_by(nodes_of(leaf() * x)) == Held(graph=400, leaves=0)


def test_released_nodes_hold_nothing():
    y = leaf().tanh()
    z = (y * y).sum()
    nodes = nodes_of(z)
    assert held_by(nodes).graph == 32
    z.backward()
    assert held_by(nodes) == Held(0, 0)


def test_looking_leaves_no_observer():
    assert engine.observers == []
