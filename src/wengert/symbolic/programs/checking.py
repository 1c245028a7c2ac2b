"""What `DebugMode` checks of rewrites: that the values they put in place are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from wengert.symbolic.graph import Apply, toposort
from wengert.symbolic.modes import BadOptimization, DebugMode, Mode, StochasticOrder
from wengert.symbolic.programs.assembly import Program
from wengert.symbolic.programs.registered import Rewrite, active

_MOST_NODES = 2000  # rewrites may go on for ever, each on what another has put in place


class Replacement(NamedTuple):
    """A variable, what a rewrite put in its place, and a program that computes both."""

    reason: str
    old: Any
    new: Any
    program: Program


class RewriteChecks:
    """Runs a program, and compares the values of what rewrites put in place with the others'."""

    def __init__(self, program: Program, results: Sequence[Any], mode: DebugMode) -> None:
        self.program, self.patience = program, mode.stability_patience
        self.inputs = inputs = program.inputs
        self.replacements: list[Replacement] = []
        chosen = mode.provided_optimizer
        chosen = getattr(chosen, "mode", chosen)
        rules = chosen if isinstance(chosen, Mode) else Mode(optimizer=chosen)
        if hasattr(rules.optimizer, "changed"):
            self._note(str(chosen), results, rules.optimizer.changed(inputs, results))
            return
        own = active(rules.including(*mode.included).excluding(*mode.excluded))
        for rewrite in own:
            if rewrite.change is not None:
                self._note(rewrite.name, results, rewrite.change(inputs, results))
        self._visit([r for r in own if r.transform is not None], results)

    def _visit(self, rewrites: Sequence[Rewrite], results: Sequence[Any]) -> None:
        """Try rewrites on all nodes, also of what they put in place."""
        nodes = toposort(results, set(self.inputs))
        seen = set(nodes)
        for node in nodes:  # which grows
            for rewrite in rewrites:
                new = self._tried(rewrite, node) if rewrite.tracked(node) else None
                if new is None:
                    continue
                self._note(rewrite.name, node.outputs, new)
                more = [n for n in toposort(new, set(self.inputs)) if n not in seen]
                if len(seen) + len(more) <= _MOST_NODES:
                    seen.update(more)
                    nodes += more

    def _tried(self, rewrite: Rewrite, node: Apply) -> Sequence[Any] | None:
        """What stands for a node; StochasticOrder if another try gives something else."""
        first = rewrite.results(node)
        for _ in range(self.patience - 1):
            if (rewrite.results(node) is None) != (first is None):
                raise StochasticOrder(
                    f"the rewrite {rewrite.name} changes {node} at one time, and not at another"
                )
        return first

    def _note(self, reason: str, old: Sequence[Any], new: Sequence[Any]) -> None:
        for before, after in zip(old, new, strict=True):
            if before is after:
                continue
            try:
                before.type.filter_variable(after)
            except TypeError:
                raise BadOptimization(before, after, None, None, reason) from None
            program = Program(self.inputs, [before, after])
            self.replacements.append(Replacement(reason, before, after, program))

    def __call__(self, *values: Any) -> Any:
        """What the program gives.

        BadOptimization where a rewrite changes values, ValueError where its result is none.
        """
        results = self.program(*values)
        for reason, old, new, program in self.replacements:
            try:
                before, after = program(*values)
            except Exception as error:
                raise ValueError(
                    f"An optimization (probably {reason}) inserted an apply node that raise an"
                    f" error: {new.owner}: {error}"
                ) from error
            equal = getattr(new.tag, "values_eq_approx", None) or old.type.values_eq_approx
            if not equal(before, after):
                raise BadOptimization(old, new, before, after, reason)
        return results
