"""Functions of ``theano.tensor.extra_ops``, and their operations by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T
from wengert.symbolic.tensor import extra_ops


def values(x: Any, variables: Any, value: Any) -> list[Any]:
    return [v.tolist() for v in theano.function([x], list(variables))(value)]


def test_diagonals_of_more_than_two_dimensions_are_filled() -> None:
    x, fill = T.dtensor3("x"), T.dscalar("fill")
    filled = T.fill_diagonal(x, fill)
    f = theano.function([x, fill], [filled, *T.grad((filled**2).sum(), [x, fill])])
    value = np.arange(8.0).reshape(2, 2, 2)
    out, of_x, of_fill = f(value, 7.0)
    value[[0, 1], [0, 1], [0, 1]] = 7
    np.testing.assert_array_equal(out, value)
    assert [of_x[0, 0, 0], of_x[0, 1, 1], of_fill] == [0, 6, 28]
    with pytest.raises(ValueError, match=r"must be of equal length, got \(2, 2, 3\)"):
        f(np.zeros((2, 2, 3)), 1.0)
    tall = T.fill_diagonal(T.as_tensor_variable(np.zeros((3, 2))), 1.0).eval()
    assert tall.tolist() == [[1, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda m, v: T.fill_diagonal(v, 1), "at least two dimensions"),
        (lambda m, v: T.fill_diagonal(m, v), "second parameter must be a scalar"),
        (lambda m, v: T.fill_diagonal(T.lmatrix(), 1.5), "must be the same as the first's, int64"),
        (lambda m, v: T.fill_diagonal_offset(m, 1, 1.5), "must be a scalar integer"),
        (lambda m, v: T.bincount(v), "integers are counted"),
        (lambda m, v: T.repeat(v, T.as_tensor_variable(np.uint64(2))), "uint64"),
        (lambda m, v: T.searchsorted(v, m, sorter=v), "sorter must be an integer vector"),
        (lambda m, v: T.unravel_index(v, (2, 2)), "interpreted as an index"),
    ],
)
def test_types_are_checked(build: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        build(T.dmatrix(), T.dvector())


def test_places_in_flat_arrays() -> None:
    x = T.lvector("x")
    lengths = theano.shared(np.array([3, 4]))
    found = [
        *T.unravel_index(x, (3, 4)), *T.unravel_index(x, lengths, order="F", ndim=2),
    ]  # fmt: skip
    assert values(x, found, [5, 3]) == [[1, 0], [1, 3], [2, 0], [1, 1]]
    with pytest.raises(ValueError, match="out of bounds"):
        T.unravel_index(x, (3, 4))[0].eval({x: [12]})
    with pytest.raises(ValueError, match="length not known"):
        T.unravel_index(x, x)
    flat = [
        T.ravel_multi_index((x, x), lengths), T.ravel_multi_index((x, x), (3, 4), order="F"),
        T.ravel_multi_index((x, x + 5), (3, 4), mode="wrap"),
        T.ravel_multi_index((x, x + 5), (3, 4), mode="clip"),
    ]  # fmt: skip
    assert values(x, flat, [1, 2]) == [[5, 10], [4, 8], [6, 11], [7, 11]]
    with pytest.raises(ValueError, match="invalid entry"):
        flat[0].eval({x: [3]})
    with pytest.raises(AssertionError, match="order is"):
        T.ravel_multi_index((x, x), (3, 4), order="A")


def test_unique_slices() -> None:
    x = T.dmatrix("x")
    found = extra_ops.Unique(True, True, True, axis=1)(x)
    assert values(x, found, [[2, 1, 1], [2, 1, 1]]) == [[[1, 2]] * 2, [1, 0], [1, 0, 0], [2, 1]]
    rows = extra_ops.Unique(axis=0)(x)
    assert values(x, [rows], [[2, 1], [2, 1]]) == [[[2, 1]]]
    assert rows.ndim == 2
    with pytest.raises(RuntimeError, match="axis `2` is outside"):
        extra_ops.Unique(axis=2)(x)


def test_places_in_sorted_vectors_have_no_slope() -> None:
    x, v = T.dvector("x"), T.dmatrix("v")
    places = T.searchsorted(x, v, "right", sorter=[2, 0, 1])
    f = theano.function([x, v], [places, places.shape, *T.grad(places.sum(), [x, v])])
    out, shape, *zeros = f([2.0, 3.0, 1.0], [[1.0, 2.5]])
    assert (out.tolist(), shape.tolist()) == ([[1, 2]], [1, 2])
    assert [z.tolist() for z in zeros] == [[0, 0, 0], [[0, 0]]]
    with pytest.raises(ValueError, match="invalid value for keyword 'side'"):
        T.searchsorted(x, v, side="middle")


def test_counts_are_asked_to_be_of_no_negative_numbers() -> None:
    x = T.lvector("x")
    counts = T.bincount(x, minlength=3, assert_nonneg=True)
    assert counts.eval({x: [1, 1]}).tolist() == [0, 2, 0]
    with pytest.raises(AssertionError, match="Input to bincount has negative values!"):
        counts.eval({x: [1, -1]})


def test_running_products_of_masks_are_masks() -> None:
    mask, x = T.matrix("mask", dtype="bool"), T.dmatrix("x")
    first = T.cumprod(T.invert(mask), axis=0)
    f = theano.function([mask, x], [first, x[first], T.cumprod(mask), T.cumsum(mask)])
    value = np.array([[False, True], [True, False]])
    free, chosen, flat, counts = f(value, np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert free.dtype == flat.dtype == np.dtype(bool)
    assert (free.tolist(), chosen.tolist()) == ([[True, False], [False, False]], [1.0])
    assert (flat.tolist(), counts.tolist()) == ([False] * 4, [0, 1, 2, 2])


def test_running_sums_and_differences_by_their_operations() -> None:
    x = T.dmatrix("x")
    flat, products = extra_ops.CumOp()(x), extra_ops.CumOp(axis=-1, mode="mul")(x)
    twice = extra_ops.DiffOp(n=2, axis=1)(x)
    value = np.array([[1.0, 2, 4, 7], [0, 1, 0, 2]])
    found = theano.function([x], [flat, products, twice, flat.shape, twice.shape])(value)
    expected = [np.cumsum(value), np.cumprod(value, 1), np.diff(value, 2), [8], [2, 2]]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    rng = np.random.RandomState(0)
    for op in (extra_ops.CumOp(), extra_ops.CumOp(0, "mul"), extra_ops.DiffOp(2, 0)):
        T.verify_grad(op, [rng.rand(4, 3)], rng=rng)
    with pytest.raises(ValueError, match="mode is"):
        extra_ops.CumOp(mode="max")


def test_repetitions_by_their_operation() -> None:
    x = T.dmatrix("x")
    found = [extra_ops.RepeatOp()(x, 2), extra_ops.RepeatOp(axis=-1)(x, [0, 2])]
    assert values(x, found, [[1, 2], [3, 4]]) == [[1, 1, 2, 2, 3, 3, 4, 4], [[2, 2], [4, 4]]]


def test_what_is_chosen_broadcasts_where_all_do() -> None:
    assert T.choose(T.lrow(), T.fcol()).broadcastable == (True, False)
    assert T.choose(T.lcol(), T.fcol()).broadcastable == (False, True)
    assert T.choose(T.lmatrix(), T.frow()).broadcastable == (False, False)
    assert T.choose(T.lvector(), T.ftensor3()).broadcastable == (False, False)
    assert T.choose(T.lcol(), [T.fcol(), T.fcol()]).broadcastable == (False, True)
