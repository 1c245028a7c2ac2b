"""`requires_grad_()` of a value that was computed: a leaf in the middle of a program.

From there on it is an input of the run, whose elements the program has computed.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from wengert.core.tensor import caller, getframe, leaf_of, mode, tick
from wengert.replay.deferred import Deferred, become_leaf
from wengert.replay.run import Run
from wengert.replay.state import active, asking, unusual
from wengert.replay.trace import LEAF, Input, LeafEntry

_NOTHING = np.empty(0)


def became_leaf(tensor: Any) -> bool:
    """Whether a value of a run is a leaf now; if not, it becomes one as ever."""
    run = active.run
    if not asking or active.busy or unusual() or run is None or run.settled:
        return False
    place = run.place_of(tensor)
    if place is None or place in run.updates or run.record.exact:
        return False
    outline = tensor._outline
    if outline.requires_grad if type(tensor) is Deferred else tensor._edge is not None:
        return False
    if type(tensor) is Deferred and tensor._pending[3] is not None:
        return False  # it shows another
    line = caller(getframe(2))
    one = Input(outline.shape, outline.strides, outline.dtype, LEAF, True)
    key = "leaf", place, one, *line
    child = None if run.recording else run.entry.children.get(key)
    if child is None:
        return _record(run, tensor, place, one, key, line)
    with run.lock:
        if run.settled:
            return False
        run.entry.hot = run.entry = child
        run.steps.append((mode.site, None, tick()))
        edge = leaf_of(tensor)
        become_leaf(tensor, (run, ~place, outline._replace(requires_grad=True), None), edge)
        run.leaves[place] = len(run.tensors)
        run.slots[id(tensor)] = len(run.tensors)
        run.tensors.append(weakref.ref(tensor))
        run.arrays.append(_NOTHING)
        run.originals.append(_NOTHING)
        run.edges.append(edge)
    return True


def _record(run: Run, tensor: Any, place: int, one: Input, key: Any, line: tuple[Any, int]) -> bool:
    """Note in the record that a value becomes a leaf, which it does as ever."""
    run._leave_record()
    del run.recorded[id(tensor)]
    if run.has_room():
        entry = LeafEntry(run.entry, line, place, len(run.tensors))
        entry.inputs = (one,)
        run.grow(entry, key)
        run.slots[id(tensor)] = len(run.tensors)
        run.leaves[place] = len(run.tensors)
        run.tensors.append(weakref.ref(tensor))
    return False
