"""Outlines of large results, from results for small inputs of the same kind.

Each long dimension is replaced by a short one, equal ones by equal ones, and the operation
computes on zeros of that size. Three such probes say how a length of the result follows from
those of the inputs; two of them fix the relation, the third has to confirm it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.meta.dense import Described, rows

LARGE = 1 << 16  # from which product of the numbers of elements an operation is probed
_LONG = 96  # dimensions that are replaced
_MODULUS = (
    24  # short lengths leave the same remainder: what divides by 2, 3 or 4 sees no difference
)


def probed(
    op: Any, inputs: Sequence[Any], params: dict[str, Any], fill: Callable[..., Any]
) -> Described | None:
    """What an operation would give for these inputs; None where no simple relation holds.

    Parameters that are a long length are that length. `fill(shape, dtype)` makes the arrays to
    compute with.
    """
    lengths = sorted({
        n for x in inputs if isinstance(x, Tensor) for n in memory_of(x).shape if n > _LONG
    })  # fmt: skip
    if not lengths:
        return None
    results = []
    shorts = []
    for k in range(1, 4):
        short = {n: n % _MODULUS + _MODULUS * k * (2 + j * j) for j, n in enumerate(lengths)}
        shorts.append(short)
        values = [_shortened(x, short, fill) for x in inputs]
        result = op(values, {name: _renumbered(p, short) for name, p in params.items()})
        results.append(memory_of(result))
    first = results[0]
    if len({r.ndim for r in results}) > 1:
        return None
    shape = []
    for d in range(first.ndim):
        length = _followed([r.shape[d] for r in results], shorts, lengths)
        if length is None:
            return None
        shape.append(length)
    order = sorted(range(first.ndim), key=lambda d: (-first.strides[d], d))
    if not _dense(first, order):
        return None
    return tuple(shape), first.dtype, rows(tuple(shape), first.dtype, order)


def _renumbered(param: Any, short: dict[int, int]) -> Any:
    """A parameter with short lengths in place of long ones."""
    if type(param) is int:
        return short.get(param, param)
    return tuple([_renumbered(p, short) for p in param]) if type(param) is tuple else param


def _shortened(x: Any, short: dict[int, int], fill: Callable[..., Any]) -> Any:
    """A tensor with short dimensions, which lie in memory in the same order."""
    if not isinstance(x, Tensor):
        return x
    array: Any = memory_of(x)
    shape: tuple[int, ...] = tuple([short.get(n, n) for n in array.shape])
    order = sorted(range(array.ndim), key=lambda d: (-array.strides[d], d))
    strides = rows(shape, array.dtype, order)
    flat = fill(shape, array.dtype)
    return wrap(np.lib.stride_tricks.as_strided(flat, shape, strides) if array.ndim > 1 else flat)


def _followed(outs: list[int], shorts: list[dict[int, int]], lengths: Sequence[int]) -> int | None:
    """The length that a result has whose short forms are `outs`."""
    if outs[0] == outs[1] == outs[2]:
        return outs[0]
    for n in lengths:
        a, b, c = (short[n] for short in shorts)
        slope = Fraction(outs[1] - outs[0], b - a)
        if outs[2] - outs[1] == slope * (c - b):
            length = outs[0] + slope * (n - a)
            if length.denominator == 1 and _is_only(n, outs, shorts, lengths):
                return int(length)
    return None


def _is_only(n: int, outs: list[int], shorts: list[dict[int, int]], lengths: Sequence[int]) -> bool:
    """Whether a length of the result is that of one dimension, or there is no other to follow."""
    return len(lengths) == 1 or outs == [short[n] for short in shorts]


def _dense(array: np.ndarray, order: Sequence[int]) -> bool:
    return (array.size > 0 and array.strides == rows(array.shape, array.dtype, order)) or (
        array.flags.c_contiguous
    )
