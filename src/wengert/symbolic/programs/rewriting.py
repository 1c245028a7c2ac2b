"""Graphs brought into a normal form: equal expressions are one, constants are computed, and rules
put simpler or more exact expressions in place of others.

One walk from the inputs to the outputs does it. Every node is built again on inputs that are in
normal form already; a node that has been built before is taken instead. What a rule puts in a
node's place is brought into normal form in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.symbolic.expressions.elemwise import Elemwise, rebroadcast
from wengert.symbolic.expressions.type import TensorConstant, TensorType
from wengert.symbolic.graph import Apply, Constant, Variable, toposort
from wengert.symbolic.programs.registered import Rewrite

# A rule gives the variables that stand for a node's outputs, or None.
Rule = Callable[[Apply], Sequence[Any] | None]
# By the class of the operation, and by the name of the scalar for elementwise ones.
RULES: dict[Any, list[Rule]] = {}

_MOST_IN_A_ROW = 20  # rewrites of programs, each of what the one before has put in place
_LARGEST_CONSTANT = 1 << 12  # elements


def rule(*keys: Any) -> Callable[[Rule], Rule]:
    """Enter a rule for operations of some classes or scalars of some names."""

    def enter(function: Rule) -> Rule:
        for key in keys:
            RULES.setdefault(key, []).append(function)
        return function

    return enter


class Rewriter:
    """The walk, and the nodes that are in normal form."""

    def __init__(self, registered: Sequence[Rewrite] = ()) -> None:
        self.registered, self.depth = registered, 0
        self.normal: dict[Any, Any] = {}
        self.built: dict[Any, list[Any]] = {}
        self.constants: dict[Any, Any] = {}

    def rewritten(self, variables: Sequence[Any]) -> list[Any]:
        """Variables in normal form."""
        for node in toposort(variables, self.normal):
            if any(out in self.normal for out in node.outputs):
                continue
            outputs = self._outputs(node, [self._input(x) for x in node.inputs])
            for old, new in zip(node.outputs, outputs, strict=True):
                self.normal[old] = new
                self.normal.setdefault(new, new)
        return [self._input(v) for v in variables]

    def _input(self, x: Any) -> Any:
        if isinstance(x, Constant):
            return self.constants.setdefault((type(x), x.key()), x)
        return self.normal.get(x, x)

    def _outputs(self, node: Apply, inputs: list[Any]) -> list[Any]:
        try:
            key = (node.op, *inputs)
            built = self.built.get(key)
        except TypeError:  # an operation of a program that has no hash
            key, built = (id(node.op), *inputs), None
        if built is not None:
            return built
        fresh = node
        if any(a is not b for a, b in zip(inputs, node.inputs, strict=True)):
            fresh = node.clone_with_new_inputs(inputs)
        outputs = self._folded(fresh) or self._by_rules(fresh) or fresh.outputs
        self.built[key] = outputs
        return outputs

    def _by_rules(self, node: Apply) -> list[Any] | None:
        key = node.op.scalar_op.name if isinstance(node.op, Elemwise) else type(node.op)
        for apply_rule in (
            *RULES.get(key, ()),
            *RULES.get(Elemwise, ()) * (key is not type(node.op)),
        ):
            results = apply_rule(node)
            if results is not None:
                return self._in_place_of(node, results)
        return self._by_registered(node) if self.registered else None

    def _in_place_of(self, node: Apply, results: Sequence[Any]) -> list[Any]:
        fitted = [as_type(new, old.type) for new, old in zip(results, node.outputs, strict=True)]
        return self.rewritten(fitted)

    def _by_registered(self, node: Apply) -> list[Any] | None:
        if self.depth >= _MOST_IN_A_ROW:  # two rewrites may undo each other
            return None
        for rewrite in self.registered:
            results = rewrite.results(node) if rewrite.tracked(node) else None
            if results is not None:
                self.depth += 1
                try:
                    return self._in_place_of(node, results)
                finally:
                    self.depth -= 1
        return None

    def _folded(self, node: Apply) -> list[Any] | None:
        if not node.inputs or not all(isinstance(x, TensorConstant) for x in node.inputs):
            return None
        if not all(isinstance(out.type, TensorType) for out in node.outputs):
            return None
        if any(x.data.size > _LARGEST_CONSTANT for x in node.inputs) or not is_pure(node.op):
            return None
        if type(node.op).__name__ in _GROWING:
            return None
        try:
            values = node.op.kernel(node)(*[x.data for x in node.inputs])
        except Exception:
            return None  # it fails when the function is called, with its line
        results = []
        for out, value in zip(node.outputs, values if node.nout > 1 else (values,), strict=True):
            data = np.asarray(value)
            if data.size > _LARGEST_CONSTANT:
                return None
            results.append(self._input(TensorConstant(out.type, data)))
        return results


# Operations whose results may be larger than their inputs.
_GROWING = frozenset({"Alloc", "ARange", "Eye", "Tri", "RepeatOp", "AllocDiag"})


def is_pure(op: Any) -> bool:
    """Whether an operation does nothing but compute."""
    return not getattr(op, "has_effect", False)


def as_type(variable: Any, expected: Any) -> Variable:
    """A variable of a type that it has but for its broadcastable dimensions and its dtype."""
    if variable.type == expected or not isinstance(expected, TensorType):
        return variable
    if variable.type.dtype != expected.dtype:
        variable = variable.astype(expected.dtype)
    return rebroadcast(variable, expected.broadcastable)
