"""``theano.gof.vm``: linkers by the names of Theano's virtual machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.symbolic.gof.link import Linker, NodeThunk
from wengert.symbolic.graph import Apply


class VM_Linker(Linker):  # noqa: N801
    """Runs a graph, and calls a function after each of its nodes.

    Args:
        callback: called with ``node``, ``thunk``, ``storage_map`` and ``compute_map``: cells of
            values, and whether they have been computed, of the node's inputs and outputs.
        allow_gc, use_cloop, lazy, schedule, c_thunks, allow_partial_eval: accepted.

    >>> from wengert.symbolic import Mode, function, gof
    >>> from wengert.symbolic import tensor as T
    >>> def shown(node, thunk, storage_map, compute_map):
    ...     print(node.op, storage_map[node.outputs[0]][0])
    >>> x = T.dscalar("x")
    >>> f = function([x], T.exp(x), mode=Mode(gof.vm.VM_Linker(callback=shown)))
    >>> f(0.0)
    Elemwise{exp,no_inplace} 1.0
    array(1.)
    """

    def __init__(
        self, allow_gc: bool | None = None, use_cloop: bool = False,
        callback: Callable[..., Any] | None = None, *, lazy: bool | None = None,
        schedule: Any = None, c_thunks: bool | None = None, allow_partial_eval: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(allow_gc)
        self.callback = callback
        if callback is not None:
            self.watch = self._call_back

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> Any:
        """A linker for a graph."""
        linker = type(self)(self.allow_gc, callback=self.callback)
        linker.fgraph = fgraph
        return linker

    def _call_back(self, node: Apply, compute: Callable[..., Any], inputs: Any) -> Any:
        thunk = NodeThunk(compute, inputs, node.nout)
        thunk()
        cells = dict(zip([*node.inputs, *node.outputs], thunk.inputs + thunk.outputs, strict=True))
        computed = {v: [True] for v in cells}
        if self.callback is not None:
            self.callback(node=node, thunk=thunk, storage_map=cells, compute_map=computed)
        values = [cell[0] for cell in thunk.outputs]
        return values[0] if node.nout == 1 else tuple(values)
