"""Chains of elementwise operations as one: a kernel runs through large arrays once.

A node joins the one that uses its result if nothing else does and both results have the same
shape. The kernel is written by applying the operations to the elements of a kernel
(`kernels/jit/tracing.py`); small arrays, other dtypes than float32 and operations that cannot be
traced are computed one operation after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.kernels import jit
from wengert.symbolic.expressions.elemwise import (
    Elemwise,
    elementwise_kernel,
    mismatch,
    undeclared,
)
from wengert.symbolic.expressions.type import TensorConstant, TensorType
from wengert.symbolic.graph import Apply, Kernel, Operation, toposort

_MOST_NODES, _MOST_INPUTS = 40, 12
_UNKNOWN: Any = object()


class Fused(Operation):
    """Elementwise operations on the same shape; `nodes` in order, the last gives the result."""

    def __init__(self, nodes: Sequence[Apply], inputs: Sequence[Any]) -> None:
        self.nodes, self.inputs = list(nodes), list(inputs)

    def make_node(self, *inputs: Any) -> Apply:
        """The last node's type."""
        return Apply(self, inputs, [self.nodes[-1].outputs[0].type()])

    def kernel(self, node: Apply) -> Kernel:
        """One kernel for large arrays of float32."""
        plain = self._plain()
        what = str(self)
        check = undeclared(node.inputs, what) if node.outputs[0].ndim else None
        plans: dict[str, Any] = {}

        def run(*values: np.ndarray) -> np.ndarray:
            try:
                out = _large(values, plans, plain)
                if out is None:
                    out = plain(*values)
            except (ValueError, RuntimeError) as error:
                raise mismatch(values, what) or error from None
            if check is not None:
                check(out.shape, values)
            return out

        return run

    def _plain(self) -> Callable[..., Any]:
        """One operation after the other, on arrays or on elements of a kernel."""
        positions = {x: k for k, x in enumerate(self.inputs)}
        steps: list[tuple[Kernel, tuple[int, ...]]] = []
        for node in self.nodes:
            steps.append((elementwise_kernel(node), tuple(positions[x] for x in node.inputs)))
            positions[node.outputs[0]] = len(positions)

        def compute(*values: Any) -> Any:
            everything = list(values)
            for function, operands in steps:
                everything.append(function(*[everything[k] for k in operands]))
            return everything[-1]

        return compute

    def __str__(self) -> str:
        return f"Elemwise{{Composite{{{', '.join(n.op.scalar_op.name for n in self.nodes)}}}}}"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _large(values: Sequence[Any], plans: dict[str, Any], plain: Callable[..., Any]) -> Any:
    """The result by a kernel; None where there is none."""
    kinds, layout = jit.operands.kinds_of(values), None
    if kinds is None:
        layout = jit.operands.layout_of(values)
        if layout is None:
            return None
        kinds = layout.kinds
    plan = plans.get(kinds, _UNKNOWN)
    if plan is _UNKNOWN:
        plan = plans[kinds] = jit.operands.plan_of([plain], kinds, False)
    if plan is None:
        return None
    outputs = plan.flat(values) if layout is None else plan.laid_out(values, layout)
    return None if outputs is None else outputs[0]


def fused(results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Expressions in which chains of elementwise operations are one."""
    order = toposort(results, set(inputs))
    clients: dict[Any, list[Apply]] = {}
    for node in order:
        for x in set(node.inputs):
            clients.setdefault(x, []).append(node)
    root: dict[Apply, Apply] = {}
    groups: dict[Apply, list[Apply]] = {}
    outputs = set(results)
    for node in reversed(order):
        if not isinstance(node.op, Elemwise):
            continue
        goal = _goal(node, clients, root, outputs)
        if goal is not None and len(groups[goal]) < _MOST_NODES:
            root[node] = goal
            groups[goal].insert(0, node)
        else:
            root[node] = node
            groups[node] = [node]
    return _replaced(results, [g for g in groups.values() if len(g) > 1])


def _goal(
    node: Apply, clients: dict[Any, list[Apply]], root: dict[Apply, Apply], outputs: set[Any]
) -> Apply | None:
    """The group that a node may join: that of all who use its result."""
    out = node.outputs[0]
    if out in outputs or not out.ndim:
        return None
    goals = {root.get(c) for c in clients.get(out, ())}
    if len(goals) != 1:
        return None
    goal = goals.pop()
    if goal is None or goal.outputs[0].broadcastable != out.broadcastable:
        return None
    return goal


def _replaced(results: Sequence[Any], groups: Sequence[list[Apply]]) -> list[Any]:
    table: dict[Any, Any] = {}
    for nodes in groups:
        constants: dict[Any, Any] = {}
        converted = [_with_constants(n, constants) for n in nodes]
        renamed = dict(zip([n.outputs[0] for n in nodes], [n.outputs[0] for n in converted],
                           strict=True))  # fmt: skip
        for n in converted:
            n.inputs = [renamed.get(x, x) for x in n.inputs]
        external = list(
            dict.fromkeys(x for n in converted for x in n.inputs if x not in renamed.values())
        )
        if len(external) > _MOST_INPUTS:
            continue
        out = Fused(converted, external)(*external)
        out.owner.trace = nodes[-1].trace
        table[nodes[-1].outputs[0]] = out
    return _deeply_replaced(results, table)


def _with_constants(node: Apply, constants: dict[Any, Any]) -> Apply:
    """A copy of a node whose constants have the dtype in which the operation computes."""
    scalar, out = node.op.scalar_op, node.outputs[0]
    dtypes = [x.dtype for x in node.inputs]
    target = None if scalar.operand_dtype is None else scalar.operand_dtype(dtypes, out.dtype)
    inputs = []
    for x in node.inputs:
        if isinstance(x, TensorConstant) and target is not None and x.dtype != target:
            key = x, target
            if key not in constants:
                data = x.data.astype(target)
                constants[key] = TensorConstant(TensorType(target, x.broadcastable), data)
            x = constants[key]
        inputs.append(x)
    return Apply(node.op, inputs, [out.type()])


def _deeply_replaced(results: Sequence[Any], table: dict[Any, Any]) -> list[Any]:
    """Replace from the inputs on: what is put in place depends on what was replaced before."""
    memo: dict[Any, Any] = {}
    for node in toposort(list(results)):
        _renew(node, table, memo)
    return [memo.get(v, v) for v in results]


def _renew(node: Apply, table: dict[Any, Any], memo: dict[Any, Any]) -> None:
    new = table.get(node.outputs[0]) if len(node.outputs) == 1 else None
    source = node if new is None else new.owner
    inputs = [memo.get(x, x) for x in source.inputs]
    if new is None and all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return
    clone = source.clone_with_new_inputs(inputs)
    memo.update(zip(node.outputs, clone.outputs, strict=True))
