"""A formula over many arrays gives what NumPy does, for any sizes, layouts and overlaps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy import maximum, sqrt, where

from tests.kernels.threads import same_for_all_threads
from wengert.kernels.jit import CHUNK, available
from wengert.kernels.jit.builtins import real, reals
from wengert.kernels.jit.formulas import Formula, Lists, formula

pytestmark = pytest.mark.skipif(not available(), reason="no llvmlite")


@formula
def _moved(
    p: reals, g: reals, mean: reals, most: reals = None, *, rate: real, share: real,
    ascend: bool, bounded: bool,
) -> None:  # fmt: skip
    if ascend:
        g = -g
    mean += (g - mean) * share
    if bounded:
        most[...] = maximum(most, mean)
        scale = sqrt(where(most > 0, most, -most))
    else:
        scale = 1.0 if ascend else 2.0
    p -= mean * scale * rate


OPTIONS = [
    {"ascend": False, "bounded": False},
    {"ascend": True, "bounded": False},
    {"ascend": False, "bounded": True},
    {"ascend": True, "bounded": True},
]
SIZES = [
    [(3,)],
    [(0,), (5000,)],
    [(64, 128), (128,), (), (7, 11), (1,)],
    [(CHUNK,), (CHUNK - 1,), (CHUNK + 1,), (2 * CHUNK + 3,)],
    [(17,)] * 40,
]


def columns(shapes: list[tuple[int, ...]], bounded: bool) -> list[Any]:
    rng = np.random.default_rng(0)
    made = [[np.asarray(rng.normal(size=s), np.float32) for s in shapes] for _ in range(4)]
    return [*made[:3], made[3] if bounded else None]


def check(run: Formula, given: list[Any], numbers: Any, options: dict[str, bool]) -> None:
    """What a call does to arrays, against NumPy's on copies, row by row."""
    wanted = [column and [a.copy() for a in column] for column in given]
    run._by_numpy(wanted, numbers, options)
    run(given, numbers, **options)
    for ours, theirs in zip(given, wanted, strict=True):
        for a, b in zip(ours or [], theirs or [], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shapes", SIZES)
def test_sizes(shapes: list[tuple[int, ...]], options: dict[str, bool]) -> None:
    given = columns(shapes, options["bounded"])
    check(_moved, given, [{"rate": 0.1, "share": 0.5}] * len(shapes), options)


def test_each_row_has_its_numbers() -> None:
    given = columns([(4000,)] * 5, False)
    numbers = [{"rate": 0.1 * k, "share": 1 / (k + 1)} for k in range(5)]
    check(_moved, given, numbers, OPTIONS[0])


def test_nan_and_infinity_come_through() -> None:
    given = columns([(9000,)], True)
    given[1][0][::7], given[0][0][::11], given[3][0][::5] = np.nan, np.inf, -np.inf
    check(_moved, given, [{"rate": 0.1, "share": 0.5}], OPTIONS[2])


def test_what_is_not_plain_is_left_to_numpy() -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(90, 120)).astype(np.float32)
    double = rng.normal(size=4000)
    given: list[Any] = [[wide[:, ::2], double, wide[:, 1].copy(), wide.T.copy()] for _ in range(3)]
    given = [[a.copy(order="K") if a is not double else a.copy() for a in c] for c in given]
    given[0][0] = wide[:, ::2]
    check(_moved, [*given, None], [{"rate": 0.1, "share": 0.5}] * 4, OPTIONS[0])


def test_what_may_not_be_written_is_refused() -> None:
    given = columns([(9000,)], False)
    given[0][0].flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        _moved(given, [{"rate": 0.1, "share": 0.5}], **OPTIONS[0])


def test_what_is_no_array_is_not_read() -> None:
    whole, odd = np.zeros(5000, np.float32), np.zeros(5000, np.float32).data
    assert Lists([[whole], [odd]], 1).sizes().tolist() == [-1]  # type: ignore[list-item]
    assert Lists([[odd], [whole]], 1).sizes().tolist() == [-1]  # type: ignore[list-item]
    assert Lists([[whole, odd]], 1).sizes().tolist() == [5000, -1]  # type: ignore[list-item]
    assert Lists([[whole.view(np.memmap)]], 1).sizes().tolist() == [-1]


def test_shapes_that_differ_are_refused() -> None:
    given = columns([(100, 90)], False)
    given[1][0] = given[1][0].reshape(90, 100)
    with pytest.raises(ValueError, match="broadcast"):
        _moved(given, [{"rate": 0.1, "share": 0.5}], **OPTIONS[0])


def test_rows_that_overlap_are_changed_one_after_the_other() -> None:
    numbers = [{"rate": 0.1, "share": 0.5}] * 2
    for shift in (0, 1, 4500):
        given = columns([(9000,), (9000,)], False)
        both = np.arange(18000, dtype=np.float32)
        given[0] = [both[:9000], both[shift : shift + 9000]]
        again = both.copy()
        wanted = [[a.copy() for a in c] for c in given[:3]]
        wanted[0] = [again[:9000], again[shift : shift + 9000]]
        _moved._by_numpy([*wanted, None], numbers, OPTIONS[0])
        _moved(given, numbers, **OPTIONS[0])
        np.testing.assert_array_equal(both, again)


@pytest.mark.parametrize(
    ("starts", "apart"),
    [
        (((0, 100), (100, 200), (200, 300), (300, 400)), True),
        (((0, 100), (99, 199), (200, 300), (300, 400)), False),
        (((300, 400), (0, 100), (100, 200), (399, 499)), False),
        (((0, 100), (200, 300), (200, 300), (100, 200)), False),
        # Two rows may read the same, and a row what it writes.
        (((0, 100), (100, 200), (200, 300), (200, 300)), True),
        (((0, 100), (100, 200), (0, 100), (100, 200)), True),
        (((0, 100), (100, 200), (100, 200), (300, 400)), False),
    ],
)
def test_overlaps_are_found(starts: Any, apart: bool) -> None:
    memory = np.zeros(1000, np.float32)
    parts = [memory[a:b] for a, b in starts]
    lists = Lists([parts[:2], parts[2:]], 1)
    assert lists.fit() == lists.apart() == apart


def test_many_that_are_apart_and_one_that_is_not() -> None:
    rng = np.random.default_rng(0)
    memory = np.zeros(10_000, np.float32)
    cuts = np.sort(rng.choice(10_000, 401, replace=False))
    parts = [memory[a:b] for a, b in pairwise(cuts)]
    rng.shuffle(parts)  # type: ignore[arg-type]
    for part in parts:
        assert Lists([[part]], 1).fit()
    assert all(s == p.size for s, p in zip(Lists([parts], 1).sizes(), parts, strict=True))
    assert Lists([parts], 1).fit()
    assert not Lists([[*parts, memory[cuts[5] : cuts[5] + 1]]], 1).apart()


def test_results_do_not_depend_on_threads() -> None:
    def moved() -> np.ndarray:
        given = columns([(50_000,), (100,), (30_001,)], False)
        _moved(given, [{"rate": 0.1, "share": 0.5}] * 3, **OPTIONS[0])
        return np.concatenate(given[0])

    same_for_all_threads(moved)
