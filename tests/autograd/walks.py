"""Walks whose stages are called one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert
from wengert.autograd.edges import references_of
from wengert.autograd.engine import Walk
from wengert.core.tensor import Node, Tensor

ONES = np.ones(2, np.float32)


def walk(retain: bool | str = False, create_graph: bool = False) -> Walk:
    return Walk("backward()", retain, create_graph)


def planned(*tensors: Tensor, retain: bool | str = False) -> Walk:
    it = walk(retain)
    it.plan(tuple(edge(t) for t in tensors))
    return it


def edge(tensor: Tensor) -> Node:
    assert tensor._edge is not None
    return tensor._edge


def leaf(*values: float) -> Tensor:
    return wengert.tensor(values or (1.0, 2.0), requires_grad=True)


def names(it: Walk) -> list[str]:
    """The plan, oldest first."""
    return [type(node).__name__.removesuffix("Backward0") for node in it.order]


def ran(*tensors: Tensor, retain: bool | str = False, **options: Any) -> Walk:
    it = walk(retain, **options)
    if retain == "auto":
        it.own_references = references_of(tensors)
    it.go(tuple(edge(t) for t in tensors), [np.ones(t.shape, np.float32) for t in tensors])
    return it
