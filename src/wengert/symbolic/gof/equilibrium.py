"""Rewrites that run until nothing changes, and those that walk the nodes of a graph."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from wengert.symbolic.gof.fg import FunctionGraph
from wengert.symbolic.gof.rewrites import Optimizer, tracks_of
from wengert.symbolic.gof.toolbox import NodeFinder
from wengert.symbolic.graph import Apply
from wengert.symbolic.programs.registered import Rewrite
from wengert.symbolic.settings import config

_log = logging.getLogger("theano.gof.opt")


class NavigatorOptimizer(Optimizer):
    """Applies a rewrite of single nodes; a subclass has `apply`, which says to which nodes.

    Args:
        local_opt: the rewrite.
        ignore_newtrees: whether nodes that the rewrite makes are left alone.
        failure_callback: called with the error, this object, the replacements, the rewrite and the
            node if the rewrite fails; without it errors are raised.
    """

    def __init__(
        self, local_opt: Any, ignore_newtrees: Any = "auto",
        failure_callback: Callable[..., Any] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.local_opt = local_opt
        reentrant = getattr(local_opt, "reentrant", True)
        self.ignore_newtrees = not reentrant if ignore_newtrees == "auto" else ignore_newtrees
        self.failure_callback = failure_callback
        self.name = getattr(local_opt, "name", None)

    def process_node(self, fgraph: FunctionGraph, node: Apply, lopt: Any = None) -> bool:
        """Rewrite one node, and say whether that changed anything."""
        lopt = self.local_opt if lopt is None else lopt
        rewrite = Rewrite(str(lopt), frozenset(), tracks_of(lopt), lopt.transform)
        try:
            with config.change_flags(on_opt_error="raise"):
                new = rewrite.results(node) if rewrite.tracked(node) else None
            if new is None:
                return False
            fgraph.replace_all(zip(node.outputs, new, strict=True), str(lopt))
        except Exception as error:
            if self.failure_callback is None:
                raise
            self.failure_callback(error, self, [], lopt, node)
            return False
        return True


class OpKeyOptimizer(NavigatorOptimizer):
    """Applies a rewrite that has `op_key` to the nodes of that operation, new ones as well."""

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """The graph has to find nodes."""
        fgraph.attach_feature(NodeFinder())

    def apply(self, fgraph: FunctionGraph) -> None:
        """Rewrite the nodes."""
        key = self.local_opt.op_key()
        done: set[Apply] = set()
        todo = list(_nodes_of(fgraph, key))
        while todo:
            node = todo.pop()
            done.add(node)
            if node in fgraph.apply_nodes and self.process_node(fgraph, node):
                fresh = [] if self.ignore_newtrees else _nodes_of(fgraph, key)
                todo += [n for n in fresh if n not in done and n not in todo]


def _nodes_of(fgraph: FunctionGraph, key: Any) -> list[Apply]:
    ops = key if isinstance(key, list | tuple) else [key]
    return [n for n in fgraph.toposort() if any(n.op == op for op in ops)]


class EquilibriumOptimizer(NavigatorOptimizer):
    """Runs rewrites, of single nodes and of whole graphs, until none of them changes anything.

    Args:
        optimizers: the rewrites.
        max_use_ratio: how often each may change something, per node of the graph; those that reach
            that are logged, and run no more. By default `config.optdb.max_use_ratio`.
        final_optimizers, cleanup_optimizers: rewrites of whole graphs for the end of each round.

    >>> from wengert.symbolic import gof
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dscalar("x")
    >>> graph = gof.FunctionGraph([x], [T.sqrt(T.sqr(T.sqrt(T.sqr(x))))])
    >>> rules = [gof.PatternSub((T.sqrt, (T.sqr, "a")), (T.abs_, "a")),
    ...          gof.PatternSub((T.abs_, (T.abs_, "a")), (T.abs_, "a"))]
    >>> gof.EquilibriumOptimizer(rules, max_use_ratio=10).optimize(graph)
    >>> graph
    [Elemwise{abs_,no_inplace}(x)]
    """

    def __init__(
        self, optimizers: Sequence[Any], failure_callback: Callable[..., Any] | None = None,
        ignore_newtrees: bool = True, tracks_on_change_inputs: bool = False,
        max_use_ratio: float | None = None, final_optimizers: Sequence[Any] | None = None,
        cleanup_optimizers: Sequence[Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(None, ignore_newtrees, failure_callback)
        self.local_optimizers = [o for o in optimizers if hasattr(o, "transform")]
        self.global_optimizers = [o for o in optimizers if not hasattr(o, "transform")]
        self.final_optimizers = list(final_optimizers or ())
        self.cleanup_optimizers = list(cleanup_optimizers or ())
        ratio = config.optdb.max_use_ratio if max_use_ratio is None else max_use_ratio
        self.max_use_ratio: float = ratio

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Those of the rewrites."""
        for opt in (*self.local_optimizers, *self._of_graphs()):
            getattr(opt, "add_requirements", lambda graph: None)(fgraph)

    def _of_graphs(self) -> list[Any]:
        return [*self.global_optimizers, *self.cleanup_optimizers, *self.final_optimizers]

    def apply(self, fgraph: FunctionGraph) -> None:
        """Run them."""
        most = max(1, len(fgraph.apply_nodes)) * self.max_use_ratio
        uses: dict[int, int] = {}
        exhausted: list[str] = []

        def counted(opt: Any) -> None:
            uses[id(opt)] = uses.get(id(opt), 0) + 1
            if uses[id(opt)] >= most:
                exhausted.append(str(opt))

        changed = True
        while changed and not exhausted:
            changed = self._ran(fgraph, self.global_optimizers, counted)
            for node in fgraph.toposort():
                for opt in self.local_optimizers:
                    if node not in fgraph.apply_nodes:
                        break
                    if self.process_node(fgraph, node, opt):
                        changed = True
                        counted(opt)
                self._ran(fgraph, self.cleanup_optimizers if changed else (), lambda opt: None)
            changed |= self._ran(fgraph, self.final_optimizers, counted)
        if exhausted:
            _log.error("EquilibriumOptimizer max'ed out by '%s'.", ", ".join(exhausted))

    @staticmethod
    def _ran(fgraph: FunctionGraph, opts: Sequence[Any], note: Callable[[Any], None]) -> bool:
        """Run rewrites of the whole graph, and say whether one changed it."""
        changed = False
        for opt in opts:
            before = fgraph.apply_nodes, list(fgraph.outputs)
            opt.apply(fgraph)
            if before != (fgraph.apply_nodes, fgraph.outputs):
                changed = True
                note(opt)
        return changed
