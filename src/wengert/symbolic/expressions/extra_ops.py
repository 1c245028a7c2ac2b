"""Functions beside the common ones: running sums, repetitions, diagonals, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert import ops
from wengert.symbolic.dtypes import DISCRETE, upcast
from wengert.symbolic.expressions.arithmetic import abs_, cast, eq, ge, switch
from wengert.symbolic.expressions.asserting import Assert
from wengert.symbolic.expressions.counting import (
    Counts,
    RavelMultiIndex,
    SearchsortedOp,
    Unique,
    UnravelIndex,
    bincount,
    ravel_multi_index,
    searchsorted,
    unravel_index,
)
from wengert.symbolic.expressions.creation import arange, ones, zeros, zeros_like
from wengert.symbolic.expressions.diagonals import (
    AllocDiag,
    Diagonal,
    FillDiagonal,
    diag,
    diagonal,
    fill_diagonal,
    fill_diagonal_offset,
    trace,
)
from wengert.symbolic.expressions.elemwise import float_zeros
from wengert.symbolic.expressions.indexing import inc_subtensor, index, nonzero, set_subtensor
from wengert.symbolic.expressions.products import dot
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.running import CumOp, DiffOp, cumprod, cumsum, diff
from wengert.symbolic.expressions.shapes import number_in
from wengert.symbolic.expressions.sorting import TakeAlong, argsort
from wengert.symbolic.expressions.structure import (
    alloc,
    concatenate,
    flatten,
    reshape,
    shape_padright,
)
from wengert.symbolic.expressions.structure import squeeze as squeeze
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.expressions.wrapped import Bound, Composed, Wrapped
from wengert.symbolic.graph import Apply, Operation, disconnected


class RepeatOp(Operation):
    """Each element several times along an axis, or of the flat array."""

    __props__ = ("axis",)

    def __init__(self, axis: Any = None) -> None:
        self.axis = axis

    def make_node(self, x: Any, repeats: Any) -> Apply:
        """`repeats` is an integer, or a vector of them."""
        x, repeats = as_tensor_variable(x), as_tensor_variable(repeats)
        x = flatten(x) if self.axis is None else x
        axis = normalize_axis_index(self.axis or 0, x.ndim)
        if axis != self.axis:
            return RepeatOp(axis).make_node(x, repeats)
        if repeats.dtype not in DISCRETE:
            raise TypeError("repeats.dtype must be an integer.")
        if repeats.dtype == "uint64":
            raise TypeError("repeat: the dtype of repeats is uint64, which is no count of NumPy's")
        pattern = list(x.broadcastable)
        pattern[self.axis] = pattern[self.axis] and number_in(repeats) == 1
        return Apply(self, [x, repeats], [TensorType(x.dtype, pattern)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """The sum of `repeats`, along the axis."""
        repeats, shape = node.inputs[1], list(shapes[0])
        copies = repeats * shape[self.axis] if not repeats.ndim else sum_over(repeats)
        shape[self.axis] = copies
        return [shape]

    def compute(self, x: np.ndarray, repeats: np.ndarray) -> np.ndarray:
        """NumPy's."""
        return np.repeat(x, repeats.astype(np.int64), self.axis)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Counts have no gradient."""
        return [[True], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Sums over the copies."""
        x, repeats = inputs
        (g,) = output_gradients
        positions = RepeatOp(0)(arange(x.shape[self.axis]), repeats)
        target = index(float_zeros(x), (*[slice(None)] * self.axis, positions))
        return [inc_subtensor(target, g), disconnected()]


def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element several times along an axis, or in the flat array."""
    x, repeats = as_tensor_variable(x), as_tensor_variable(repeats)
    if repeats.ndim > 1:
        raise ValueError("The dimension of repeats should not exceed 1.")
    return RepeatOp(axis)(x, repeats)


def _repetitions(x: Any, reps: Any, ndim: int | None) -> list[Any]:
    """How often `tile` repeats the last dimensions."""
    if ndim is not None and ndim < x.ndim:
        raise ValueError("ndim should be equal or larger than x.ndim")
    if isinstance(reps, list | tuple):
        if ndim is not None and len(reps) > ndim:
            raise ValueError("len(reps) should be equal or less than ndim")
        if any(as_tensor_variable(r).ndim or as_tensor_variable(r).dtype not in DISCRETE
               for r in reps):  # fmt: skip
            raise ValueError("elements of reps must be scalars of integer dtype")
        return list(reps)
    reps = as_tensor_variable(reps)
    if reps.dtype not in DISCRETE:
        raise ValueError("elements of reps must be integer dtype")
    if reps.ndim == 0:
        return [reps]
    if reps.ndim > 1:
        raise ValueError("the dimension of reps should not exceed 1")
    if ndim is None:
        raise ValueError("if reps is tensor.vector, you should specify the ndim")
    offset = ndim - reps.shape[0]
    offset = Assert("len(reps) should be equal or less than ndim")(offset, ge(offset, 0))
    padded = set_subtensor(index(ones((ndim,), reps.dtype), slice(offset, None)), reps)
    return [index(padded, d) for d in range(ndim)]


def tile(x: Any, reps: Any, ndim: int | None = None) -> Any:
    """An array several times in each direction.

    Raises ValueError where `reps` are not integers, where they are a vector of unknown length and
    `ndim` does not say how many there are, and where there are more than `ndim`.
    """
    x = as_tensor_variable(x)
    counts = _repetitions(x, reps, ndim)
    rank = max(len(counts), x.ndim, ndim or 0)
    counts = [1] * (rank - len(counts)) + counts
    x = as_tensor_variable(x, ndim=rank)
    shape = [x.shape[d] * counts[d] for d in range(rank)]
    widened = []
    order: list[Any] = []
    for d in range(rank):
        widened += [counts[d], x.shape[d]]
        order += ["x", d]
    return reshape(alloc(x.dimshuffle(*order), *widened), shape, rank)


def _chosen(a: Any, choices: Any, mode: str) -> Any:
    count, rest = choices.shape[0], tuple(choices.shape[1:])
    shape = np.broadcast_shapes(tuple(a.shape), rest)
    a = a.long()
    if mode == "raise" and bool(((a < 0) | (a >= count)).any()):
        raise ValueError(f"invalid entry in choice array: numbers have to be below {count}")
    a = a.clamp(0, count - 1) if mode == "clip" else a % count
    table = choices.reshape(count, *(1,) * (len(shape) - len(rest)), *rest)
    return table.expand(count, *shape).gather(0, a.expand(shape).unsqueeze(0)).squeeze(0)


def _chosen_of(a: Any, *rest: Any) -> Any:
    """`_chosen`, of arrays that are passed one by one and broadcast."""
    *choices, mode = rest
    return _chosen(a, ops.stack(ops.broadcast_tensors(*choices)), mode)


def _jointly(patterns: Sequence[tuple[bool, ...]]) -> list[bool]:
    """Which dimensions of arrays that broadcast to each other have length 1."""
    ndim = max(map(len, patterns))
    padded = [(True,) * (ndim - len(p)) + p for p in patterns]
    return [all(flags) for flags in zip(*padded, strict=True)]


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Elements of several arrays: at each place of the array whose number stands in `a`.

    Args:
        a: numbers of arrays.
        choices: the arrays: a list, or a variable whose first dimension counts them.
        out: None.
        mode: what numbers beyond the last are: errors ("raise", ValueError when it is computed),
            the last ("clip"), or counted from the first again ("wrap").
    """
    if out is not None:
        raise AssertionError("choose: out= is not supported")
    a = as_tensor_variable(a)
    if a.dtype not in DISCRETE:
        raise TypeError(f"choose: a must be integers, {a} is {a.type}")
    options = list(map(as_tensor_variable, choices)) if isinstance(choices, list | tuple) else None
    choices = as_tensor_variable(choices) if options is None else choices
    parts: Any = options or [choices]
    dtype = upcast(*[c.dtype for c in parts])
    flags = [c.broadcastable for c in parts] if options else [choices.broadcastable[1:]]
    own = TensorType(dtype, _jointly([a.broadcastable, *flags]))
    function = Bound(_chosen_of, mode) if options else Bound(_chosen, mode)
    return Wrapped("Choose", function, [own])(a, *parts)


def compress(condition: Any, x: Any, axis: Any = None) -> Any:
    """The slices along an axis for which a condition holds."""
    x = as_tensor_variable(x)
    positions = nonzero(as_tensor_variable(condition))[0]
    if axis is None:
        return flatten(x)[positions]
    return index(x, (*[slice(None)] * normalize_axis_index(axis, x.ndim), positions))


def to_one_hot(y: Any, nb_class: Any, dtype: Any = None) -> Any:
    """A row for each number, with a one at its place."""
    y = as_tensor_variable(y)
    rows = zeros((y.shape[0], nb_class), dtype)
    return set_subtensor(rows[arange(y.shape[0]), y], 1)


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved along an axis; those at the end come first."""
    x = as_tensor_variable(x)
    if axis is None:
        if x.ndim > 1:
            return reshape(roll(flatten(x), shift, 0), x.shape, x.ndim)
        axis = 0
    shift = as_tensor_variable(shift) % x.shape[axis]
    lead = [slice(None)] * (axis % x.ndim)
    return concatenate(
        [index(x, (*lead, slice(-shift + x.shape[axis], None))),
         index(x, (*lead, slice(None, -shift + x.shape[axis])))], axis % x.ndim
    )  # fmt: skip


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
        fweights: Any = None, aweights: Any = None) -> Any:  # fmt: skip
    """The covariance matrix of variables in rows."""
    if fweights is not None or aweights is not None:
        raise NotImplementedError("cov: weights")
    m = as_tensor_variable(m)
    if m.ndim == 1:
        m = m.dimshuffle("x", 0)
    if not rowvar and not m.broadcastable[0]:
        m = m.T
    if y is not None:
        y = as_tensor_variable(y)
        m = concatenate([m, y.dimshuffle("x", 0) if y.ndim == 1 else y if rowvar else y.T], 0)
    count = m.shape[1] - (ddof if ddof is not None else (0 if bias else 1))
    centred = m - shape_padright(m.mean(axis=1))
    return dot(centred, centred.T) / cast(count, m.dtype)


def cpu_contiguous(x: Any) -> Any:
    """The variable itself: where its elements lie in memory is no concern of programs here."""
    return as_tensor_variable(x)


def bartlett(M: Any) -> Any:  # noqa: N803
    """The triangular window of `M` points, of dtype float64."""
    points = as_tensor_variable(M)
    if points.ndim or points.dtype not in DISCRETE:
        raise TypeError(f"bartlett: an integer is needed, and {points} is {points.type}")
    middle = (cast(points, "float64") - 1.0) / 2.0
    places = abs_(cast(arange(points), "float64") - middle)
    return switch(eq(points, 1), 1.0, 1.0 - places / switch(eq(points, 1), 1.0, middle))


def permute_row_elements(x: Any, y: Any, inverse: Any = 0) -> Any:
    """The elements of each row in the order that a row of `y` says."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    order = cast(argsort(y, -1) if inverse else y, "int64")
    rank = max(x.ndim, order.ndim)
    # Rows of one are repeated for those of the other; the last dimension is not.
    x, order = as_tensor_variable(x, ndim=rank), as_tensor_variable(order, ndim=rank)
    x = x + zeros_like(sum_over(order, -1, keepdims=True), x.dtype)
    order = order + zeros_like(sum_over(x, -1, keepdims=True), "int64")
    return TakeAlong(rank - 1)(x, order)


class Choose(Composed):
    """`choose`, as operations are made: ``Choose(mode)(a, choices)``."""

    def __init__(self, mode: str = "raise") -> None:
        super().__init__(mode=mode)

    function = staticmethod(choose)


class Tile(Composed):
    """`tile`, as operations are made: ``Tile(ndim)(x, reps)``."""

    def __init__(self, ndim: int) -> None:
        super().__init__(ndim=ndim)

    function = staticmethod(tile)


class PermuteRowElements(Composed):
    """`permute_row_elements`, as operations are made: ``op(x, y, inverse)``."""

    function = staticmethod(permute_row_elements)


def inverse_permutation(perm: Any) -> Any:
    """Where each number stands in a permutation, or in each row of permutations."""
    perm = as_tensor_variable(perm)
    return cast(argsort(perm, -1), perm.dtype)


__all__ = [
    "AllocDiag",
    "Choose",
    "Counts",
    "CumOp",
    "Diagonal",
    "DiffOp",
    "FillDiagonal",
    "PermuteRowElements",
    "RavelMultiIndex",
    "RepeatOp",
    "SearchsortedOp",
    "Tile",
    "Unique",
    "UnravelIndex",
    "bartlett",
    "bincount",
    "choose",
    "compress",
    "cov",
    "cpu_contiguous",
    "cumprod",
    "cumsum",
    "diag",
    "diagonal",
    "diff",
    "fill_diagonal",
    "fill_diagonal_offset",
    "inverse_permutation",
    "permute_row_elements",
    "ravel_multi_index",
    "repeat",
    "roll",
    "searchsorted",
    "tile",
    "to_one_hot",
    "trace",
    "unravel_index",
]
