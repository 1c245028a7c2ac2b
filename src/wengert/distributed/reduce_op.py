"""How values of several ranks become one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np

from wengert.core.dtypes import BOOL, COMPLEX, INT, of_numpy


class RedOpType(Enum):
    """How values of several ranks become one.

    >>> from wengert.distributed import ReduceOp
    >>> ReduceOp.SUM
    <RedOpType.SUM: 0>
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


ReduceOp = RedOpType
ReduceOp.RedOpType = RedOpType  # type: ignore[attr-defined]

_STEPS: dict[RedOpType, Callable[..., Any]] = {
    RedOpType.SUM: np.add,
    RedOpType.AVG: np.add,
    RedOpType.PRODUCT: np.multiply,
    RedOpType.MIN: np.minimum,
    RedOpType.MAX: np.maximum,
    RedOpType.BAND: np.bitwise_and,
    RedOpType.BOR: np.bitwise_or,
    RedOpType.BXOR: np.bitwise_xor,
}
_BITWISE = frozenset({RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR})
_ORDERED = frozenset({RedOpType.MIN, RedOpType.MAX})
_HALVES = frozenset({np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)})


def check_reduction(name: str, op: Any, dtype: np.dtype[Any]) -> None:
    """Raise what PyTorch does if an operation cannot reduce values of a dtype."""
    if not isinstance(op, RedOpType):
        raise TypeError(f"{name}(): argument 'op' is {op!r}, expected a torch.distributed.ReduceOp")
    kind = of_numpy[dtype]
    if op not in _STEPS:
        raise RuntimeError(f"{name}(): ReduceOp.{op.name} works with NCCL only, on CUDA devices")
    if kind.category == COMPLEX:
        _check_complex(name.removesuffix("_coalesced"), op)
    if op is RedOpType.AVG and kind.category in (BOOL, INT):
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type: {name}() was given"
            f" {kind} to average"
        )
    if op in _BITWISE and kind.category not in (BOOL, INT):
        raise RuntimeError(
            f"Cannot use ReduceOp.{op.name} with non-integral dtype: {name}() was given {kind}"
        )
    if kind.name.startswith("float8"):
        raise RuntimeError(f"Invalid scalar type: {name}() does not compute with {kind}")


def _check_complex(name: str, op: RedOpType) -> None:
    if op in (*_ORDERED, *_BITWISE) or (op is RedOpType.PRODUCT and name == "all_reduce"):
        raise ValueError(f"{name} does not support ReduceOp.{op.name} on complex tensors")


def reduce_into(out: np.ndarray, terms: Sequence[np.ndarray], op: RedOpType, count: int) -> None:
    """Reduce arrays of several ranks; `out` is one of them. `count` ranks share an average.

    Halves are summed in float32 and rounded once.
    """
    step = _STEPS[op]
    if out.dtype in _HALVES:
        total = out.astype(np.float32)
        for term in terms:
            step(total, term.astype(np.float32), out=total)
        if op is RedOpType.AVG:
            total /= count
        out[...] = total
        return
    for term in terms:
        step(out, term, out=out)
    if op is RedOpType.AVG:
        divide(out, count)


def divide(out: np.ndarray, count: int) -> None:
    """Divide in place; integers are rounded towards zero."""
    if out.dtype.kind in "iu":
        out[...] = np.sign(out) * (np.abs(out) // out.dtype.type(count))
    elif out.dtype.kind != "b":
        out *= out.dtype.type(1 / count)


__all__ = ["RedOpType", "ReduceOp"]
