"""Every operation in a compiled function: values, gradients and layouts are those of eager mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops.calls import convert, function_of, outputs, rng_of
from tests.ops.each import each
from tests.ops.rows import Row, all_rows
from wengert import compiler

pytestmark = pytest.mark.filterwarnings("ignore:torch.compile. .* runs as it is from here on")

ROWS = [row for row in all_rows() if "float32" in row.dtypes]
HALVES = [row for row in ROWS if not {"float16", "bfloat16"}.isdisjoint(row.dtypes)]


def arguments(
    row: Row, dtype: wengert.dtype = wengert.float32
) -> tuple[tuple[Any, ...], list[wengert.Tensor]]:
    """Arguments of a row in some dtype, and those that take gradients."""
    leaves: list[wengert.Tensor] = []

    def leaf(array: np.ndarray) -> wengert.Tensor:
        if array.dtype.kind != "f":
            return wengert.tensor(array)
        leaves.append(wengert.tensor(array.astype(np.float32)).to(dtype).requires_grad_())
        return leaves[-1]

    return convert(row.make(rng_of(row)), leaf), leaves


def values(x: Any) -> Any:
    """The arguments as values of the run, so that what reads them may be deferred."""
    if type(x) in (list, tuple):
        return type(x)([values(v) for v in x])
    return x * 1 if isinstance(x, wengert.Tensor) and x.requires_grad else x


def step_of(row: Row) -> tuple[Callable[..., Any], wengert.Tensor]:
    """A step of training that calls the operation, before it meets a weight, which is given."""
    function = function_of(wengert, row)
    kwargs = {
        k: getattr(wengert, v[6:]) if isinstance(v, str) and v.startswith("torch.") else v
        for k, v in row.kwargs.items()
    }
    kwargs = {k: convert(v, wengert.tensor) for k, v in kwargs.items()}
    weight = wengert.ones(3, requires_grad=True)

    def step(*args: Any) -> Any:
        result = function(*values(args), **kwargs)
        loss = (weight * 2).sum()
        for y in outputs(result):
            if isinstance(y, wengert.Tensor) and y.requires_grad and y.dtype.is_floating_point:
                loss = loss + y.square().mean() * weight.sum()
        loss.backward()
        return result

    return step, weight


def calls(
    row: Row, wrap: Callable[[Any], Any], dtype: wengert.dtype = wengert.float32
) -> list[Any]:
    """What three calls give, or how they fail, with gradients."""
    step, weight = step_of(row)
    step, found = wrap(step), list[Any]()
    for k in range(3):
        wengert.manual_seed(k)
        args, leaves = arguments(row, dtype)
        try:
            found += outputs(step(*args))
        except Exception as error:
            found.append((type(error), str(error)))
        found += [*[x.grad for x in leaves], weight.grad]
        weight.grad = None
    return found


@each(ROWS)
def test_compiled_and_eager_do_the_same(row: Row) -> None:
    compiler.reset()
    made: list[Any] = []

    def wrap(step: Any) -> Any:
        made.append(compiler.compile(step))
        return made[0]

    eager, ours = calls(row, lambda step: step), calls(row, wrap)
    assert not any(p.problem for p in made[0].compiled.record.plans.values())
    assert len(ours) == len(eager)
    for a, b in zip(ours, eager, strict=True):
        check(a, b)


@each(HALVES)
def test_of_halves(row: Row) -> None:
    """To the last bit where that is asked for; else what NumPy rounds between steps may differ."""
    for name in {"float16", "bfloat16"}.intersection(row.dtypes):
        dtype = getattr(wengert, name)
        eager = calls(row, lambda step: step, dtype)
        for exact, tolerance in ((True, 0), (False, 0.06)):
            compiler.reset()
            ours = calls(row, partial(compiler.compile, options={"exact": exact}), dtype)
            assert len(ours) == len(eager)
            for a, b in zip(ours, eager, strict=True):
                check(a, b, tolerance)


def check(ours: Any, eager: Any, tolerance: float = 2e-4) -> None:
    if not isinstance(eager, wengert.Tensor):
        same = ours == eager
        assert same if isinstance(same, bool) else type(ours) is type(eager)
        return
    assert (ours.shape, ours.dtype, ours.requires_grad) == (
        eager.shape, eager.dtype, eager.requires_grad,
    )  # fmt: skip
    assert ours.layout == eager.layout
    if eager.layout != wengert.strided:
        ours, eager = ours.to_dense(), eager.to_dense()
    else:
        assert ours.stride() == eager.stride()
    wengert.testing.assert_close(
        ours.detach(), eager.detach(), rtol=tolerance, atol=tolerance, equal_nan=True
    )  # fmt: skip
