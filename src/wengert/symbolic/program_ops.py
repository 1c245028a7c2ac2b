"""Operations that programs make of graphs and of Python functions."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from wengert.symbolic.differentiation import Rop, grad
from wengert.symbolic.expressions.arithmetic import tensor_copy
from wengert.symbolic.expressions.elemwise import Rebroadcast as Rebroadcast
from wengert.symbolic.expressions.shapes import Length
from wengert.symbolic.expressions.shapes import Shape as Shape
from wengert.symbolic.expressions.shapes import SpecifyShape as SpecifyShape
from wengert.symbolic.expressions.shapes import shape as shape
from wengert.symbolic.expressions.shapes import shape_i as shape_i
from wengert.symbolic.expressions.structure import specify_shape as specify_shape
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.functions import shared_in
from wengert.symbolic.gof.graph import io_connection_pattern
from wengert.symbolic.graph import (
    Apply,
    Constant,
    DisconnectedType,
    Kernel,
    Op,
    Operation,
    Type,
    Variable,
    ancestors,
    disconnected,
    replaced,
)
from wengert.symbolic.modes import Mode
from wengert.symbolic.programs.assembly import Program
from wengert.symbolic.programs.optimizing import optimized

Shape_i = Length


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
        lop_overrides: Any = "default", grad_overrides: Any = "default",
        rop_overrides: Any = "default", connection_pattern: Any = None,
        name: str | None = None, **options: Any,
    ) -> None:  # fmt: skip
        if not isinstance(outputs, list | tuple):
            raise TypeError(f"outputs must be list or tuple, got {outputs!r}")
        if "default" not in (lop_overrides, grad_overrides):
            raise ValueError("lop_overrides and grad_overrides are two ways to say one thing")
        self.inner_outputs = list(outputs)
        self.shared_inputs = shared_in(outputs, inputs)
        self.inner_inputs = [*inputs, *self.shared_inputs]
        self.of_lop = grad_overrides == "default"
        self.overrides = lop_overrides if self.of_lop else grad_overrides
        self.name, self.pattern, self.pushing = name, connection_pattern, rop_overrides
        if rop_overrides != "default":
            self.R_op = self._pushed_by_override

    def with_outputs(self, outputs: Sequence[Any]) -> OpFromGraph:
        """The operation of another graph on the same inputs; what it needs beside follows them."""
        changed = copy.copy(self)
        known = set(self.inner_inputs)
        free = [v for v in ancestors(outputs, known) if v.owner is None and v not in known]
        new = [v for v in dict.fromkeys(free) if not isinstance(v, Constant)]
        changed.inner_outputs = list(outputs)
        changed.shared_inputs = [*self.shared_inputs, *new]
        changed.inner_inputs = [*self.inner_inputs, *new]
        return changed

    def make_node(self, *inputs: Any) -> Apply:
        """Inputs of the graph's types; shared variables of the graph follow."""
        expected = len(self.inner_inputs) - len(self.shared_inputs)
        if len(inputs) == expected:
            inputs = (*inputs, *self.shared_inputs)
        if len(inputs) != len(self.inner_inputs):
            raise ValueError(f"OpFromGraph: expected {expected} inputs, got {len(inputs)}")
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

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """What the graph connects, and what overrides do not call disconnected."""
        if self.pattern is not None:
            return list(self.pattern)
        patterns = self._connected()
        listed = self.overrides if isinstance(self.overrides, list) else []
        for row, override in zip(patterns, listed, strict=False):
            if isinstance(override, Variable):
                row[:] = [not isinstance(override.type, DisconnectedType)] * len(row)
            elif override != "default":
                row[:] = [True] * len(row)
        return patterns if not callable(self.overrides) else [[True] * node.nout] * node.nin

    def _connected(self) -> list[list[bool]]:
        return io_connection_pattern(self.inner_inputs, self.inner_outputs)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """As the graph has them, of the shapes of the inputs where it needs no more than these."""
        table = dict(zip(self.inner_inputs, node.inputs, strict=True))
        sizes = [
            None if not isinstance(v.type, TensorType) else [shape_i(v, d) for d in range(v.ndim)]
            for v in self.inner_outputs
        ]
        return [None if s is None else tuple(replaced(s, table)) for s in sizes]

    def _pushed_by_override(self, inputs: Any, eval_points: Any) -> Any:
        """The products with Jacobians that `rop_overrides` says: a function, or such a graph."""
        if isinstance(self.pushing, OpFromGraph):
            return self.pushing(*inputs, *eval_points, return_list=True)
        listed = self.pushing if isinstance(self.pushing, list) else None
        if listed is None:
            return self.pushing(inputs, eval_points)
        if len(listed) != len(self.inner_outputs):
            raise ValueError(
                f"Need to override {len(self.inner_outputs)} Rop, got {len(listed)}", listed
            )
        own, inner = self._expanded(inputs)
        pushed = [
            Rop(y, own, eval_points) if rule == "default" else rule(inputs, eval_points)
            for y, rule in zip(inner, listed, strict=True)
        ]
        return pushed

    def _expanded(self, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Copies of variables, so that what they depend on is left out, and the graph on these."""
        own = [tensor_copy(x) if isinstance(x.type, TensorType) else x for x in inputs]
        table = dict(zip(self.inner_inputs, own, strict=True))
        return own, [tensor_copy(v) for v in replaced(self.inner_outputs, table)]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The graph's, or what was passed for it: one function of all, or a list of some."""
        given = (inputs, outputs, output_gradients) if self.of_lop else (inputs, output_gradients)
        if isinstance(self.overrides, OpFromGraph):
            return self.overrides(*[v for part in given for v in part], return_list=True)
        if callable(self.overrides):
            own = self.overrides(*given)
            return [*own, *[disconnected() for _ in inputs[len(own) :]]]
        gradients = self._gradients(inputs, output_gradients)
        listed = self.overrides if isinstance(self.overrides, list) else []
        for k, override in enumerate(listed):
            if isinstance(override, Variable):
                gradients[k] = override
            elif override != "default":
                gradients[k] = override(*given) if callable(override) else disconnected()
        return gradients

    def _gradients(self, inputs: Any, output_gradients: Any) -> list[Any]:
        own, inner = self._expanded(inputs)
        seeds = {
            y: g for y, g in zip(inner, output_gradients, strict=True)
            if not isinstance(g.type, DisconnectedType)
        }  # fmt: skip
        return list(
            grad(
                None, own, known_grads=seeds, disconnected_inputs="ignore",
                return_disconnected="Disconnected",
            )
        )  # fmt: skip

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


class DeepCopyOp(Op):
    """A copy of its input.

    >>> from wengert.symbolic import compile, function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dscalar("x")
    >>> function([x], compile.deep_copy_op(x))(3.0)
    array(3.)
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """The type of the input."""
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """The copy."""
        output_storage[0][0] = copy.deepcopy(inputs[0])

    def grad(self, inputs: Any, output_gradients: Any) -> Any:
        """The gradient itself."""
        return list(output_gradients)


deep_copy_op = DeepCopyOp()


class FromFunctionOp(Op):
    """A Python function of arrays."""

    def __init__(
        self, fn: Callable[..., Any], itypes: Sequence[Type], otypes: Sequence[Type],
        infer_shape: Any = None,
    ) -> None:  # fmt: skip
        self.fn, self.itypes, self.otypes = fn, list(itypes), list(otypes)
        if infer_shape is not None:
            self.infer_shape = infer_shape

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

    def __reduce__(self) -> Any:
        # As a decorator it has taken the function's name: pickle finds it there, as the function.
        module, name = self.fn.__module__, self.fn.__qualname__
        if getattr(sys.modules.get(module), name, None) == self:
            return _found, (module, name)
        return FromFunctionOp, (
            self.fn, self.itypes, self.otypes, getattr(self, "infer_shape", None),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"FromFunctionOp{{{self.fn.__name__}}}"


def _found(module: str, name: str) -> Any:
    """The operation that a module has under a name."""
    return getattr(import_module(module), name)


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
