"""Rules for batches on calls that a test puts together, without vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.ops.batch_fallbacks import folded, one_by_one
from wengert.ops.batching import Batch, batch_along, leading, shaped, shifted
from wengert.ops.op import Op


class Recorder:
    """Stands for an op: computes with NumPy, and notes how it was called."""

    public_name = "recorder"

    def __init__(self, function: Any, *inputs: str) -> None:
        self.function, self.inputs = function, [*inputs]
        self.calls: list[tuple[list[tuple[int, ...]], dict[str, Any]]] = []

    def __call__(self, inputs: list[Any], params: dict[str, Any]) -> Any:
        self.calls.append(([np.shape(x) for x in inputs], params))
        return self.function(*inputs, **params)


def batch(op: Any, values: dict[str, Any], batched: set[str], **params: Any) -> Batch:
    size = next(len(values[name]) for name in sorted(batched))
    typed: Op = op
    return Batch(typed, size, values, batched, params)


def numbered(*shape: int) -> np.ndarray:
    return np.arange(float(np.prod(shape))).reshape(shape)


def test_what_one_sample_is_like() -> None:
    b = batch(Recorder(np.add, "a", "b"), {"a": numbered(5, 2, 3), "b": numbered(3)}, {"a"})
    assert (b.rank("a"), b.rank("b")) == (2, 1)
    assert (b.shape("a"), b.shape("b")) == ((2, 3), (3,))
    assert b.whole("a") is b.values["a"]
    assert b.whole("b").shape == (5, 3)


def test_an_input_that_is_not_there() -> None:
    b = batch(Recorder(None, "a", "b"), {"a": numbered(5), "b": None}, {"a"})
    assert b.whole("b") is None


def test_calls_with_changes() -> None:
    op = Recorder(lambda a, b, k: a + b * k, "a", "b")
    b = batch(op, {"a": numbered(2), "b": numbered(2)}, {"a"}, k=3)
    assert b().tolist() == [0, 4]
    assert b(b=np.ones(2), k=1).tolist() == [1, 2]
    assert b.params == {"k": 3}
    assert b.values["b"].tolist() == [0, 1]


def test_leading_dimensions() -> None:
    op = Recorder(np.matmul, "a", "b")
    out = leading(batch(op, {"a": numbered(4, 2, 3), "b": numbered(3, 2)}, {"a"}))
    assert out.shape == (4, 2, 2)
    assert op.calls[0][0] == [(4, 2, 3), (4, 3, 2)]


@pytest.mark.parametrize(
    ("dims", "rank", "expected"),
    [(0, 2, 1), (-1, 2, 2), (None, 2, (1, 2)), ((0, -1), 3, [1, 3]), ([1], 2, [2]), ((), 2, [])],
)
def test_dimensions_of_a_batch(dims: Any, rank: int, expected: Any) -> None:
    out = shifted(dims, rank)
    assert out == (tuple(expected) if isinstance(expected, list) else expected)


def test_dimensions_out_of_range_are_those_of_the_sample() -> None:
    with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 2"):
        shifted(2, 2)


@pytest.mark.parametrize("dim", [0, 1, -1, None])
def test_operations_along_a_dimension(dim: int | None) -> None:
    x = numbered(4, 2, 3)
    op = Recorder(lambda x, dim: x.sum(dim), "x")
    out = batch_along("dim")(batch(op, {"x": x}, {"x"}, dim=dim))
    np.testing.assert_array_equal(out, [sample.sum(dim) for sample in x])


def test_single_numbers_have_a_dimension_too() -> None:
    op = Recorder(lambda x, dim: np.cumsum(x, dim), "x")
    out = batch_along("dim")(batch(op, {"x": numbered(4)}, {"x"}, dim=0))
    assert out.tolist() == [0, 1, 2, 3]
    assert op.calls[0] == ([(4, 1)], {"dim": 1})


def test_parameters_that_are_shapes() -> None:
    op = Recorder(lambda x, size: x.reshape(size), "x")
    assert shaped("size")(batch(op, {"x": numbered(4, 6)}, {"x"}, size=(2, 3))).shape == (4, 2, 3)


def test_one_sample_after_another() -> None:
    op = Recorder(lambda a, b: a @ b, "a", "b")
    out = one_by_one(batch(op, {"a": numbered(4, 2, 3), "b": numbered(3)}, {"a"}))
    np.testing.assert_array_equal(np.asarray(out), numbered(4, 2, 3) @ numbered(3))
    assert [shapes for shapes, _ in op.calls] == [[(2, 3), (3,)]] * 4


def test_an_empty_batch_has_no_sample() -> None:
    with pytest.raises(ValueError, match=r"recorder\(\) has no rule for an empty batch"):
        one_by_one(batch(Recorder(np.exp, "a"), {"a": numbered(0, 2)}, {"a"}))


def test_a_batch_that_joins_the_first_dimension() -> None:
    op = Recorder(lambda x, w: x * w, "x", "w")
    out = folded(3)(batch(op, {"x": numbered(4, 2, 3, 5), "w": numbered(5)}, {"x"}))
    assert op.calls[0][0] == [(8, 3, 5), (5,)]
    np.testing.assert_array_equal(out, numbered(4, 2, 3, 5) * numbered(5))


def test_a_batch_that_becomes_the_first_dimension() -> None:
    op = Recorder(lambda x: x, "x")
    assert folded(3)(batch(op, {"x": numbered(4, 3, 5)}, {"x"})).shape == (4, 3, 5)
    assert op.calls[0][0] == [(4, 3, 5)]


def test_folding_is_for_one_batched_input() -> None:
    op = Recorder(lambda x, w: x * w, "x", "w")
    values = {"x": numbered(4, 2, 3, 5), "w": numbered(4, 5)}
    out = folded(3)(batch(op, values, {"x", "w"}))
    assert len(op.calls) == 4
    assert np.asarray(out).shape == (4, 2, 3, 5)
