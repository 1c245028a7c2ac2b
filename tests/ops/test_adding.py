"""Adding an operation, as CONTRIBUTING.md has it: everything follows from one declaration."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops import calls, test_rows
from tests.ops.rows import ErrorRow, Row, inputs
from wengert.ops.op import REGISTRY

MODULE = '''
"""Softsquare, which grows as a line."""

import numpy as np

from wengert.ops.arithmetic import abs
from wengert.ops.declare import Value, elementwise


def _slope(g: Value, x: Value) -> Value:
    more = abs(x) + 1.0
    return g * x * (more + 1.0) / (more * more)


@elementwise(floats=True, input=lambda g, input: _slope(g, input))
def softsquare(input: Value) -> Value:
    """``x**2 / (1 + |x|)``."""
    return input * input / (np.abs(input) + 1)
'''


def twin(library: Any) -> Any:
    """What PyTorch, which has no softsquare, has in its place."""
    return lambda input: input * input / (library.abs(input) + 1)


ROW = Row("softsquare", inputs((3, 4)), dtypes=("float32", "float16", "int64"), twin=twin)
ERROR = ErrorRow(
    "softsquare", lambda rng: ("text",), TypeError, "must be Tensor, not str", twin=twin
)


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A module of one op, which is forgotten afterwards."""
    path: Path = tmp_path_factory.mktemp("family") / "softsquare_family.py"
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del REGISTRY["softsquare"]


@pytest.fixture
def softsquare(family: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The op, under the name that its row has."""
    monkeypatch.setattr(wengert, "softsquare", family.softsquare, raising=False)
    return family.softsquare


def expected(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, first and second derivative."""
    more = 1 + np.abs(x)
    return x * x / more, x * (more + 1) / more**2, 2 / more**3


@pytest.mark.parametrize("n", [5, 100_000])  # by NumPy; by a kernel made of the declaration
def test_forward_and_derivatives(softsquare: Any, n: int) -> None:
    array = np.random.default_rng(0).standard_normal(n)
    x = wengert.from_numpy(array).requires_grad_()
    out = softsquare(x)
    assert type(out.grad_fn).__name__ == "SoftsquareBackward0"
    (first,) = wengert.autograd.grad(out.sum(), x, create_graph=True)
    (second,) = wengert.autograd.grad(first.sum(), x)
    for ours, theirs in zip((out, first, second), expected(array), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=1e-12, atol=1e-15)


def test_transforms(softsquare: Any) -> None:
    array = np.random.default_rng(1).standard_normal((3, 4))
    x = wengert.from_numpy(array)
    value, slope, _ = expected(array)
    for ours, theirs in (
        (wengert.func.vmap(softsquare)(x), value),
        (wengert.func.vmap(wengert.func.grad(lambda row: softsquare(row).sum()))(x), slope),
        (wengert.func.jvp(softsquare, (x,), (wengert.ones_like(x),))[1], slope),
    ):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12)


def test_integers_become_floats(softsquare: Any) -> None:
    out = softsquare(wengert.tensor([-1, 3]))
    assert out.dtype == wengert.float32
    assert out.tolist() == [0.5, 2.25]


def test_its_row_is_checked_against_differences(softsquare: Any) -> None:
    for check in (
        test_rows.test_gradient_equals_differences,
        test_rows.test_second_derivative_equals_differences,
    ):
        check(rows=[ROW])


@pytest.mark.torch
def test_its_row_is_checked_against_its_twin(softsquare: Any, torch: Any) -> None:
    for check in (
        test_rows.test_forward_equals_torch,
        test_rows.test_gradient_equals_torch,
        test_rows.test_dtypes_equal_torch,
    ):
        check(rows=[ROW], torch=torch)
    test_rows.test_errors_are_of_torchs_class(rows=[ERROR], torch=torch)


@pytest.mark.torch
def test_a_row_that_differs_from_its_twin_fails(softsquare: Any, torch: Any) -> None:
    row = Row("softsquare", inputs((3, 4)), twin=lambda library: library.square)
    with pytest.raises(AssertionError):
        test_rows.test_forward_equals_torch(rows=[row], torch=torch)


def test_the_twin_is_only_for_other_libraries(softsquare: Any) -> None:
    assert calls.function_of(wengert, ROW) is softsquare
