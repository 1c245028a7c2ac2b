"""The number of floating-point operations of recorded calls and their derivatives.

Products count a multiplication and an addition per pair of numbers multiplied, once for the result
and once per gradient needed. Everything else counts by convention: one operation per element of
its result, or of its inputs if there are more, whatever the function; its derivative per element
of the gradients needed. Views, copies and anything that only moves numbers count nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any, NamedTuple

from wengert.core.tensor import Leaf, Node
from wengert.graph.nodes import is_released


class Flops(NamedTuple):
    """Floating-point operations: of a call, and of its derivative.

    >>> import wengert
    >>> w = wengert.ones(3, 4, requires_grad=True)
    >>> wengert.graph.describe(wengert.ones(2, 3) @ w).flops
    Flops(forward=48, backward=48)
    """

    forward: int = 0
    backward: int = 0


def summed(counts: Iterable[Flops | None]) -> Flops:
    """The sum of counts, as far as they are known."""
    forward = backward = 0
    for count in counts:
        if count is not None:
            forward += count[0]
            backward += count[1]
    return Flops(forward, backward)


def flops_of(node: Node) -> Flops | None:
    """The operations of a node; None if its shapes are unknown, as for a released one."""
    if type(node) is Leaf:
        return Flops()
    if is_released(node):
        return None
    op = getattr(node, "op", None)
    if op is None:  # of lists of tensors, of a user's own
        return Flops()
    count = _PRODUCTS.get(op.name)
    if count is not None:
        try:
            return count(_Call(node))
        except LookupError:
            return None
    linear = op.kind == "multilinear" and op.name not in _SUMMING
    return Flops() if op.view or linear or op.name in _MOVING else _by_element(node)


def _by_element(node: Node) -> Flops:
    gradient_sizes = [prod(edge.shape) for edge in node.edges if edge is not None]
    return Flops(max(prod(node.shape), *gradient_sizes), sum(gradient_sizes))


class _Call:
    """A recorded call: the shapes of its inputs, and which of them want a gradient."""

    __slots__ = ("node", "out")

    def __init__(self, node: Node) -> None:
        self.node, self.out = node, node.shape

    def shape(self, name: str) -> tuple[int, ...]:
        """That of the node that made an input, or of what was saved; LookupError if unknown."""
        edge = getattr(self.node, f"e_{name}", None)
        value = edge if edge is not None else getattr(self.node, f"s_{name}", None)
        if value is None or value.shape is None:
            raise LookupError(name)
        return tuple(value.shape)

    def wants(self, name: str) -> bool:
        """Whether an input needs a gradient."""
        return getattr(self.node, f"e_{name}", None) is not None

    def product(self, pairs: int, *factors: str) -> Flops:
        """A product in which so many pairs of numbers meet."""
        return Flops(2 * pairs, 2 * pairs * sum(map(self.wants, factors)))


def _matrices(first: str, second: str, contracted: int = -1) -> Callable[[_Call], Flops]:
    """Of a product of matrices: the inner dimension is that of the first factor."""
    return lambda call: call.product(prod(call.out) * call.shape(first)[contracted], first, second)


def _linear(call: _Call) -> Flops:
    return call.product(prod(call.out) * call.shape("weight")[-1], "input", "weight")


def _labelled(call: _Call) -> Flops:
    node: Any = call.node
    labels, lengths = (*node.s_la, *node.s_lb), (*call.shape("input"), *call.shape("other"))
    return call.product(prod(dict(zip(labels, lengths, strict=True)).values()), "input", "other")


def _convolution(call: _Call) -> Flops:
    return call.product(prod(call.out) * prod(call.shape("weight")[1:]), "input", "weight")


def _transposed_convolution(call: _Call) -> Flops:
    pairs = prod(call.shape("input")) * prod(call.shape("weight")[1:])
    return call.product(pairs, "input", "weight")


def _convolution_weight(call: _Call) -> Flops:
    return call.product(prod(call.shape("grad")) * prod(call.out[1:]), "grad", "input")


def _attention(call: _Call) -> Flops:
    query, key, value = map(call.shape, ("query", "key", "value"))
    scores, sums = (2 * prod(query[:-1]) * key[-2] * width for width in (key[-1], value[-1]))
    of_scores = call.wants("query") + call.wants("key")
    backward = of_scores * scores + (bool(of_scores) + call.wants("value")) * sums
    return Flops(scores + sums, backward)


def _recurrent(call: _Call) -> Flops:
    """Of a layer's products; a gradient goes through the states to all steps."""
    counts = []
    projected = getattr(call.node, "s_w_hr", None) is not None or call.wants("w_hr")
    for name in ("w_ih", "w_hh", *["w_hr"] * projected):
        pairs = call.shape("input")[0] * prod(call.shape(name))
        gradients = (name != "w_ih" or call.wants("input")) + call.wants(name)
        counts.append(Flops(2 * pairs, 2 * pairs * gradients))
    return summed(counts)


_PRODUCTS: dict[str, Callable[[_Call], Flops]] = {
    "linear": _linear,
    "mm": _matrices("input", "mat2"),
    "bmm": _matrices("input", "mat2"),
    "matmul": _matrices("input", "other"),
    "dot": _matrices("input", "tensor"),
    "times": _matrices("input", "other"),
    "times_transposed": _matrices("input", "other"),
    "transposed_times": _matrices("input", "other", -2),
    "addmm": _matrices("mat1", "mat2"),
    "baddbmm": _matrices("batch1", "batch2"),
    "contract": _labelled,
    "_convolution": _convolution,
    "_transposed_convolution": _transposed_convolution,
    "_convolution_weight": _convolution_weight,
    "_attention": _attention,
    "rnn_layer": _recurrent,
    "lstm_layer": _recurrent,
    "gru_layer": _recurrent,
}
# Linear operations that do more than to move numbers.
_SUMMING = {
    "_add_positions", "_c2c", "_cross", "_cumsum", "_differences", "_differences_adjoint",
    "_masked", "_outer", "_r2c", "_spread", "_summed_blocks", "_tap_products", "_taps_summed",
    "_weighed_pick", "_weighed_put", "_weighed_rows", "_window_spread", "add_along", "add_rows",
    "half_to_real", "mean_over", "outer", "overlap_add", "real_to_half", "resample",
    "resample_back", "spread", "sum_over", "sum_to_shape", "window_mean",
}  # fmt: skip
# Others that do no more.
_MOVING = {
    "_constant_pad", "_fill_rows", "_masked_fill", "_overwritten", "_scatter", "_scatter_number",
    "_where", "index_copy", "index_written", "with_part",
}  # fmt: skip
