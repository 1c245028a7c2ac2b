"""Elementwise operations as one: a kernel runs through arrays once.

The kernel is written by applying the operations to the elements of a kernel
(`kernels/jit/tracing.py`). Where there is none, for integers and operations that cannot be traced,
NumPy computes one operation after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from wengert.kernels import jit
from wengert.symbolic.expressions.elemwise import elementwise_kernel, mismatch, undeclared
from wengert.symbolic.expressions.type import TensorConstant
from wengert.symbolic.graph import Apply, Kernel, Operation

# What is written for arrays that lie in a certain way.
Call = Callable[..., Any]
_MOST_CALLS = 256
_UNKNOWN: Any = object()


class Fused(Operation):
    """Elementwise operations on the same shape.

    Args:
        nodes: the operations, in order.
        inputs: what they read from outside. Where dimensions are missing they are broadcastable
            ones in front; those of `node` stand for these inputs.
        results: the variables of `nodes` that are outputs.
    """

    def __init__(
        self, nodes: Sequence[Apply], inputs: Sequence[Any], results: Sequence[Any]
    ) -> None:  # fmt: skip
        self.nodes, self.inputs, self.results = list(nodes), list(inputs), list(results)

    def make_node(self, *inputs: Any) -> Apply:
        """The types of the results."""
        return Apply(self, inputs, [v.type() for v in self.results])

    def kernel(self, node: Apply) -> Kernel:
        """One call of a kernel, which is looked up by how arrays lie."""
        runner = _Runner(self, node.inputs)
        arrays = [k for k, x in enumerate(node.inputs) if x.ndim]
        names = [f"a{k}" for k in range(node.nin)]
        key = "".join(f"a{k}.shape, a{k}.flags.num, " for k in arrays)
        scope: dict[str, Any] = {"__name__": __name__, "calls": runner.calls, "slow": runner.slow}
        exec(_compiled(_RUN.format(names=", ".join(names), key=key)), scope)
        run: Kernel = scope["run"]
        return run

    def one_by_one(self) -> Callable[..., list[Any]]:
        """One operation after the other, on arrays or on elements of a kernel."""
        positions = {x: k for k, x in enumerate(self.inputs)}
        steps: list[tuple[Kernel, tuple[int, ...]]] = []
        for node in self.nodes:
            steps.append((elementwise_kernel(node), tuple(positions[x] for x in node.inputs)))
            positions[node.outputs[0]] = len(positions)
        wanted = [positions[v] for v in self.results]

        def compute(*values: Any) -> list[Any]:
            everything = list(values)
            for function, operands in steps:
                everything.append(function(*[everything[k] for k in operands]))
            return [everything[k] for k in wanted]

        return compute

    def __str__(self) -> str:
        if len(self.nodes) == 1:
            return str(self.nodes[0].op)
        return f"Elemwise{{Composite{{{', '.join(n.op.scalar_op.name for n in self.nodes)}}}}}"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


_RUN = """\
def run({names}):
    call = calls.get(({key}))
    if call is None:
        return slow({names})
    return call({names})
"""
_CALL = """\
def call({names}):
{results}\
    kernel({arguments})
    return {returned}
"""


@lru_cache(1024)
def _compiled(text: str) -> CodeType:
    return compile(text, "<call of a kernel>", "exec")


class _Runner:
    """The calls of the kernels of some operations.

    Attributes:
        calls: by shapes and flags, which tell how contiguous arrays lie.
    """

    def __init__(self, op: Fused, inputs: Sequence[Any]) -> None:
        self.what, self.inputs = str(op), list(inputs)
        self.compute = op.one_by_one()
        self.passing = [v.owner.op.scalar_op.name in PASSING for v in op.results]
        self.count = len(op.results)
        # Numbers that never change are passed as such.
        self.numbers = [
            x.data.item() if isinstance(x, TensorConstant) and not x.ndim else None for x in inputs
        ]
        self.arrays = [k for k, x in enumerate(inputs) if x.ndim]
        self.check = undeclared(self.inputs, self.what)
        self.calls: dict[Any, Call] = {}
        self.strided: dict[Any, Call] = {}
        self.plans: dict[str, Any] = {}
        self.flat: dict[Any, Call] = {}
        # NumPy is as good at one operation, which has a kernel of its own for large arrays.
        self.fuses = len(op.nodes) > 1

    def slow(self, *given: Any) -> Any:
        """The results, and what computes them the next time."""
        values = [np.asarray(v) for v in given]
        arrays = [values[k] for k in self.arrays]
        outlines = tuple([(v.shape, v.strides, v.flags.num) for v in arrays])
        call = self.strided.get(outlines)
        if call is not None:
            return call(*given)
        try:
            call = self._call(values)
            out = call(*given)
        except (ValueError, RuntimeError) as error:
            raise mismatch(values, self.what) or error from None
        self.check((out if self.count == 1 else out[0]).shape, values)
        if all(v.flags.c_contiguous or v.flags.f_contiguous for v in arrays):
            key: Any = tuple([part for v in arrays for part in (v.shape, v.flags.num)])
            known = self.calls
        else:
            key, known = outlines, self.strided
        if len(known) >= _MOST_CALLS:
            known.clear()
        known[key] = call
        return out

    def plain(self, *values: Any) -> Any:
        """The results by NumPy, in memory of their own."""
        arrays = [v if type(v) is np.ndarray else np.asarray(v) for v in values]
        results = [
            v.copy() if passed else v
            for v, passed in zip(self.compute(*arrays), self.passing, strict=True)
        ]
        return results[0] if self.count == 1 else tuple(results)

    def _call(self, values: Sequence[Any]) -> Call:
        """What computes the results for arrays that lie as these do."""
        kinds = jit.operands.kinds_of(values) if self.fuses else None
        layout = jit.operands.layout_of(values) if self.fuses and kinds is None else None
        if layout is not None:
            kinds = layout.kinds
        plan = None if kinds is None else self._plan(kinds)
        if plan is None or any(plan.passed):
            return self.plain
        if plan.guarded:
            return self._guarded(plan, layout)
        return self._flat(plan) if layout is None else self._in_layout(plan, layout)

    def _plan(self, kinds: str) -> Any:
        plan = self.plans.get(kinds, _UNKNOWN)
        if plan is _UNKNOWN:
            of_result = [lambda *v, k=k: self.compute(*v)[k] for k in range(self.count)]
            plan = self.plans[kinds] = jit.operands.plan_of(of_result, kinds, False)
        return plan

    def _guarded(self, plan: Any, layout: Any) -> Call:
        """A kernel where elements are in the range for which it is, and else NumPy."""

        def call(*given: Any) -> Any:
            values = [np.asarray(v) for v in given]
            out = plan.flat(values) if layout is None else plan.laid_out(values, layout)
            if out is None:
                return self.plain(*values)
            return out[0] if self.count == 1 else tuple(out)

        return call

    def _flat(self, plan: Any) -> Call:
        """A call for contiguous arrays of one shape, of any size."""
        if plan.kernel not in self.flat:
            first = f"a{plan.first}"
            behind = f"*numbers, {first}.size, {plan.chunk}"
            scope = {"numbers": plan.numbers}
            self.flat[plan.kernel] = self._written(plan, f"{first}.shape", "", behind, scope)
        return self.flat[plan.kernel]

    def _in_layout(self, plan: Any, layout: Any) -> Call:
        """A call for arrays that all have this layout."""
        memory, back = layout.memory()
        chunk = max(1, plan.chunk // layout.width)
        behind = (*plan.numbers, *layout.numbers, layout.extent, chunk)
        scope = {"memory": memory, "back": back, "behind": behind}
        turned = "" if back is None else ".transpose(back)"
        return self._written(plan, "memory", turned, "*behind", scope)

    def _written(
        self, plan: Any, memory: str, turned: str, behind: str, scope: dict[str, Any]
    ) -> Call:
        """A call of a kernel, as a function that does nothing else."""
        scope |= {"__name__": __name__, "kernel": plan.kernel, "empty": np.empty}
        arguments = [f"a{k}" for k in range(len(self.inputs))]
        names = ", ".join(arguments)
        for k in plan.scalars:
            if self.numbers[k] is None:
                arguments[k] += ".item()"
            else:
                arguments[k] = f"c{k}"
                scope[f"c{k}"] = self.numbers[k]
        results = [f"r{k}" for k in range(self.count)]
        lines = ""
        for k, dtype in enumerate(plan.outputs):
            scope[f"d{k}"] = dtype
            lines += f"    r{k} = empty({memory}, d{k}){turned}\n"
        text = _CALL.format(
            names=names, results=lines, arguments=", ".join([*arguments, *results, behind]),
            returned=", ".join(results),
        )  # fmt: skip
        exec(_compiled(text), scope)
        call: Call = scope["call"]
        return call


# Operations that may give an input, or a view of it.
PASSING = frozenset({"second", "identity", "real", "imag"})
