"""Cross entropy by compiled kernels: against NumPy's path, float64, and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import classification as kernels

pytestmark = needs_llvmlite

SHAPES = [(3000, 1), (2000, 2), (900, 7), (600, 9), (333, 24), (333, 25), (300, 33),
          (9, 1000), (5, 1023), (3, 2500), (5, 7, 8), (2, 21, 129), (1, 3, 1000)]  # fmt: skip


def sample(shape: tuple[int, ...], shares: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, classes of axis 1, and the share of each or of all."""
    rng = np.random.default_rng(len(shape))
    x = (3 * rng.standard_normal(shape)).astype(np.float32)
    index = rng.integers(0, shape[1], (shape[0], *shape[2:]))
    share = rng.uniform(0, 1, index.shape) * (rng.uniform(size=index.shape) > 0.2)
    return x, index, (share if shares else np.asarray(0.25)).astype(np.float32)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("lies", ["channels last", "transposed"])
@pytest.mark.parametrize("shape", [(2, 21, 12, 9), (1, 3, 30, 5), (3, 40, 4, 4)], ids=str)
def test_images_that_lie_otherwise(
    shape: tuple[int, ...], lies: str, shares: bool, smoothing: float
) -> None:
    x, index, share = sample(shape, shares)
    order = (0, 2, 3, 1) if lies == "channels last" else (0, 1, 3, 2)
    back = [order.index(d) for d in range(4)]
    other = np.ascontiguousarray(x.transpose(order)).transpose(back)
    g = np.random.default_rng(0).normal(size=index.shape).astype(x.dtype)
    found = []
    for scores in (x, other):
        loss, lse = kernels.cross_entropy(scores, index, share, 1, False, smoothing)
        whole, _ = kernels.cross_entropy(scores, index, share, 1, True, smoothing)
        found.append([loss, lse, whole])
        for cotangent in (g, np.float32(0.5)):
            found[-1].append(
                kernels.cross_entropy_gradient(cotangent, scores, index, share, lse, 1, smoothing)
            )
    for a, b in zip(*found, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=4e-6, atol=4e-6)
    if lies == "channels last":
        assert found[1][-1].transpose(order).flags.c_contiguous


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_loss_and_gradient(shape: tuple[int, ...], shares: bool, smoothing: float) -> None:
    x, index, share = sample(shape, shares)
    g = np.float32(0.5)

    def both(x: np.ndarray, share: np.ndarray) -> list[np.ndarray]:
        loss, lse = kernels.cross_entropy(x, index, share, 1, False, smoothing)
        whole, _ = kernels.cross_entropy(x, index, share, 1, True, smoothing)
        grads = kernels.cross_entropy_gradient(
            g.astype(x.dtype), x, index, share, lse, 1, smoothing
        )
        return [loss, lse, whole, grads]

    got, exact = both(x, share), both(x.astype("d"), share.astype("d"))
    with by_numpy():
        plain = both(x, share)
    for a, b, c in zip(got, exact, plain, strict=True):
        assert a.shape == b.shape == c.shape
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=3e-6)
        np.testing.assert_allclose(a, c, rtol=4e-6, atol=4e-6)
    with by_numpy():
        plain = both(x.astype("d"), share.astype("d"))
    for b, c in zip(exact, plain, strict=True):
        assert b.dtype == np.float64
        np.testing.assert_allclose(b, c, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shape", [(600, 9), (3, 2000), (5, 7, 129)], ids=str)
@pytest.mark.parametrize("shift", [1e6, -1e6, 2e38])
def test_large_scores_keep_their_differences(
    shape: tuple[int, ...], shift: float, smoothing: float
) -> None:
    """What every score is moved by is no part of the loss."""
    x, index, share = sample(shape, False)
    x = np.round(x)
    outcomes = []
    for moved in (x, x + np.float32(shift)):
        same = moved - moved.min()  # what the shift left of the differences
        for scores in (same, moved):
            loss, lse = kernels.cross_entropy(scores, index, share, 1, False, smoothing)
            g = np.float32(1)
            grads = kernels.cross_entropy_gradient(g, scores, index, share, lse, 1, smoothing)
            outcomes.append((loss, grads))
    for exact, shifted in (outcomes[:2], outcomes[2:]):
        for a, b in zip(exact, shifted, strict=True):
            np.testing.assert_allclose(b, a, rtol=3e-6, atol=1e-6)


def test_ignored_rows_count_for_nothing_even_if_infinite() -> None:
    x, index, share = sample((600, 9), True)
    x[3], share[3] = -np.inf, 0
    x[4, index[4]], share[4] = -np.inf, 0
    loss, lse = kernels.cross_entropy(x, index, share, 1, False)
    assert loss[3] == loss[4] == 0
    assert lse[0, 3, 0] == -np.inf or np.isnan(lse[0, 3, 0])
    grads = kernels.cross_entropy_gradient(np.float32(1), x, index, share, lse, 1)
    assert not grads[4].any()
    assert np.isfinite(np.delete(grads, 3, axis=0)).all()


@pytest.mark.torch
@pytest.mark.parametrize("cotangent", [np.nan, np.inf])
@pytest.mark.parametrize("rows", [4, 600])
@pytest.mark.parametrize(
    ("name", "options"),
    [("cross_entropy", {}), ("cross_entropy", {"label_smoothing": 0.1}), ("nll_loss", {})],
    ids=str,
)
def test_ignored_rows_have_no_gradient_whatever_comes_back(
    torch: Any, name: str, options: dict[str, float], rows: int, cotangent: float
) -> None:
    """As from a loss for each row over a count that is 0."""
    found = []
    for lib in (wengert, torch):
        x = lib.linspace(-1, 1, rows * 3, dtype=lib.float64).reshape(rows, 3).requires_grad_()
        target = lib.arange(rows) % 3
        target[1::2] = -100
        loss = getattr(lib.nn.functional, name)(x, target, reduction="none", **options)
        came = lib.where(target == -100, cotangent, 1.0).double()
        (g,) = lib.autograd.grad(loss, x, came, create_graph=True)
        (again,) = lib.autograd.grad(g.square().sum() + 0 * x.sum(), x)
        found.append((g.detach().numpy(), again.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan, 1e30, -1e30])
@pytest.mark.parametrize("hit", [False, True])
@pytest.mark.parametrize("shape", [(600, 9), (4, 9, 150)], ids=str)
def test_extremes_are_those_of_torch(torch: Any, shape: Any, hit: bool, value: float) -> None:
    x, index, _ = sample(shape, False)
    one = np.asarray(1, np.float32)
    place: Any = (2, index[2] if hit else (index[2] + 1) % 9)
    if len(shape) == 3:
        place = (2, index[2, 5] if hit else (index[2, 5] + 1) % 9, 5)
    x[place] = value
    loss, lse = kernels.cross_entropy(x, index, one, 1, False)
    grads = kernels.cross_entropy_gradient(one, x, index, one, lse, 1)
    t = torch.from_numpy(x).requires_grad_()
    wanted = torch.nn.functional.cross_entropy(t, torch.from_numpy(index), reduction="none")
    wanted.sum().backward()
    np.testing.assert_allclose(loss, wanted.detach().numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(grads, t.grad.numpy(), rtol=1e-5, atol=1e-5)


def test_other_layouts_and_dtypes() -> None:
    x, index, share = sample((300, 40), True)
    kernel = kernels.cross_entropy
    wanted, _ = kernel(x.astype("d"), index, share.astype("d"), 1, False)
    strided = np.repeat(index, 2)[::2]
    for a, i in ((np.asfortranarray(x), index), (x, strided), (x.astype(np.float16), index)):
        loss, _ = kernel(a, i, share, 1, False)
        assert loss.dtype == a.dtype
        np.testing.assert_allclose(loss, wanted, rtol=1e-5 if a.itemsize == 4 else 1e-2, atol=1e-5)


@pytest.mark.parametrize("shape", [(7, 5), (1, 1), (2, 3, 9), (1, 2, 130), (17, 1)], ids=str)
def test_stays_within_its_arrays(shape: tuple[int, ...]) -> None:
    x, index, share = sample(shape, True)
    g = np.float32(2)
    with in_python((kernels, "FEW")):
        loss, lse = kernels.cross_entropy(x, index, share, 1, False, 0.2)
        grads = kernels.cross_entropy_gradient(g, x, index, share, lse, 1, 0.2)
    with by_numpy():
        wanted, lse = kernels.cross_entropy(x, index, share, 1, False, 0.2)
        wanted_grads = kernels.cross_entropy_gradient(g, x, index, share, lse, 1, 0.2)
    np.testing.assert_allclose(loss, wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(grads, wanted_grads, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("shape", [(40, 2), (30, 9), (5, 1023)], ids=str)
def test_margins_and_their_gradient(shape: tuple[int, ...], shares: bool, p: int) -> None:
    x, index, share = sample(shape, shares)
    g = np.float32(0.5)

    def both(x: np.ndarray, share: np.ndarray) -> list[np.ndarray]:
        return [
            kernels.margins(x, index, share, p, 0.5, False),
            kernels.margins(x, index, share, p, 0.5, True),
            kernels.margins_gradient(g.astype(x.dtype), x, index, share, p, 0.5),
        ]

    got = both(x, share)
    with by_numpy():
        exact = both(x.astype("d"), share.astype("d"))
    for a, b in zip(got, exact, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6 * max(1, np.abs(b).max()))
    if x.size < 300:
        with in_python():
            for a, b in zip(both(x.astype("d"), share.astype("d")), exact, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("shape", [(40, 2), (5, 7, 8), (2, 3, 9000)], ids=str)
def test_picking_and_putting(shape: tuple[int, ...], shares: bool) -> None:
    x, index, share = sample(shape, shares)

    def each() -> list[np.ndarray]:
        return [
            kernels.picked(x, index, share, 1, False),
            kernels.picked(x, index, share, 1, True),
            kernels.put(share, index, shape, 1),
        ]

    found = each()
    with by_numpy():
        expected = each()
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-3)
    np.testing.assert_array_equal(found[2], expected[2])
    if x.size < 300:
        with in_python():
            for ours, theirs in zip(each(), expected, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-5)


def test_a_scalar_is_put_everywhere() -> None:
    index = np.array([1, 0])
    np.testing.assert_array_equal(kernels.put(np.float32(2), index, (2, 2), 1), [[0, 2], [2, 0]])
