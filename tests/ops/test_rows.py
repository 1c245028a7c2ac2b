"""Every row: forward and derivatives against torch, finite differences, dtypes, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops import calls
from tests.ops.each import each
from tests.ops.rows import ErrorRow, Row, all_errors, all_rows

ROWS = all_rows()
DIFFERENTIABLE = [r for r in ROWS if r.grad]

# PyTorch's warnings of names that it would rather see replaced.
pytestmark = [
    pytest.mark.filterwarnings("ignore:torch.* is deprecated"),
    pytest.mark.filterwarnings("ignore:.* is in beta"),
]


def same(ours: Any, theirs: Any, rtol: float, atol: float) -> None:
    a, b = calls.to_numpy(ours), calls.to_numpy(theirs)
    if hasattr(theirs, "dtype"):
        assert str(ours.dtype) == str(theirs.dtype)
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
    else:
        assert type(a) is type(b)
        assert a == b


@pytest.mark.torch
@each(ROWS)
def test_forward_equals_torch(row: Row, torch: Any) -> None:
    args = row.make(calls.rng_of(row))
    ours, _ = calls.call(wengert, row, args, grad=row.grad)
    theirs, _ = calls.call(torch, row, args, grad=row.grad)
    a, b = calls.outputs(ours), calls.outputs(theirs)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        same(x, y, row.rtol, row.atol)
        assert getattr(x, "requires_grad", False) == getattr(y, "requires_grad", False)


@pytest.mark.torch
@each(DIFFERENTIABLE)
def test_gradient_equals_torch(row: Row, torch: Any) -> None:
    args = row.make(calls.rng_of(row))
    found = []
    for library in (wengert, torch):
        result, leaves = calls.call(library, row, args, grad=True)
        found.append(calls.gradients(library, calls.scalar(library, result), leaves))
    for ours, theirs in zip(*found, strict=True):
        same(ours, theirs, max(row.rtol, 1e-9), max(row.atol, 1e-10))


def directions_of(row: Row, arrays: list[np.ndarray]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [np.asarray(rng.standard_normal(a.shape)) for a in arrays]


def along_directions(gradients: list[Any], directions: list[np.ndarray]) -> float:
    """The derivative along the directions."""
    pairs = zip(gradients, directions, strict=True)
    return sum(float((g.numpy() * d).sum()) for g, d in pairs)


def substitute(value: Any, arrays: Any) -> Any:
    """The arguments with their floating-point arrays replaced in order."""
    if isinstance(value, np.ndarray):
        return next(arrays) if value.dtype.kind in "fc" else value
    if type(value) in (list, tuple):
        return type(value)(substitute(v, arrays) for v in value)
    return value


@each(DIFFERENTIABLE)
def test_gradient_equals_differences(row: Row) -> None:
    args = row.make(calls.rng_of(row))
    arrays = calls.arrays_of(args)
    if any(a.dtype.kind == "c" for a in arrays):
        pytest.skip("complex inputs are compared with torch")
    directions = directions_of(row, arrays)

    def value(changed: list[np.ndarray]) -> float:
        return calls.row_loss(row, substitute(args, iter(changed)))[0].item()

    loss, leaves = calls.row_loss(row, args)
    ours = along_directions(calls.gradients(wengert, loss, leaves), directions)
    np.testing.assert_allclose(ours, calls.numeric(value, arrays, directions), rtol=1e-5, atol=1e-6)


@each(r for r in DIFFERENTIABLE if r.second)
def test_second_derivative_equals_differences(row: Row) -> None:
    args = row.make(calls.rng_of(row))
    arrays = calls.arrays_of(args)
    if any(a.dtype.kind == "c" for a in arrays):
        pytest.skip("complex inputs are compared with torch")
    directions = directions_of(row, arrays)

    def along(changed: list[np.ndarray]) -> tuple[Any, list[Any]]:
        """The derivative along the directions, itself differentiable."""
        loss, leaves = calls.row_loss(row, substitute(args, iter(changed)))
        found = calls.gradients(wengert, loss, leaves, create_graph=True)
        total = wengert.zeros((), dtype=wengert.float64)
        for g, d in zip(found, directions, strict=True):
            total = total + (g * wengert.from_numpy(d)).sum()
        return total, leaves

    first, leaves = along(arrays)
    ours = 0.0
    if first.requires_grad:
        ours = along_directions(calls.gradients(wengert, first, leaves), directions)
    numeric = calls.numeric(lambda a: along(a)[0].item(), arrays, directions)
    np.testing.assert_allclose(ours, numeric, rtol=1e-4, atol=1e-5)


TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 2e-5}


@pytest.mark.torch
@each(r for r in ROWS if r.dtypes)
def test_dtypes_equal_torch(row: Row, torch: Any) -> None:
    for dtype in row.dtypes:
        check_dtype(row, dtype, torch)


def check_dtype(row: Row, dtype: str, torch: Any) -> None:
    def converted(array: np.ndarray) -> np.ndarray:
        if array.dtype != np.float64 or dtype == "bfloat16":
            return array
        return (array * 3 if dtype.startswith(("int", "uint")) else array).astype(dtype)

    args = calls.convert(row.make(calls.rng_of(row)), converted)

    def run(library: Any) -> list[Any]:
        def leaf(array: np.ndarray) -> Any:
            t = library.from_numpy(array.copy())
            return t.bfloat16() if dtype == "bfloat16" and array.dtype == np.float64 else t

        values = calls.convert(args, leaf)
        kwargs = {k: getattr(library, v[6:]) if isinstance(v, str) and v.startswith("torch.")
                  else calls.convert(v, leaf) for k, v in row.kwargs.items()}  # fmt: skip
        return calls.outputs(calls.function_of(library, row)(*values, **kwargs))

    tolerance = TOLERANCE.get(dtype, 1e-10)
    for x, y in zip(run(wengert), run(torch), strict=True):
        same(x, y, tolerance, tolerance)


@pytest.mark.torch
@each(all_errors())
def test_errors_are_of_torchs_class(row: ErrorRow, torch: Any) -> None:
    args = row.make(calls.rng_of(row))
    for library, match in ((torch, None), (wengert, row.match)):
        values = calls.convert(args, lambda a, lib=library: lib.from_numpy(a.copy()))
        kwargs = {k: calls.convert(v, library.from_numpy) for k, v in row.kwargs.items()}
        with pytest.raises(row.kind, match=match):
            calls.oracle_or_own(library, row)(*values, **kwargs)


def test_every_op_has_a_row() -> None:
    names = {row.name.split(".")[-1].rstrip("_") for row in ROWS}
    public = {n for n in wengert.ops.__all__ if not n.startswith("_")}
    assert sorted(public - names) == []
