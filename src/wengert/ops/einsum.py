"""Einstein summation: an equation becomes a plan, a plan a few contractions of two tensors.

`contract` and the pair `rearrange` / `spread` are closed under differentiation. A plan
depends only on the equation and the shapes, and is cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.fronts import argument_forms, unpublished
from wengert.core.tensor import Tensor, memory_of
from wengert.ops.batching import Batch
from wengert.ops.broadcasting import expand
from wengert.ops.casting import convert
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, multilinear

Labels = tuple[Any, ...]
Shape = tuple[int, ...]


def contracted(b: Batch, la: Labels, lb: Labels, lo: Labels, skip: int = 0) -> Any:
    """The batching rule of a contraction of two inputs: the batch is one more label.

    Where one of them does not differ between samples, all samples are one matrix product;
    where neither does, they share one product. The inputs are the first two after `skip`.
    """
    first, second = b.op.inputs[skip : skip + 2]
    if first not in b.batched and second not in b.batched:
        out = contract(b.values[first], b.values[second], la, lb, lo)
        return expand(out, (b.size, *out.shape))
    # Nested batches add one label each, so the count tells them apart.
    fresh = ("batch", len({*la, *lb, *lo}))
    la = (fresh, *la) if first in b.batched else la
    lb = (fresh, *lb) if second in b.batched else lb
    return contract(b.values[first], b.values[second], la, lb, (fresh, *lo))


def _contracted(b: Batch) -> Any:
    return contracted(b, b.params["la"], b.params["lb"], b.params["lo"])


def _rearranged(b: Batch) -> Any:
    """The batching rule of `rearrange` and `spread`: a label that both sides keep."""
    source, target = b.params["source"], b.params["target"]
    fresh = ("batch", len({*source, *target}))
    shape = {"shape": (b.size, *b.params["shape"])} if "shape" in b.params else {}
    return b(source=(fresh, *source), target=(fresh, *target), **shape)


@multilinear(
    mixed=False,
    batch=_contracted,
    input=lambda g, other, la, lb, lo: contract(g, conj(other), lo, lb, la),
    other=lambda g, input, la, lb, lo: contract(g, conj(input), lo, la, lb),
    label="BmmBackward0",
    name="einsum",
)
def contract(input: Value, other: Value, la: Labels, lb: Labels, lo: Labels) -> Value:
    """The product of two tensors with labelled axes, summed over the labels that `lo` lacks."""
    if input.dtype != other.dtype:
        a, b = (dtypes.of_numpy[x.dtype].short for x in (input, other))
        raise RuntimeError(f"expected scalar type {a} but found {b}; convert one with .to(...)")
    return kernels.products.contraction.contract(input, other, la, lb, lo)


unpublished["einsum.contract"] = contract


@multilinear(
    input=lambda g, input_shape, source, target: spread(g, input_shape, source, target),
    view=True,
    batch=_rearranged,
    label="PermuteBackward0",
    name="einsum",
)
def rearrange(input: Value, source: Labels, target: Labels) -> Value:
    """Diagonals of repeated labels, sums over those that `target` lacks, axes in its order."""
    return kernels.products.contraction.rearrange(input, source, target)


@multilinear(
    input=lambda g, source, target: rearrange(g, source, target),
    batch=_rearranged,
    name="einsum_backward",
)
def spread(input: Value, shape: Shape, source: Labels, target: Labels) -> Value:
    """The adjoint of `rearrange`."""
    return kernels.products.contraction.spread(np.asarray(input), shape, source, target)


def _summable(x: Tensor) -> Tensor:
    """Sums over a single integer operand are int64, like those of `sum`."""
    return x if memory_of(x).dtype in dtypes.inexact else convert(x, dtypes.int64)


class Contraction(NamedTuple):
    """Contract operands `a` and `b` (the result is appended), or rearrange `a` alone."""

    a: int
    b: int | None
    la: Labels
    lb: Labels
    lo: Labels


def einsum(*args: Any) -> Tensor:
    """Sums of products of tensors, given by an equation such as ``"bij,bjk->bik"``.

    The operands follow the equation, or each is followed by a list of axis numbers:
    ``einsum(a, [0, 1], b, [1, 2], [0, 2])``. A repeated subscript takes a diagonal, ``...``
    stands for axes that broadcast, and without ``->`` the subscripts that occur once are the
    output's, in alphabetical order.

    >>> import wengert
    >>> a = wengert.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> wengert.einsum("ij,kj->ik", a, a)
    tensor([[ 5., 11.],
            [11., 25.]])
    """
    equation, operands = _equation_of(args)
    for k, x in enumerate(operands):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"einsum(): expected Tensor as element {k} of argument 'operands', but got"
                f" {type(x).__name__}"
            )
    values: list[Tensor] = list(operands)
    steps = _plan(equation, tuple([x._outline.shape for x in values]))
    if any(b is None and not set(la) <= set(lo) for _, b, la, _, lo in steps):
        values = [_summable(x) for x in values]
    for a, b, la, lb, lo in steps:
        if b is None:
            values[a] = rearrange(values[a], la, lo)
        else:
            values.append(contract(values[a], values[b], la, lb, lo))
    return values[-1]


def _equation_of(args: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """The equation as text and the operands, from either calling form."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one"
            " operand and its subscripts list"
        )
    if isinstance(args[0], str):
        return args[0], _one_by_one(args)[1:]
    inputs = ",".join(_subscripts(s) for s in args[1::2])
    if len(args) % 2:
        return f"{inputs}->{_subscripts(args[-1])}", args[:-1:2]
    return inputs, args[::2]


def _one_by_one(args: Sequence[Any]) -> tuple[Any, ...]:
    """An equation and its operands, which may come in one list."""
    if len(args) == 2 and isinstance(args[0], str) and isinstance(args[1], (list, tuple)):
        return (args[0], *args[1])
    return tuple(args)


argument_forms["torch.einsum"] = _one_by_one  # `__torch_function__` gets the operands as such

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _subscripts(axes: Any) -> str:
    """A list of axis numbers as letters."""
    text = ""
    for x in axes:
        if x is Ellipsis:
            text += "..."
        elif isinstance(x, int) and 0 <= x < len(_LETTERS):
            text += _LETTERS[x]
        else:
            raise ValueError(
                f"einsum(): subscripts in list format must be within [0, {len(_LETTERS)}) or"
                f" Ellipsis, but got {x!r}"
            )
    return text


@lru_cache(1024)
def _plan(equation: str, shapes: tuple[Shape, ...]) -> tuple[Contraction, ...]:
    """The steps that compute an equation for operands of these shapes."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        more = "more" if len(shapes) > len(terms) else "fewer"
        raise RuntimeError(
            f"einsum(): {more} operands were provided than specified in the equation:"
            f" {len(shapes)} for {equation!r}"
        )
    labels = [_labels(t, s, k) for k, (t, s) in enumerate(zip(terms, shapes, strict=True))]
    sizes = _sizes(labels, shapes)
    target = _output(right, labels) if arrow else _implicit_output(labels)
    # An axis of size 1 that broadcasts can be ignored.
    full = [
        {x for x, n in zip(axes, shape, strict=True) if n == sizes[x]}
        for axes, shape in zip(labels, shapes, strict=True)
    ]
    steps, reduced = [], []
    for k, axes in enumerate(labels):
        elsewhere = set(target).union(*full[:k], *full[k + 1 :])
        keep = tuple(x for x in dict.fromkeys(axes) if x in full[k] & elsewhere)
        if len(shapes) == 1:
            keep = target
        if keep != axes or len(shapes) == 1:
            steps.append(Contraction(k, None, axes, (), keep))
        reduced.append(keep)
    return (*steps, *_pairs(reduced, target, sizes))


def _labels(term: str, shape: Shape, k: int) -> Labels:
    """One label for each axis: letters, and negative numbers (from the right) for `...`."""
    head, dots, tail = term.partition("...")
    for i, c in enumerate(head + tail):
        if c == ".":
            raise RuntimeError(
                f"einsum(): found '.' for operand {k} that is not part of any ellipsis"
            )
        if c not in _LETTERS:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i} of operand {k} in the equation"
                f" string, subscripts must be in [a-zA-Z], got {c!r}"
            )
    spare = len(shape) - len(head) - len(tail)
    if spare < 0 or (spare and not dots):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(head) + len(tail)}) does"
            f" not match the number of dimensions ({len(shape)}) for operand {k}"
            + ("" if dots else " and no ellipsis was given")
        )
    return (*head, *range(-spare, 0), *tail)


def _sizes(labels: list[Labels], shapes: tuple[Shape, ...]) -> dict[Any, int]:
    """The size of each label; an axis of size 1 broadcasts to that of another operand."""
    sizes: dict[Any, int] = {}
    for k, (axes, shape) in enumerate(zip(labels, shapes, strict=True)):
        own_sizes: dict[Any, int] = {}
        for x, n in zip(axes, shape, strict=True):
            if own_sizes.setdefault(x, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {x} is repeated for operand {k} but the sizes don't"
                    f" match, {n} != {own_sizes[x]}"
                )
        for x, n in own_sizes.items():
            size = sizes.get(x, 1)
            if 1 not in (n, size) and n != size:
                raise RuntimeError(
                    f"einsum(): subscript {x} has size {n} for operand {k} which does not"
                    f" broadcast with previously seen size {size}"
                )
            sizes[x] = n if size == 1 else size
    return sizes


def _ellipsis(labels: list[Labels]) -> Labels:
    return tuple(sorted({x for axes in labels for x in axes if isinstance(x, int)}))


def _implicit_output(labels: list[Labels]) -> Labels:
    letters = [x for axes in labels for x in axes if isinstance(x, str)]
    once = sorted(x for x in set(letters) if letters.count(x) == 1)
    return (*_ellipsis(labels), *once)


def _output(term: str, labels: list[Labels]) -> Labels:
    head, dots, tail = term.partition("...")
    labels_seen = {x for axes in labels for x in axes}
    for i, x in enumerate(head + tail):
        if x not in _LETTERS:
            raise RuntimeError(
                f"einsum(): invalid subscript {x!r} at index {i} of the output, subscripts must be"
                " in [a-zA-Z]"
            )
        if (head + tail).count(x) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {x} appears more than once in the output"
            )
        if x not in labels_seen:
            raise RuntimeError(
                f"einsum(): output subscript {x} does not appear in the equation for any input"
                " operand"
            )
    return (*head, *(_ellipsis(labels) if dots else ()), *tail)


def _pairs(labels: list[Labels], target: Labels, sizes: dict[Any, int]) -> list[Contraction]:
    """Contractions of two operands each, in an order that keeps intermediate results small."""
    steps: list[Contraction] = []
    alive = dict(enumerate(labels))
    while len(alive) > 1:
        a, b = _cheapest(alive, target, sizes)
        la, lb = alive.pop(a), alive.pop(b)
        lo = _kept(la, lb, alive, target) if alive else target
        new = len(labels) + len(steps)
        steps.append(Contraction(a, b, la, lb, lo))
        alive[new] = lo
    return steps


def _kept(la: Labels, lb: Labels, others: dict[int, Labels], target: Labels) -> Labels:
    needed = {x for axes in others.values() for x in axes} | {*target}
    return tuple(x for x in dict.fromkeys(la + lb) if x in needed)


def _cheapest(alive: dict[int, Labels], target: Labels, sizes: dict[Any, int]) -> tuple[int, int]:
    """The pair whose product grows least over its factors; the first of several."""
    keys = list(alive)
    if len(keys) == 2:
        return keys[0], keys[1]

    def volume(axes: Labels) -> int:
        n = 1
        for x in axes:
            n *= sizes[x]
        return n

    def growth(pair: tuple[int, int]) -> int:
        a, b = (alive[k] for k in pair)
        others = {k: axes for k, axes in alive.items() if k not in pair}
        return volume(_kept(a, b, others, target)) - volume(a) - volume(b)

    return min(((a, b) for i, a in enumerate(keys) for b in keys[i + 1 :]), key=growth)


__all__ = ["einsum"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
