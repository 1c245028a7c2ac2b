"""How the axes of an array are put together before it is reduced."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np
import pytest

from wengert.kernels.jit import available
from wengert.kernels.reduction import calls
from wengert.kernels.reduction.calls import _restored, _run_and_plan, plan_of


@pytest.mark.parametrize(
    ("lengths", "axes", "pattern", "sizes"),
    [
        ((2, 3), None, "R", [6]),
        ((2, 3), (0, 1), "R", [6]),
        ((2, 3), (1,), "KR", [2, 3]),
        ((2, 3), (0,), "RK", [2, 3]),
        ((2, 3, 4), (1,), "KRK", [2, 3, 4]),
        ((2, 3, 4), (0, 2), "RKR", [2, 3, 4]),
        ((2, 3, 4), (1, 2), "KR", [2, 12]),
        ((2, 3, 4), (0, 1), "RK", [6, 4]),
        ((2, 3, 4, 5), (1, 3), "KRKR", [2, 3, 4, 5]),
        ((2, 1, 4), (1,), "K", [8]),  # a length of 1 is neither
        ((2, 1, 4), (2,), "KR", [2, 4]),
        ((1, 1), None, "", []),
        ((), None, "", []),
        ((2, 0), (1,), "KR", [2, 0]),
    ],
)
def test_neighbours_are_one_run(
    lengths: tuple[int, ...], axes: tuple[int, ...] | None, pattern: str, sizes: list[int]
) -> None:
    plan = plan_of(lengths, axes, tuple(range(len(lengths))))
    assert plan.pattern == pattern
    assert plan.sizes == sizes


def test_runs_go_by_the_order_in_memory() -> None:
    plan = plan_of((2, 3, 4), (0,), (2, 1, 0))
    assert (plan.pattern, plan.sizes) == ("KR", [12, 2])
    assert plan.shape == (4, 3)
    assert plan.permuted == (1, 0)
    assert plan.kept == (1, 3, 4)


def test_what_is_left_in_order_is_not_permuted() -> None:
    assert plan_of((2, 3, 4), (1,), (0, 1, 2)).permuted is None
    assert plan_of((2, 3, 4), (1,), (0, 2, 1)).permuted is None
    assert plan_of((2, 3, 4), (1,), (2, 0, 1)).permuted == (1, 0)


def test_the_runs_have_all_elements() -> None:
    lengths = (2, 3, 4, 5)
    for count in range(5):
        for axes in itertools.combinations(range(4), count):
            for order in itertools.permutations(range(4)):
                plan = plan_of(lengths, axes, order)
                assert prod(plan.sizes) == 120
                kept = [n for k, n in zip(plan.pattern, plan.sizes, strict=True) if k == "K"]
                assert prod(kept) == prod(plan.shape) == prod(plan.kept)
                assert "KK" not in plan.pattern
                assert "RR" not in plan.pattern


@pytest.mark.parametrize("keepdim", [False, True])
def test_results_come_back_in_the_callers_shape(keepdim: bool) -> None:
    """The runs, reduced one by one with NumPy, are the reduction of the array."""
    base = np.arange(120.0).reshape(2, 3, 4, 5)
    for order in itertools.permutations(range(4)):
        array = base.transpose(order)
        for count in range(1, 5):
            for axes in itertools.combinations(range(4), count):
                plan = plan_of(array.shape, axes, calls._order_of(array.shape, array.strides))
                dense = _run_and_plan(array, axes, (plan.pattern,))[1]
                assert dense.flags.c_contiguous
                runs = tuple(k for k, letter in enumerate(plan.pattern) if letter == "R")
                flat = dense.reshape(plan.sizes).sum(runs)
                out = _restored(np.asarray(flat), plan, keepdim)
                np.testing.assert_array_equal(out, array.sum(axes, keepdims=keepdim))


def test_all_of_it_without_dimensions_is_a_number() -> None:
    plan = plan_of((2, 3), None, (0, 1))
    assert isinstance(_restored(np.array([6.0]), plan, False), np.float64)
    assert _restored(np.array([6.0]), plan, True).shape == (1, 1)


@pytest.mark.parametrize("dtype", [np.float16, np.int64])
def test_what_kernels_do_not_read(dtype: Any) -> None:
    array = np.zeros((2, 3), dtype)
    assert _run_and_plan(array, None, ("R",))[0] is None
    assert calls.total(array, None, False) is None
    assert calls.product(array, None, False) is None


@pytest.mark.skipif(not available(), reason="no llvmlite")
@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::2],
        np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3)),
        np.frombuffer(bytearray(b"@@@@" * 6 + b"@"), np.float32, 6, 1),
    ],
    ids=["gaps", "repeated", "unaligned"],
)
def test_what_kernels_read_in_a_copy(array: np.ndarray) -> None:
    run, dense, _ = _run_and_plan(array, None, ("R",))
    assert run == "f32"
    assert dense.flags.c_contiguous
    assert dense.flags.aligned
    assert not np.shares_memory(dense, array)
    norm = calls.norm(array, None, False)
    assert norm is not None
    np.testing.assert_allclose(norm[0], np.sqrt(np.square(array).sum()), rtol=1e-6)


@pytest.mark.skipif(not available(), reason="no llvmlite")
def test_rows_beside_others_in_memory_are_copied() -> None:
    x = np.arange(120, dtype=np.float32).reshape(2, 5, 4, 3).transpose(0, 3, 1, 2)
    run, rows, plan = _run_and_plan(x, (3,), ("KR",))
    assert (run, plan.pattern, plan.sizes) == ("f32", "KR", [30, 4])
    np.testing.assert_array_equal(rows, x)
    assert rows.flags.c_contiguous
    assert _run_and_plan(x, (1, 2), ("KR",))[0] is None


@pytest.mark.skipif(not available(), reason="no llvmlite")
def test_patterns_that_have_no_kernel() -> None:
    array = np.ones((2, 3, 4, 5), np.float32)
    assert calls.total(array, (1, 3), False) is None
    assert calls.total(np.ones((2, 3, 4), np.float32), (1,), False) is None  # rows too short
    assert calls.total(np.ones((2, 3, 8), np.float32), (1,), False).tolist() == [[3.0] * 8] * 2
    assert calls.total(np.ones((3, 2)), (0,), False) is None  # of float64
    for function in (calls.product, calls.norm):
        assert function(array, (0,), False) is None
    assert calls.variance(array, (1, 3), 1.0, False) is None
    assert calls.extreme(array, None, False, True) is None
    assert calls.extreme_index(array, (1, 3), False, True) is None
    assert calls.extreme(array, (1,), False, True).tolist() == [[[1.0] * 5] * 4] * 2
    assert calls.extreme(array, (2,), False, True) is None  # rows too short


@pytest.mark.skipif(not available(), reason="no llvmlite")
def test_indices_beyond_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.ones((2, 8), np.float32)
    assert calls.extreme_index(array, (1,), False, True).tolist() == [0, 0]
    monkeypatch.setattr(calls, "MOST_PLACES", 7)
    assert calls.extreme_index(array, (1,), False, True) is None


@pytest.mark.skipif(not available(), reason="no llvmlite")
@pytest.mark.parametrize("axes", [None, (1,), (2, 1), (0, 2), (1, 2)])
def test_kernels_of_permuted_arrays(axes: tuple[int, ...] | None) -> None:
    array = np.random.default_rng(0).standard_normal((3, 4, 16)).transpose(1, 0, 2)
    for keepdim in (False, True):
        out = calls.total(array, axes, keepdim)
        if out is not None:
            expected = array.sum(axes, keepdims=keepdim)
            assert np.shape(out) == expected.shape
            np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
