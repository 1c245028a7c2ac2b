"""Which elementwise operations are computed together.

A node joins the one that uses its result if nothing else does and both results have the same
shape. Then such groups are one if a kernel can compute both, they have an array of the shape of
their results in common, which one of them may have computed, and no path leads from one to the
other through what is in neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from wengert.kernels.jit.reals import REALS
from wengert.kernels.jit.tracing import Traced
from wengert.symbolic.expressions.elemwise import DimShuffle, Elemwise, elementwise_kernel
from wengert.symbolic.expressions.type import TensorConstant, TensorType
from wengert.symbolic.graph import Apply, toposort
from wengert.symbolic.programs.branches import branches_of
from wengert.symbolic.programs.fusion import Fused

_MOST_NODES, _MOST_INPUTS, _MOST_ARRAYS = 40, 12, 14
_STEP = 1 << 20  # of depths, between which there is room for others
# How many groups are looked at before a program is large enough as it is.
_MOST_VISITS = 50_000
# How far a path is followed that might lead from one group to another.
_FARTHEST = 400
_LETTERS = {"float32": "", "float64": "d:"}


class Group:
    """Nodes of one unit of a program: elementwise operations, or one operation of another kind.

    Attributes:
        pattern: the broadcastable dimensions of elementwise ones that a kernel may compute
            together with others; None of all others.
        real: the dtype of its floats.
        depth: less than that of all groups that read what this one computes.
    """

    def __init__(self, nodes: list[Apply], region: Any) -> None:
        self.nodes, self.region = nodes, region
        self.pattern: Any = None
        self.real, self.depth = "", 0


class Grouping:
    """The groups of the nodes of a program."""

    def __init__(self, order: Sequence[Apply], results: Sequence[Any]) -> None:
        self.order, self.results, self.visits = order, set(results), 0
        self.index = {node: k for k, node in enumerate(order)}
        self.clients: dict[Any, list[Apply]] = {}
        for node in order:
            for x in dict.fromkeys(node.inputs):
                self.clients.setdefault(x, []).append(node)
        regions: dict[Apply, list[Any]] = {}
        for choice, ways in branches_of(order, results).items():
            for way, nodes in enumerate(ways):
                for node in nodes:
                    regions.setdefault(node, []).append((choice, way))
        self.of: dict[Apply, Group] = {}
        for node in reversed(order):
            goal = self._goal(node)
            if goal is None:
                goal = Group([], tuple(regions.get(node, ())))
            goal.nodes.insert(0, node)
            self.of[node] = goal
        self._merge()

    def _goal(self, node: Apply) -> Group | None:
        """The group that a node may join: that of all who use its result."""
        if not isinstance(node.op, Elemwise):
            return None
        out = node.outputs[0]
        if out in self.results or not out.ndim:
            return None
        goals = {self.of[c] for c in self.clients.get(out, ())}
        if len(goals) != 1:
            return None
        goal = goals.pop()
        first = goal.nodes[-1]
        if not isinstance(first.op, Elemwise) or len(goal.nodes) >= _MOST_NODES:
            return None
        return goal if first.outputs[0].broadcastable == out.broadcastable else None

    def _merge(self) -> None:
        for group in self.in_order():
            _describe(group)
            for following in self.after(group):
                following.depth = max(following.depth, group.depth + _STEP)
        variables = dict.fromkeys(x for node in self.order for x in (*node.inputs, *node.outputs))
        for computed in (True, False):
            for x in variables:
                if isinstance(x.type, TensorType) and (x.owner in self.of) is computed:
                    self._merge_around(x)

    def _merge_around(self, x: Any) -> None:
        """Make one of the groups that compute and read an array, where that is possible."""
        if all(x.broadcastable):
            return
        near = [self.of[c] for c in self.clients.get(x, ())]
        near = [self.of[x.owner], *near] if x.owner in self.of else near
        near = list(dict.fromkeys(g for g in near if g.pattern == x.broadcastable))
        for k, group in enumerate(near):
            for place in range(k + 1, len(near)):
                other = near[place]
                if other is not group and self._may_merge(group, other):
                    nodes = sorted(group.nodes + other.nodes, key=self.index.__getitem__)
                    other.nodes, other.depth = nodes, max(group.depth, other.depth)
                    self.of.update(dict.fromkeys(nodes, other))
                    self._deepen(other)
                    near = [other if g is group else g for g in near]
                    break

    def _may_merge(self, a: Group, b: Group) -> bool:
        if self.visits >= _MOST_VISITS:
            return False
        self.visits += 10
        if a.real != b.real or a.region != b.region or len(a.nodes) + len(b.nodes) > _MOST_NODES:
            return False
        nodes = a.nodes + b.nodes
        inputs, outputs = outside(nodes), self.outputs(nodes)
        arrays = len(outputs) + sum(not all(x.broadcastable) for x in inputs)
        if len(inputs) > _MOST_INPUTS or arrays > _MOST_ARRAYS:
            return False
        return not self._leads(a, b) and not self._leads(b, a)

    def outputs(self, nodes: Sequence[Apply]) -> list[Any]:
        """The variables of nodes that others read, or that are results."""
        own = set(nodes)
        variables = [v for node in nodes for v in node.outputs]
        return [v for v in variables
                if v in self.results or not own.issuperset(self.clients.get(v, ()))]  # fmt: skip

    def after(self, group: Group) -> Iterator[Group]:
        """The groups that read what a group computes."""
        for node in group.nodes:
            for v in node.outputs:
                for c in self.clients.get(v, ()):
                    if self.of[c] is not group:
                        yield self.of[c]

    def _deepen(self, group: Group) -> None:
        """Make the groups deeper that read what a group computes, where they are not."""
        todo = [group]
        while todo:
            group = todo.pop()
            self.visits += 1
            for following in self.after(group):
                if following.depth <= group.depth:
                    following.depth = group.depth + 1
                    todo.append(following)

    def _leads(self, a: Group, b: Group) -> bool:
        """Whether a path leads from one group to another through a third, as far as is known."""
        seen = {a, b}
        todo = [a] if a.depth < b.depth else []
        while todo:
            group = todo.pop()
            self.visits += 1
            for following in self.after(group):
                if following is b and group is not a:
                    return True
                if following not in seen and following.depth < b.depth:
                    seen.add(following)
                    todo.append(following)
            if len(seen) > _FARTHEST:
                return True
        return False

    def in_order(self) -> list[Group]:
        """The groups, each behind those whose results it reads."""
        done: set[Group] = set()
        found: list[Group] = []
        todo = [self.of[node] for node in reversed(self.order)]
        while todo:
            group = todo[-1]
            before = [] if group in done else [
                self.of[x.owner] for node in group.nodes for x in node.inputs if x.owner in self.of
            ]  # fmt: skip
            missing = [g for g in before if g is not group and g not in done]
            if missing:
                todo += missing
                continue
            todo.pop()
            if group not in done:
                done.add(group)
                found.append(group)
        return found


def _describe(group: Group) -> None:
    """Note what decides whether a group may be merged with others."""
    nodes = group.nodes
    if not isinstance(nodes[-1].op, Elemwise) or all(nodes[-1].outputs[0].broadcastable):
        return
    dtypes = {x.dtype for n in nodes for x in (*n.inputs, *n.outputs) if not _is_number(x)}
    reals = dtypes - {"bool"}
    if len(reals) == 1 and reals <= _LETTERS.keys() and all(map(_has_kernel, nodes)):
        group.pattern, group.real = nodes[-1].outputs[0].broadcastable, reals.pop()


def _is_number(x: Any) -> bool:
    """Whether a variable is a constant, which is given the dtype of what it is used with."""
    return isinstance(x, TensorConstant) and all(x.broadcastable) and x.dtype != "bool"


def _has_kernel(node: Apply) -> bool:
    if any(x.dtype == "bool" and all(x.broadcastable) for x in node.inputs):
        return False  # kernels read masks, but not one for all
    copied = with_constants(node, {})
    dtypes = tuple(x.dtype for x in copied.inputs)
    return _is_traced(node.op, dtypes, node.outputs[0].dtype)


@lru_cache(2048)
def _is_traced(op: Any, dtypes: tuple[str, ...], out: str) -> bool:
    """Whether a kernel can do what an operation does."""
    real = next((d for d in (*dtypes, out) if d in _LETTERS), None)
    if real is None:
        return False
    node = Apply(op, [TensorType(d, (False,))() for d in dtypes], [TensorType(out, (False,))()])
    letters = "f" + "".join("b" if d == "bool" else "f" for d in dtypes)
    function = elementwise_kernel(node)
    try:
        traced = Traced(
            [lambda first, *own: function(*own), lambda first, *own: first + first],
            letters, False, REALS[_LETTERS[real]],
        )  # fmt: skip
    except Exception:  # whatever a function does with what is no array
        return False
    return not traced.trace.guards


def outside(nodes: Sequence[Apply]) -> list[Any]:
    """What nodes read that none of them computes."""
    own = {v for node in nodes for v in node.outputs}
    return list(dict.fromkeys(x for node in nodes for x in node.inputs if x not in own))


def fused(results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Expressions in which elementwise operations that can be computed together are one."""
    order = toposort(results, set(inputs))
    grouping = Grouping(order, results)
    memo: dict[Any, Any] = {}
    for group in grouping.in_order():
        nodes = group.nodes
        if isinstance(nodes[-1].op, Elemwise):
            made = _fused(nodes, grouping)
            if made is not None:
                old, op, read = made
                new = op(*[memo.get(x, x) for x in read], return_list=True)
                new[0].owner.trace = nodes[-1].trace
                memo.update(zip(old, new, strict=True))
                continue
        for node in nodes:
            fresh = [memo.get(x, x) for x in node.inputs]
            if any(a is not b for a, b in zip(fresh, node.inputs, strict=True)):
                clone = node.clone_with_new_inputs(fresh)
                memo.update(zip(node.outputs, clone.outputs, strict=True))
    return [memo.get(v, v) for v in results]


def _fused(
    nodes: Sequence[Apply], grouping: Grouping
) -> tuple[Sequence[Any], Fused, list[Any]] | None:
    """Nodes as one operation, and the variables it reads; None for those that stay as they are."""
    outputs = grouping.outputs(nodes)
    constants: dict[Any, Any] = {}
    converted = [with_constants(n, constants) for n in nodes]
    renamed = {n.outputs[0]: c.outputs[0] for n, c in zip(nodes, converted, strict=True)}
    if outputs[0].ndim and not outputs[0].broadcastable[0]:  # it has an operand of its dimensions
        for x in outside([*nodes, *converted]):
            renamed.setdefault(x, _unpadded(x, grouping))
    for n in converted:
        n.inputs = [renamed.get(x, x) for x in n.inputs]
    read = outside(converted)
    padded = any(x.ndim < outputs[0].ndim and not isinstance(x, TensorConstant) for x in read)
    if (len(nodes) == 1 and not padded) or len(read) > _MOST_INPUTS:
        return None
    return outputs, Fused(converted, read, [renamed[v] for v in outputs]), read


def _unpadded(x: Any, grouping: Grouping) -> Any:
    """A variable without broadcastable dimensions in front, which come by themselves."""
    if isinstance(x, TensorConstant):
        if x.ndim and all(x.broadcastable):
            return TensorConstant(TensorType(x.dtype, ()), x.data.reshape(()))
        return x
    while x.owner in grouping.of and isinstance(x.owner.op, DimShuffle):
        order, source = x.owner.op.new_order, x.owner.inputs[0]
        if order != ("x",) * (len(order) - source.ndim) + tuple(range(source.ndim)):
            break
        x = source
    return x


def with_constants(node: Apply, constants: dict[Any, Any]) -> Apply:
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
