"""Adding gradients to `.grad`: all gradients of a walk, or none.

Everything that allocates or may raise is computed first; then one call into C adds and
assigns. Python handles signals between bytecodes, so no `KeyboardInterrupt` can interrupt it,
and a lock keeps out other threads that add to the same tensors.
"""

from __future__ import annotations

import os
from collections import deque
from contextvars import copy_context
from itertools import chain, starmap
from sys import getrefcount
from threading import RLock
from typing import Any

import numpy as np

from wengert.core.references import ALONE
from wengert.core.sparse import SparseTensor
from wengert.core.storage import before_writes
from wengert.core.tensor import Leaf, Node, Tensor, wrap
from wengert.kernels.layout import copy, in_c_order, is_dense, repeats, write
from wengert.ops.shape import clone

_set_grad = Tensor.__dict__["_grad"].__set__


class Committing:
    """The lock that allows one commit at a time, and the context it runs in."""

    def __init__(self) -> None:
        self.lock = RLock()
        # NumPy warnings are off: an overflow must not raise between two additions.
        self.quiet = copy_context()
        self.quiet.run(np.seterr, all="ignore")


_committing = Committing()
if hasattr(os, "register_at_fork"):  # a thread missing in the child may hold them
    os.register_at_fork(after_in_child=_committing.__init__)  # type: ignore[misc]


def commit(gradients: dict[Node, Any]) -> None:
    """Add the gradients that arrived at nodes to the `.grad` of their tensors; empty the table."""
    with _committing.lock:
        adds: list[tuple[np.ndarray, Any, np.ndarray]] = []
        new_gradients: dict[int, tuple[Tensor, Tensor]] = {}
        replaced: list[Tensor] = []  # keep the old values alive: no finalizer may run in between
        for node in list(gradients):
            g = gradients.pop(node)
            tensor = _holder(node)
            if tensor is None:
                continue
            entry = new_gradients.get(id(tensor))
            before = getattr(tensor, "_grad", None) if entry is None else entry[1]
            if before is None:
                into = tensor._array
                first = clone(g) if isinstance(g, Tensor) else wrap(own_array(g, into.dtype, into))
                new_gradients[id(tensor)] = tensor, first
            elif isinstance(before, SparseTensor):
                replaced.append(before)
                more = g if isinstance(g, Tensor) else wrap(g)
                new_gradients[id(tensor)] = tensor, _sum_with_sparse(before, more)
            elif isinstance(g, Tensor) or before._edge is not None:
                replaced.append(before)
                new_gradients[id(tensor)] = (
                    tensor,
                    before + (g if isinstance(g, Tensor) else wrap(g)),
                )
            elif (into := before._array).shape == g.shape and _takes_sums(into):
                adds.append((into, g if g.dtype == into.dtype else g.astype(into.dtype), into))
            else:
                replaced.append(before)
                new_gradients[id(tensor)] = tensor, before + wrap(g)
        if adds:
            before_writes(into for _, _, into in adds)
            _committing.quiet.run(
                deque, chain(starmap(np.add, adds), starmap(_set_grad, new_gradients.values())), 0
            )
        else:
            deque(starmap(_set_grad, new_gradients.values()), 0)


def _takes_sums(array: np.ndarray) -> bool:
    """Whether each element can be added to, that is, none is repeated by expansion."""
    flags = array.flags
    return flags.writeable and (flags.c_contiguous or not repeats(array))


def _holder(node: Node) -> Tensor | None:
    """The tensor whose gradient arrived at a node: a leaf, or one that called `retain_grad()`."""
    if isinstance(node, Leaf):
        return node.tensor()
    retain = node.state.retain if node.state is not None else None
    return None if retain is None else retain()


def own_array(
    g: Any, dtype: np.dtype[Any], like: np.ndarray | None = None, as_it_lies: bool = False
) -> Any:
    """Return `g` in a dtype, as an array that only the caller's variable refers to.

    Its layout is that of `like` if that is a dense array, its own if that is dense and it is to be
    `as_it_lies`, otherwise C order. Call it directly where the last reference is held, not through
    another function: it counts references.
    """
    plain = type(g) is np.ndarray and g.base is None and g.dtype == dtype
    if as_it_lies and type(g) is np.ndarray and not g.flags.c_contiguous and is_dense(g):
        if plain and getrefcount(g) <= ALONE:
            return g
        return copy(g) if g.dtype == dtype else g.astype(dtype, order="K")
    if like is None or like.flags.c_contiguous:
        if plain and g.flags.c_contiguous and getrefcount(g) <= ALONE:
            return g
        alike = type(g) is np.ndarray and g.dtype == dtype
        return in_c_order(g) if alike else np.array(g, dtype=dtype, order="C")
    if plain and g.strides == like.strides and getrefcount(g) <= ALONE:
        return g
    out = np.empty_like(like, dtype)
    if out.strides != like.strides:
        out = np.empty(like.shape, dtype)
    if type(g) is np.ndarray and g.dtype == dtype:
        write(out, g)
    else:
        np.copyto(out, g, casting="unsafe")
    return out


def _sum_with_sparse(before: SparseTensor, more: Tensor) -> Tensor:
    """The sum with a sparse gradient: dense if the other is, else the values of both in order."""
    return before + more if isinstance(more, SparseTensor) else more + before
