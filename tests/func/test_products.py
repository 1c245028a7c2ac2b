"""Products, losses and tables in batches: what their rows do not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.kernels.products import contraction
from wengert.nn import functional as F
from wengert.ops import linear

pytestmark = pytest.mark.filterwarnings("error:There is a performance drop")


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of the results of the matrix products that run."""
    shapes: list[tuple[int, ...]] = []

    def counted(multiply: Any) -> Any:
        def call(*args: Any) -> Any:
            out = multiply(*args)
            shapes.append(out.shape)
            return out

        return call

    monkeypatch.setattr(contraction, "product", counted(contraction.product))
    monkeypatch.setattr(linear, "dot_by", counted(linear.dot_by))
    monkeypatch.setattr(linear, "wide_product", counted(linear.wide_product))
    return shapes


X, W, V = wengert.ones(5, 2, 3), wengert.ones(4, 3), wengert.ones(5, 4, 3)


def test_samples_that_share_a_weight_are_rows_of_one_product(
    products: list[tuple[int, ...]],
) -> None:
    vmap = wengert.vmap
    assert vmap(F.linear, (0, None, None))(X, W, wengert.ones(4)).shape == (5, 2, 4)
    assert vmap(wengert.mm, (0, None))(X, W.mT).shape == (5, 2, 4)
    assert vmap(wengert.matmul, (0, None))(X, W[0]).shape == (5, 2)
    assert products == [(10, 4), (10, 4), (10, 1)]


def test_weights_that_share_an_input_are_columns_of_one_product(
    products: list[tuple[int, ...]],
) -> None:
    vmap = wengert.vmap
    assert vmap(F.linear, (None, 0))(X[0], V).shape == (5, 2, 4)
    assert vmap(wengert.mm, (None, 0))(X[0], V.mT).shape == (5, 2, 4)
    assert products == [(2, 20), (2, 20)]


def test_gradients_of_a_weight_by_sample_are_one_product(products: list[tuple[int, ...]]) -> None:
    def loss(weight: Any, x: Any) -> Any:
        return F.linear(x, weight).square().sum()

    found = wengert.vmap(wengert.func.grad(loss), (None, 0))(W, X)
    assert found.shape == (5, 4, 3)
    assert products == [(10, 4), (5, 4, 3)]


def bad(*shapes: tuple[int, ...]) -> list[Any]:
    return [wengert.ones(*s) for s in shapes]


@pytest.mark.parametrize(
    ("function", "args", "kind", "match"),
    [
        (wengert.mm, bad((2, 3, 4), (2, 3, 4)), RuntimeError, "cannot be multiplied"),
        (wengert.mm, bad((2, 3), (2, 3)), RuntimeError, "must be a matrix"),
        (wengert.bmm, bad((2, 3, 4), (2, 3, 4)), RuntimeError, "must be a 3D"),
        (wengert.matmul, bad((2, 2, 3, 4), (2, 3, 4, 5)), RuntimeError, "must match the size"),
        (wengert.dot, bad((2, 3), (2, 4)), RuntimeError, "inconsistent tensor size"),
        (wengert.outer, bad((2, 3), (2,)), RuntimeError, "Expected 1-D"),
        (wengert.addmm, bad((2, 7), (2, 3, 4), (2, 4, 5)), RuntimeError, "expanded size"),
        (F.linear, bad((2, 3), (2, 4, 5)), RuntimeError, "cannot be multiplied"),
        (F.linear, bad((2, 3), (2, 4, 3), (2, 9)), RuntimeError, "expanded size"),
        (wengert.mm, [X, X.double()], RuntimeError, "same dtype"),
        (lambda x: x.sum(1), bad((2, 3)), IndexError, "out of range"),
    ],
)
def test_wrong_samples_raise_as_they_do_alone(
    function: Any, args: list[Any], kind: type[Exception], match: str
) -> None:
    with pytest.raises(kind, match=match):
        wengert.vmap(function)(*args)
    with pytest.raises(kind, match=match):
        function(*[x[0] for x in args])


CLASSES = wengert.tensor([[0, 1], [2, 5]])


@pytest.mark.parametrize(
    ("call", "kind", "match"),
    [
        (lambda t: F.cross_entropy(wengert.zeros(2, 3), t), IndexError, "Target 5"),
        (lambda t: F.nll_loss(wengert.zeros(2, 3), t - 1), IndexError, "out of bounds"),
        (lambda t: F.embedding(t, wengert.zeros(3, 2)), IndexError, "out of range"),
        (lambda t: F.embedding(t - 1, wengert.zeros(9, 2)), IndexError, "out of range"),
        (lambda t: F.one_hot(t, 4), RuntimeError, "smaller than num_classes"),
        (lambda t: F.one_hot(t), RuntimeError, "explicit positive num_classes"),
        (lambda t: F.multi_margin_loss(wengert.zeros(2, 3), t), RuntimeError, "out of range"),
        (lambda t: F.binary_cross_entropy(t / 4, t / 9), RuntimeError, "between 0 and 1"),
        (lambda t: wengert.unique(t), RuntimeError, "dynamic shape"),
    ],
)
def test_what_is_checked_is_checked_for_every_sample(
    call: Any, kind: type[Exception], match: str
) -> None:
    with pytest.raises(kind, match=match):
        wengert.vmap(call)(CLASSES)


def test_tables_of_samples_have_a_padding_row_each() -> None:
    tables = wengert.ones(2, 3, 2, requires_grad=True)
    rows = wengert.tensor([[0, 1], [1, 2]])
    found = wengert.vmap(lambda i, w: F.embedding(i, w, padding_idx=1))(rows, tables)
    found.sum().backward()
    expected = np.zeros((2, 3, 2))
    expected[0, 0] = expected[1, 2] = 1
    np.testing.assert_array_equal(tables.grad.numpy(), expected)


def test_a_batch_in_a_batch_of_products() -> None:
    rng = np.random.default_rng(0)
    a, b = (wengert.from_numpy(rng.standard_normal(s)) for s in ((2, 3, 4, 5), (2, 5, 6)))
    inner = wengert.vmap(wengert.mm, in_dims=(0, None))
    found = wengert.vmap(inner)(a, b)
    np.testing.assert_allclose(found.numpy(), a.numpy() @ b.numpy()[:, None], rtol=1e-12)
