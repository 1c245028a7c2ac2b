"""Operations that programs make of graphs and of Python functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.symbolic.differentiation import grad
from wengert.symbolic.expressions.arithmetic import tensor_copy
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.graph import Apply, Kernel, Op, Operation, Type, Variable, replaced
from wengert.symbolic.modes import Mode
from wengert.symbolic.programs.assembly import Program
from wengert.symbolic.programs.optimizing import optimized


class OpFromGraph(Operation):
    """An operation that stands for a graph.

    >>> from wengert.symbolic import OpFromGraph, function
    >>> from wengert.symbolic import tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> op = OpFromGraph([x, y], [x * y + 1])
    >>> function([x, y], op(x, op(x, y)))(2.0, 3.0)
    array(15.)
    """

    def __init__(
        self, inputs: Sequence[Any], outputs: Sequence[Any], inline: bool = False,
        grad_overrides: Any = "default", lop_overrides: Any = "default", name: str | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        self.inner_inputs, self.inner_outputs = list(inputs), list(outputs)
        self.overrides = next(
            (f for f in (lop_overrides, grad_overrides) if f not in ("default", None)), None
        )
        self.of_lop = callable(lop_overrides)
        self.name = name

    def make_node(self, *inputs: Any) -> Apply:
        """Inputs of the graph's types."""
        fitted = [
            own.type.filter_variable(x) for own, x in zip(self.inner_inputs, inputs, strict=True)
        ]
        return Apply(self, fitted, [v.type() for v in self.inner_outputs])

    def kernel(self, node: Apply) -> Kernel:
        """The graph, compiled."""
        final = optimized(self.inner_outputs, self.inner_inputs, Mode())
        program = Program(self.inner_inputs, final)
        if node.nout > 1:
            return program
        return lambda *values: program(*values)[0]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The graph's, or what was passed for it."""
        if callable(self.overrides):
            if self.of_lop:
                return self.overrides(inputs, outputs, output_gradients)
            return self.overrides(inputs, output_gradients)
        table = dict(zip(self.inner_inputs, inputs, strict=True))
        inner = [tensor_copy(v) for v in replaced(self.inner_outputs, table)]
        seeds = dict(zip(inner, output_gradients, strict=True))
        return grad(None, list(inputs), known_grads=seeds, disconnected_inputs="ignore")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class ViewOp(Op):
    """Its input; programs derive operations from it that have another gradient.

    >>> from wengert.symbolic import compile, function, grad
    >>> from wengert.symbolic import tensor as T
    >>> class Reversed(compile.ViewOp):
    ...     def grad(self, inputs, output_gradients):
    ...         return [-output_gradients[0]]
    >>> x = T.dscalar("x")
    >>> function([x], grad(Reversed()(x) ** 2, x))(3.0)
    array(-6.)
    """

    view_map = {0: [0]}  # noqa: RUF012
    __props__: tuple[str, ...] = ()

    def make_node(self, x: Any) -> Apply:
        """The type of the input."""
        x = x if isinstance(x, Variable) else as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """The input itself."""
        output_storage[0][0] = inputs[0]

    def grad(self, inputs: Any, output_gradients: Any) -> Any:
        """The gradient itself."""
        return list(output_gradients)


view_op = ViewOp()


class FromFunctionOp(Op):
    """A Python function of arrays."""

    def __init__(
        self, fn: Callable[..., Any], itypes: Sequence[Type], otypes: Sequence[Type],
        infer_shape: Any = None,
    ) -> None:  # fmt: skip
        self.fn, self.itypes, self.otypes = fn, list(itypes), list(otypes)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """Call the function."""
        out = self.fn(*inputs)
        results = out if len(output_storage) > 1 else (out,)
        for cell, value in zip(output_storage, results, strict=True):
            cell[0] = np.asarray(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FromFunctionOp) and other.fn is self.fn

    def __hash__(self) -> int:
        return hash((FromFunctionOp, self.fn))

    def __str__(self) -> str:
        return f"FromFunctionOp{{{self.fn.__name__}}}"


def as_op(itypes: Any, otypes: Any, infer_shape: Any = None) -> Callable[..., FromFunctionOp]:
    """Make an operation of a Python function of arrays.

    >>> from wengert.symbolic import as_op, function
    >>> from wengert.symbolic import tensor as T
    >>> @as_op(itypes=[T.dvector], otypes=[T.dvector])
    ... def mirrored(x):
    ...     return x[::-1]
    >>> x = T.dvector()
    >>> function([x], mirrored(x) + x)([1.0, 2.0, 4.0])
    array([5., 4., 5.])
    """
    inputs = list(itypes) if isinstance(itypes, list | tuple) else [itypes]
    outputs = list(otypes) if isinstance(otypes, list | tuple) else [otypes]
    return lambda fn: FromFunctionOp(fn, inputs, outputs, infer_shape)
