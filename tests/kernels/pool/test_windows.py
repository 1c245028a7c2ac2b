"""Where the windows of pooling lie, by NumPy, against loops over all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from wengert.kernels import pool
from wengert.kernels.geometry import Geometry, offsets, padded, windows
from wengert.kernels.pool import (
    _max_positions,
    _random_starts,
    add_positions,
    enclosed,
    hollow_windows,
    lowest,
    max_positions,
    put_positions,
    region_bounds,
    region_max_positions,
    take_positions,
    window_spread,
    window_sum,
)

CASES = [
    # size, kernel, stride, padding, dilation
    ((5,), (2,), (1,), ((0, 0),), (1,)),
    ((7,), (3,), (2,), ((1, 1),), (1,)),
    ((7,), (3,), (2,), ((1, 0),), (2,)),
    ((4, 5), (2, 3), (1, 2), ((1, 0), (1, 1)), (1, 1)),
    ((6, 6), (2, 2), (2, 2), ((1, 1), (0, 1)), (3, 2)),
    ((4, 5), (4, 5), (1, 1), ((0, 0), (0, 0)), (1, 1)),  # of all of it
    ((3, 4, 5), (2, 2, 2), (1, 2, 3), ((1, 1), (0, 0), (1, 0)), (1, 1, 2)),
]


def geometry(case: Any) -> tuple[Any, Any, Any, Geometry]:
    """Size, kernel, outputs and geometry."""
    size, kernel, stride, padding, dilation = case
    there = Geometry(stride, padding, dilation)
    return size, kernel, there.out_size(size, kernel), there


def places(case: Any) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Each output and the places in the unpadded input that its window has."""
    size, kernel, out, there = geometry(case)
    for o in np.ndindex(*out):
        window = []
        for k in np.ndindex(*kernel):
            at = tuple(
                i * s + j * d - low
                for i, j, s, d, (low, _) in zip(
                    o, k, there.stride, there.dilation, there.padding, strict=True
                )
            )
            if all(0 <= a < n for a, n in zip(at, size, strict=True)):
                window.append(at)
        yield o, window


@pytest.mark.parametrize("case", CASES)
def test_sums_and_their_adjoint(case: Any) -> None:
    size, kernel, out, there = geometry(case)
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((2, 3, *size)), rng.standard_normal((2, 3, *out))
    sums, spread = np.zeros(g.shape), np.zeros(x.shape)
    for o, window in places(case):
        for at in window:
            sums[:, :, *o] += x[:, :, *at]
            spread[:, :, *at] += g[:, :, *o]
    np.testing.assert_allclose(window_sum(x, kernel, out, there), sums, rtol=1e-12, atol=1e-12)
    back = window_spread(g, kernel, size, there)
    np.testing.assert_allclose(back, spread, rtol=1e-12, atol=1e-12)
    assert back.flags.c_contiguous


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["plain", "nan", "equal", "infinite", "integers"])
def test_maxima(case: Any, kind: str) -> None:
    size, kernel, out, there = geometry(case)
    x = np.random.default_rng(1).standard_normal((2, 1, *size)).astype(np.float32)
    if kind == "nan":
        x.ravel()[::4] = np.nan
    elif kind == "equal":
        x[...] = 1.0
    elif kind == "infinite":
        x[...] = -np.inf
    elif kind == "integers":
        x = (x * 3).astype(np.int8)
    positions = max_positions(x, kernel, out, there)
    for o, window in places(case):
        for n in range(2):
            values = np.array([x[n, 0, *at] for at in window])
            if not window:
                assert positions[n, 0, *o] == 0
                continue
            missing = np.isnan(values)
            best = np.flatnonzero(missing)[-1] if missing.any() else int(values.argmax())
            assert positions[n, 0, *o] == np.ravel_multi_index(window[best], size), (o, values)


def test_windows_in_the_padding_alone() -> None:
    case = ((3,), (2,), (1,), ((2, 2),), (5,))
    size, kernel, out, there = geometry(case)
    hollow = hollow_windows(size, kernel, out, there)
    empty = [not window for _, window in places(case)]
    if any(empty):
        assert hollow is not None
        assert hollow[0].tolist() == empty
        values, positions = pool.max_pool(np.ones((1, 1, 3), np.float32), kernel, out, there)
        assert (values[0, 0][hollow[0]] == -np.inf).all()
        assert (positions[0, 0][hollow[0]] == 0).all()
    else:
        assert hollow is None


@pytest.mark.parametrize("step", [2, 3, 4])
@pytest.mark.parametrize("low", [0, 1, 2, 5])
def test_which_windows_are_hollow(step: int, low: int) -> None:
    for n, k, stride in itertools.product((1, 2, 5), (2, 3), (1, 2)):
        case = ((n,), (k,), (stride,), ((low, low),), (step,))
        size, kernel, out, there = geometry(case)
        if out[0] <= 0:
            continue
        hollow = hollow_windows(size, kernel, out, there)
        mask = [False] * out[0] if hollow is None else hollow[0].tolist()
        assert mask == [not window for _, window in places(case)], case


def test_without_dilation_no_window_is_hollow() -> None:
    assert hollow_windows((3,), (2,), (4,), Geometry((1,), ((1, 1),), (1,))) is None


def test_positions_stay_in_the_plane() -> None:
    for case in CASES:
        size, kernel, out, there = geometry(case)
        found = _max_positions(np.full((1, 1, *size), -np.inf), kernel, out, there)
        assert found.min() >= -np.prod(size)
        assert found.max() < np.prod(size)


@pytest.mark.parametrize(("size", "out"), [(5, 5), (5, 2), (7, 3), (3, 5), (1, 4)])
def test_regions_cover_everything(size: int, out: int) -> None:
    bounds = region_bounds(size, out)
    assert len(bounds) == out
    assert (bounds[0][0], bounds[-1][1]) == (0, size)
    assert all(low < high for low, high in bounds)
    assert all(b[0] <= a[1] for a, b in itertools.pairwise(bounds))
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(bounds))


def test_maxima_of_regions() -> None:
    x = np.arange(20.0).reshape(1, 1, 4, 5)
    assert region_max_positions(x, (2, 2)).tolist() == [[[[7, 9], [17, 19]]]]
    x[0, 0, 0, :2] = np.nan
    assert region_max_positions(x, (2, 2))[0, 0].tolist() == [[1, 9], [17, 19]]


def test_positions_taken_and_given_back() -> None:
    x = np.arange(24.0).reshape(2, 3, 2, 2)
    index = np.array([3, 0]).reshape(1, 1, 1, 2).repeat(2, 0).repeat(3, 1)
    taken = take_positions(x, index, 2)
    assert taken[1, 2].tolist() == [[23, 20]]
    added = add_positions(np.ones((2, 3, 1, 2)), np.zeros_like(index), (2, 2))
    assert added[0, 0].tolist() == [[2, 0], [0, 0]]
    put = put_positions(np.array([[[[1.0, 2.0]]]]), np.array([[[[3, 3]]]]), (2, 2))
    assert put.tolist() == [[[[0, 0], [0, 2]]]]
    assert put_positions(np.zeros((0, 1, 1)), np.zeros((0, 1, 1), int), (2, 2)).shape == (0, 2, 2)


def test_random_windows_lie_within() -> None:
    samples = np.random.default_rng(0).random(50)
    for size, kernel, out in ((10, 3, 4), (7, 7, 3), (9, 2, 1), (5, 1, 5)):
        starts = _random_starts(samples, size, kernel, out)
        assert starts.shape == (50, out)
        assert starts.min() >= 0
        assert starts.max() <= size - kernel
        assert (starts[:, -1] == size - kernel).all()
        assert (np.diff(starts) >= 0).all()


def test_padding() -> None:
    x = np.ones((1, 1, 2, 2))
    assert enclosed(x, ((0, 0), (0, 0)), 5.0) is x
    assert padded(x, ((0, 0), (0, 0))) is x
    assert enclosed(x, ((0, 1), (2, 0)), 5.0)[0, 0].tolist() == [
        [5, 5, 1, 1], [5, 5, 1, 1], [5, 5, 5, 5]
    ]  # fmt: skip
    assert padded(x, ((1, 0), (0, 1)))[0, 0].tolist() == [[0, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert (lowest(np.dtype(np.int8)), lowest(np.dtype(np.float32))) == (-128, -np.inf)


@pytest.mark.parametrize("case", CASES)
def test_windows_as_a_view(case: Any) -> None:
    size, kernel, out, there = geometry(case)
    x = padded(np.random.default_rng(2).standard_normal((2, 1, *size)), there.padding)
    view = windows(x, kernel, out, there)
    assert view.shape == (2, 1, *kernel, *out)
    assert np.shares_memory(view, x)
    assert not view.flags.writeable
    for place, slices in offsets(kernel, out, there):
        np.testing.assert_array_equal(view[:, :, *place], x[:, :, *slices])
