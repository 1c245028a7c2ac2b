"""A choice of which only the branch that is taken is computed."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions.elemwise import float_zeros, rebroadcast
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, Variable


class IfElse(Operation):
    """The first half of the values if a condition holds, otherwise the second half."""

    __props__ = ("count",)
    lazy = True

    def __init__(
        self, n_outs: int, as_view: bool = False, gpu: bool = False, name: str | None = None
    ) -> None:
        self.count, self.as_view, self.gpu, self.name = n_outs, as_view, gpu, name

    def make_node(self, condition: Any, *values: Any) -> Apply:
        """Both halves have the same types."""
        condition = as_tensor_variable(condition)
        if condition.ndim:
            raise TypeError(
                f"ifelse: the condition is a scalar, and {condition} is {condition.type}"
            )
        return Apply(self, [condition, *values], [v.type() for v in values[: self.count]])

    def compute(self, condition: Any, *values: Any) -> Any:
        """Where both branches are computed already."""
        chosen = values[: self.count] if condition else values[self.count :]
        return chosen if self.count > 1 else chosen[0]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradients for the branch that is taken, zeros for the other."""
        condition, *values = inputs
        # As of any comparison, zeros: what only a condition depends on is not disconnected.
        first, second = values[: self.count], values[self.count :]
        gradients: list[Any] = []
        for half, owned in ((first, True), (second, False)):
            for v, g in zip(half, output_gradients, strict=True):
                zeros = rebroadcast(float_zeros(v), v.broadcastable)
                g = rebroadcast(g, v.broadcastable)
                pair = (g, zeros) if owned else (zeros, g)
                gradients.append(IfElse(1)(condition, *pair))
        return [float_zeros(condition), *gradients]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Each output with its two values."""
        positions = range(self.count)
        return [
            [True] * self.count,
            *([j == k for j in positions] for k in (*positions, *positions)),
        ]

    def __str__(self) -> str:
        return "if{}"


def ifelse(condition: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """One of two values, or lists of values; what only the other needs is not computed.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.ifelse import ifelse
    >>> a, b = T.dscalars("a", "b")
    >>> function([a, b], ifelse(T.lt(a, b), a * 2, b * 3))(1.0, 5.0)
    array(2.)
    """
    several = isinstance(then_branch, list | tuple)
    first = list(then_branch) if isinstance(then_branch, list | tuple) else [then_branch]
    second = list(else_branch) if isinstance(else_branch, list | tuple) else [else_branch]
    if len(first) != len(second):
        raise ValueError(
            f"The number of values on the `then` branch should have the same number of variables as"
            f" the `else` branch : (variables on `then` {len(first)}, variables on `else`"
            f" {len(second)})"
        )
    pairs = [_alike(a, b) for a, b in zip(first, second, strict=True)]
    outs = IfElse(len(pairs))(
        condition, *[a for a, _ in pairs], *[b for _, b in pairs], return_list=True
    )
    for k, out in enumerate(outs):
        if name is not None:
            out.name = f"{name}_{k}" if several else name
    if several:
        return list(outs)
    return outs[0]


def _alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Two values in one type; TypeError where that is not possible."""
    a, b = (v if isinstance(v, Variable) else as_tensor_variable(v) for v in (a, b))
    if a.type == b.type:
        return a, b
    tensors = isinstance(a.type, TensorType) and isinstance(b.type, TensorType)
    if tensors and (a.dtype, a.ndim) == (b.dtype, b.ndim):
        pattern = [x and y for x, y in zip(a.broadcastable, b.broadcastable, strict=True)]
        return rebroadcast(a, pattern), rebroadcast(b, pattern)
    raise TypeError(
        "The two branches should have identical types, but they are"
        f" {a.type} and {b.type} respectively. This error could be raised if for example you"
        " provided a one element list on the `then` branch but a tensor on the `else` branch."
    )
