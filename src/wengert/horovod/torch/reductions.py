"""``allreduce`` and its forms: in the background, in place, of several tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from wengert.autograd import Function
from wengert.core.dtypes import by_name
from wengert.core.tensor import Tensor, wrap
from wengert.distributed import schedules
from wengert.distributed.arguments import FlatOutput
from wengert.distributed.reduce_op import RedOpType
from wengert.horovod.common.process_sets import ProcessSet, global_process_set
from wengert.horovod.torch.compression import Compression
from wengert.horovod.torch.negotiation import Handle, enlist, follows, request, start


class Reduction(IntEnum):
    """What `allreduce` does with the tensors of the ranks."""

    Average = 0
    Sum = 1
    Adasum = 2
    Min = 3
    Max = 4
    Product = 5


Average, Sum, Adasum = Reduction.Average, Reduction.Sum, Reduction.Adasum
Min, Max, Product = Reduction.Min, Reduction.Max, Reduction.Product
_STEPS = {
    Average: RedOpType.AVG,
    Sum: RedOpType.SUM,
    Min: RedOpType.MIN,
    Max: RedOpType.MAX,
    Product: RedOpType.PRODUCT,
}


def chosen_op(op: Any, average: bool | None) -> Reduction:
    """The operation that two arguments name; ValueError if both are there."""
    if op is None:
        return Sum if average is False else Average
    if average is not None:
        raise ValueError("The op parameter supersedes average. Please provide only one of them.")
    return Reduction(op)


def scale(row: np.ndarray, factor: float) -> None:
    """Multiply in place; integers are rounded towards zero."""
    if factor != 1.0:
        np.multiply(row, factor, out=row, casting="unsafe")


def reduce_row(comm: Any, row: np.ndarray, op: Reduction, prescale: float, post: float) -> None:
    """Reduce a row over the ranks, in place."""
    scale(row, prescale)
    if op is Adasum:
        _add_adaptively(comm, row)
    else:
        schedules.all_reduce(comm, row, _STEPS[op])
    scale(row, post)


def _add_adaptively(comm: Any, row: np.ndarray) -> None:
    """Adasum: pairs of gradients are added without what they have in common."""
    rows = [np.empty_like(row) for _ in range(comm.size)]
    schedules.all_gather(comm, rows, row)
    level = [r.astype(np.float64) for r in rows]
    while len(level) > 1:
        level = [_adasum(a, b) for a, b in zip(level[::2], level[1::2], strict=True)]
    row[...] = level[0]


def _adasum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    dot, squares = a @ b, (a @ a, b @ b)
    factors = [1.0 if square == 0 else 1.0 - dot / (2 * square) for square in squares]
    return factors[0] * a + factors[1] * b


def _reduce_rows(
    comm: Any, rows: Sequence[np.ndarray], op: Reduction, prescale: float, post: float
) -> None:
    """Reduce several rows: those of a dtype together, except where each counts for itself."""
    by_dtype: dict[Any, list[np.ndarray]] = {}
    for row in rows:
        by_dtype.setdefault(row.dtype, []).append(row)
    for same in by_dtype.values():
        if op is Adasum or len(same) == 1:
            for row in same:
                reduce_row(comm, row, op, prescale, post)
            continue
        joined = np.concatenate(same)
        reduce_row(comm, joined, op, prescale, post)
        start = 0
        for row in same:
            row[...] = joined[start : start + row.size]
            start += row.size


@follows("allreduce")
def _follow_allreduce(comm: Any, requests: Any, asked: dict[str, Any]) -> None:
    rows = [
        np.zeros(int(np.prod(shape)), by_name(dtype).np)
        for shape, dtype in zip(asked["shapes"], asked["dtypes"], strict=True)
    ]
    _reduce_rows(comm, rows, Reduction[asked["op"]], asked["prescale"], asked["postscale"])


def _start(
    outputs: Sequence[Tensor],
    result: Callable[[], Any],
    name: str | None,
    op: Reduction,
    factors: tuple[float, float],
    process_set: ProcessSet,
    async_op: bool,
) -> Handle:
    """Reduce tensors in place."""
    size = process_set.group().size()
    if op is Adasum and size & (size - 1):
        raise NotImplementedError(
            f"Running Adasum with non-power of 2 ranks is not supported, and there are {size}"
        )
    rows = [FlatOutput(tensor) for tensor in outputs]

    def algorithm(comm: Any, requests: Any) -> None:
        _reduce_rows(comm, [row.row for row in rows], op, *factors)
        for row in rows:
            row.finish()

    own = request("allreduce", name, outputs, op=op.name, prescale=factors[0], postscale=factors[1])
    return start(own, process_set, algorithm, result, outputs, async_op)


def _copies(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [wrap(np.array(t._array, order="C")) for t in tensors]


class _Allreduce(Function):
    @staticmethod
    def forward(ctx: Any, name: Any, op: Any, factors: Any, process_set: Any, *tensors: Any) -> Any:
        ctx.op, ctx.factors, ctx.process_set = op, factors, process_set
        outputs = _copies(tensors)
        _start(outputs, lambda: None, name, op, factors, process_set, False).wait()
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        if ctx.op not in (Average, Sum):
            raise RuntimeError(
                f"allreduce(op={ctx.op.name}) has no derivative here; use op=Average or op=Sum, or"
                " detach() the input"
            )
        gs = _Allreduce.apply(None, ctx.op, ctx.factors, ctx.process_set, *gs)
        return None, None, None, None, *gs


def allreduce(
    tensor: Tensor,
    average: bool | None = None,
    name: str | None = None,
    compression: Any = Compression.none,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Tensor:
    """The average (or what `op` says) of the tensors of all ranks. It can be differentiated.

    >>> import wengert
    >>> import wengert.horovod.torch as hvd
    >>> hvd.init()
    >>> hvd.allreduce(wengert.ones(2), op=hvd.Sum)
    tensor([1., 1.])
    >>> hvd.shutdown()
    """
    return grouped_allreduce(
        [tensor], average, name, compression, op, prescale_factor, postscale_factor, process_set
    )[0]


def grouped_allreduce(
    tensors: Sequence[Tensor],
    average: bool | None = None,
    name: str | None = None,
    compression: Any = Compression.none,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> list[Tensor]:
    """`allreduce` of several tensors, in one collective."""
    reduction = chosen_op(op, average)
    smaller, contexts = zip(*map(compression.compress, tensors), strict=True)
    factors = prescale_factor, postscale_factor
    reduced = _Allreduce.apply(name, reduction, factors, process_set, *smaller)
    return list(map(compression.decompress, reduced, contexts))


def grouped_allreduce_async(
    tensors: Sequence[Tensor],
    average: bool | None = None,
    name: str | None = None,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """`grouped_allreduce` in the background: the handle for `synchronize`."""
    outputs = _copies(tensors)
    return grouped_allreduce_async_(
        outputs, average, name, op, prescale_factor, postscale_factor, process_set
    )


def grouped_allreduce_async_(
    tensors: Sequence[Tensor],
    average: bool | None = None,
    name: str | None = None,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """`grouped_allreduce_` in the background: the handle for `synchronize`."""
    values = list(tensors)
    factors = prescale_factor, postscale_factor
    reduction = chosen_op(op, average)
    return enlist(_start(values, lambda: values, name, reduction, factors, process_set, True))


def grouped_allreduce_(
    tensors: Sequence[Tensor],
    average: bool | None = None,
    name: str | None = None,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> list[Tensor]:
    """`grouped_allreduce` into the tensors."""
    values = list(tensors)
    factors = prescale_factor, postscale_factor
    _start(
        values, lambda: None, name, chosen_op(op, average), factors, process_set, False
    ).wait()  # fmt: skip
    return values


def _start_one(output: Tensor, name: Any, op: Any, factors: Any, process_set: ProcessSet) -> int:
    handle = _start([output], lambda: output, name, op, factors, process_set, True)
    return enlist(handle)


def allreduce_async(
    tensor: Tensor,
    average: bool | None = None,
    name: str | None = None,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """`allreduce` in the background: the handle for `synchronize`."""
    factors = prescale_factor, postscale_factor
    return _start_one(_copies([tensor])[0], name, chosen_op(op, average), factors, process_set)


def allreduce_async_(
    tensor: Tensor,
    average: bool | None = None,
    name: str | None = None,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """`allreduce_` in the background: the handle for `synchronize`."""
    factors = prescale_factor, postscale_factor
    return _start_one(tensor, name, chosen_op(op, average), factors, process_set)


def allreduce_(
    tensor: Tensor,
    average: bool | None = None,
    name: str | None = None,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Tensor:
    """`allreduce` into the tensor."""
    return grouped_allreduce_(
        [tensor], average, name, op, prescale_factor, postscale_factor, process_set
    )[0]


__all__ = [
    "Adasum",
    "Average",
    "Max",
    "Min",
    "Product",
    "Sum",
    "allreduce",
    "allreduce_",
    "allreduce_async",
    "allreduce_async_",
    "grouped_allreduce",
    "grouped_allreduce_",
    "grouped_allreduce_async",
    "grouped_allreduce_async_",
]
