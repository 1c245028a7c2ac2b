"""Every differentiable row of every operation, in a checkpoint: the gradients of the plain call."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

import wengert
from tests.ops import calls
from tests.ops.each import each
from tests.ops.rows import Row, all_rows
from wengert.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

ROWS = [row for row in all_rows() if row.grad]


def is_inplace(row: Row) -> bool:
    return row.name.endswith("_") and not row.name.endswith("__")


def loss_of(row: Row, args: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
    """A scalar of the results of a row whose floating-point arrays are `values`."""
    given = iter([v * 1 for v in values])  # no leaves, whose arrays would stay

    def tensor(array: np.ndarray) -> Any:
        return next(given) if array.dtype.kind in "fc" else wengert.from_numpy(array.copy())

    args = calls.convert(args, tensor)
    kwargs = {k: calls.convert(v, tensor) for k, v in row.kwargs.items()}
    kwargs = {k: getattr(wengert, v[6:]) if isinstance(v, str) and v.startswith("torch.") else v
              for k, v in kwargs.items()}  # fmt: skip
    outputs = calls.outputs(calls.function_of(wengert, row)(*args, **kwargs))
    wanted = [o for o in outputs if isinstance(o, wengert.Tensor) and o.requires_grad]
    return sum((o * o.conj()).real.sum() if o.is_complex() else (o * o).sum() for o in wanted)


def gradients(row: Row, run: Any) -> list[Any]:
    """What arrives at the leaves of a row when `run(function, *leaves)` calls it."""
    args = row.make(calls.rng_of(row))
    arrays = [*calls.arrays_of(args), *calls.arrays_of(tuple(row.kwargs.values()))]
    leaves = [wengert.from_numpy(a.copy()).requires_grad_() for a in arrays]
    wengert.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(lambda *values: loss_of(row, args, values), *leaves).backward()
    return [leaf.grad for leaf in leaves]


def same(found: list[Any], expected: list[Any]) -> bool:
    return all(
        (a is None) == (b is None) and (a is None or wengert.equal(a.nan_to_num(), b.nan_to_num()))
        for a, b in zip(found, expected, strict=True)
    )


def plain(function: Any, *args: Any) -> Any:
    return function(*args)


AGAIN = functools.partial(checkpoint, use_reentrant=False)
KEPT = functools.partial(
    AGAIN,
    context_fn=lambda: create_selective_checkpoint_contexts(lambda *_, **__: True),
)


@each(ROWS)
def test_gradients(row: Row) -> None:
    expected = gradients(row, plain)
    assert same(gradients(row, AGAIN), expected)
    if not is_inplace(row):  # a result that is kept must not be written to
        assert same(gradients(row, KEPT), expected)
