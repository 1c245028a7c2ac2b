"""No operation of these families runs sample by sample, nor do those that their rules use."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert
from tests.func.test_rows import arrays_in, function_of, is_refused, samples_of, tensors_of
from tests.ops import calls
from tests.ops.rows import Row
from wengert.autograd._transforms import batched

FAMILIES = (
    "arithmetic", "bitwise", "comparison", "complexes", "expansion", "indexing", "joining",
    "powers", "rounding", "scatter", "selection", "shape", "splitting", "triangle",
)  # fmt: skip
ROWS: list[Row] = [
    row for name in FAMILIES for row in importlib.import_module(f"tests.ops.rows.{name}").ROWS
]
DIFFERENTIABLE = [row for row in ROWS if row.grad and not is_refused(row, "all")]
SIZE = 3


@pytest.fixture(autouse=True)
def slow_is_an_error(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every operation warns anew, and the warning is an error."""
    monkeypatch.setattr(batched, "_warned", set())
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "There is a performance drop")
        yield


def batch_of(samples: list[list[np.ndarray]]) -> list[Any]:
    return [wengert.from_numpy(np.stack(column)) for column in zip(*samples, strict=True)]


def differentiable(outputs: list[Any]) -> list[Any]:
    """The floating-point outputs, complex ones as real numbers."""
    found = [y for y in tensors_of(outputs) if y.is_floating_point() or y.is_complex()]
    return [wengert.view_as_real(y) if y.is_complex() else y for y in found]


@pytest.mark.parametrize("which", ["all", "first", "rest"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_values(row: Row, which: str) -> None:
    args, samples = samples_of(row)
    count = len(samples[0])
    chosen = {"all": range(count), "first": range(1), "rest": range(1, count)}[which]
    if not count or not chosen or (which == "all" and count == 1) or is_refused(row, which):
        pytest.skip("nothing to batch, the same as another variant, or refused")
    function = function_of(row, args)
    alone = [wengert.from_numpy(a.copy()) for a in samples[0]]
    if not tensors_of(function(*alone)):
        pytest.skip("no tensor comes out")
    batch = [b if k in chosen else alone[k] for k, b in enumerate(batch_of(samples))]
    dims = tuple(0 if k in chosen else None for k in range(count))
    found = wengert.vmap(lambda *xs: tensors_of(function(*xs)), in_dims=dims)(*batch)
    assert all(y.shape[0] == SIZE for y in found)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=str)
def test_gradients(row: Row) -> None:
    args, samples = samples_of(row)
    function = function_of(row, args)
    floats = tuple(k for k, a in enumerate(samples[0]) if a.dtype.kind in "fc")

    def loss(*xs: Any) -> Any:
        return sum((y * y).sum() for y in differentiable(function(*xs)))

    found = wengert.vmap(wengert.func.grad(loss, argnums=floats))(*batch_of(samples))
    for k, g in zip(floats, found, strict=True):
        assert g.shape == (SIZE, *samples[0][k].shape)


@pytest.mark.parametrize("row", [r for r in ROWS if r.grad], ids=str)
def test_jacobians(row: Row) -> None:
    args = row.make(calls.rng_of(row))
    arrays, function = arrays_in(args), function_of(row, args)
    first = next(k for k, a in enumerate(arrays) if a.dtype.kind in "fc")
    tensors = [wengert.from_numpy(a) for a in arrays]

    def output(x: Any) -> Any:
        return differentiable(function(*tensors[:first], x, *tensors[first + 1 :]))[0]

    if arrays[first].dtype.kind == "c":
        pytest.skip("the Jacobian of a function of complex numbers")
    x = tensors[first]
    found = wengert.func.jacrev(output)(x)
    assert found.shape == (*output(x).shape, *x.shape)
    np.testing.assert_allclose(
        found.numpy(), wengert.func.jacfwd(output)(x).numpy(), rtol=1e-9, atol=1e-11
    )
