"""All that is done to a graph before it becomes a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.symbolic.expressions.asserting import Assert
from wengert.symbolic.graph import replaced, toposort
from wengert.symbolic.modes import Mode
from wengert.symbolic.programs import algebra as algebra
from wengert.symbolic.programs import stability as stability
from wengert.symbolic.programs.grouping import fused
from wengert.symbolic.programs.registered import active
from wengert.symbolic.programs.rewriting import Rewriter
from wengert.symbolic.settings import config

# Tags of modes that take what programs assert for granted.
_TRUSTING = {"local_remove_all_assert", "unsafe"}


def optimized(results: Sequence[Any], inputs: Sequence[Any], mode: Mode) -> list[Any]:
    """Expressions in normal form; what stands before a function's inputs is not looked at."""
    if not mode.rewrites:
        return list(results)
    alone = getattr(mode.optimizer, "changed", None)
    if alone is not None:
        return list(alone(inputs, results))
    if mode.included & _TRUSTING:
        results = _without_assertions(results, inputs)
    own = active(mode)
    rewriter = Rewriter([r for r in own if r.transform is not None])
    for x in inputs:
        rewriter.normal[x] = x
    with config.change_flags(compute_test_value="off"):  # it is asked for where programs build
        final = rewriter.rewritten(results)
        for rewrite in own:
            if rewrite.change is not None:
                final = rewrite.change(inputs, final)
        return fused(final, inputs) if mode.fuses else final


def _without_assertions(results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    nodes = toposort(results, set(inputs))
    return replaced(results, {n.outputs[0]: n.inputs[0] for n in nodes if isinstance(n.op, Assert)})
