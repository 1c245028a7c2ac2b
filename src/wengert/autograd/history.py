"""The history of memory written in place: of a tensor, its root and their views."""

from __future__ import annotations

import functools
import weakref

from wengert.autograd import errors, naming
from wengert.autograd.refusals import refusal_node
from wengert.core.tensor import Leaf, Node, Tensor, root_of, state_of
from wengert.ops.strided import window_history, written_window


def rebase_history(target: Tensor, edge: Node | None) -> None:
    """Give `target` the history `edge`, and update its root and all views accordingly."""
    root = root_of(target)
    if root is target:
        set_edge(target, edge)
    elif edge is None and root._edge is None:
        return
    else:
        set_edge(root, written_window(root, target, edge))
    views = [r() for r in getattr(root, "_views", ())]  # a new view of the root joins the list
    for view in views:
        if view is None or (root._edge is None and type(view._edge) is Leaf):
            continue  # a leaf keeps its place if nothing else is recorded
        before = view._edge
        if view is not target and before is not None and getattr(before, "of_function", False):
            view._edge = refusal_node(before, (before,), functools.partial(_overridden, before))
        else:
            set_edge(view, None if root._edge is None else window_history(view, root))


def set_edge(tensor: Tensor, edge: Node | None) -> None:
    """Set a new history; `retain_grad()` and hooks now refer to the gradient of the new value."""
    before = tensor._edge
    tensor._edge = edge
    if edge is None and before is not None:
        tensor._cut = None
    if before is None or before.state is None or before.state.retain is None:
        return
    if before.state.retain() is tensor and edge is not None and edge is not before:
        before.state.retain = None
        state_of(edge).retain = weakref.ref(tensor)


def _overridden(before: Node) -> Exception:
    """The error for a view whose new history would bypass the derivative of a Function."""
    operation, index = before.output()
    return errors.GraphError(
        f"Output {index} of {operation.name().removesuffix('Backward')} is a view and its base or"
        " another view of its base has been modified inplace. This view was created inside a custom"
        " Function (or because an input was returned as-is) and the autograd logic to handle"
        " view+inplace would override the custom backward associated with the custom Function,"
        " leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning"
        f" the output of the custom Function.\n  made by: {naming.describe_node(operation)}"
    )
