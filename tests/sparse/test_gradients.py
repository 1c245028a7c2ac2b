"""Gradients of and through sparse tensors: PyTorch's numbers, and finite differences."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.sparse.samples import INDICES, REPEATED, SHAPE, assert_same, described, values_of
from wengert.autograd import gradcheck, gradgradcheck

Case = Callable[[Any, Any, Any], Any]

# Of a sparse tensor and a dense 5 x 3 matrix.
CASES: dict[str, Case] = {
    "sparse.mm": lambda t, s, d: t.sparse.mm(s, d),
    "mm": lambda t, s, d: t.mm(s, d),
    "matmul": lambda t, s, d: s @ d,
    "addmm": lambda t, s, d: t.sparse.addmm(d[:4] * 2, s, d, beta=0.5, alpha=2.0),
    "mv": lambda t, s, d: s.mv(d[:, 0]),
    "to_dense": lambda t, s, d: s.to_dense(),
    "coalesce": lambda t, s, d: t.sparse.mm(s.coalesce(), d),
    "scaled": lambda t, s, d: t.sparse.mm(s * 3, d),
    "negated": lambda t, s, d: t.sparse.mm(-s, d),
    "sum": lambda t, s, d: t.sparse.sum(s),
    "transposed": lambda t, s, d: t.sparse.mm(s.t(), d[:4]),
    "values": lambda t, s, d: s.coalesce().values() ** 2,
    "sparse @ sparse": lambda t, s, d: t.sparse.sum(t.sparse.mm(s, s.t())),
    "softmax": lambda t, s, d: t.sparse.mm(t.sparse.softmax(s, 1), d),
    "log_softmax": lambda t, s, d: t.sparse.log_softmax(s, 1).to_dense()[:, :3],
    "added": lambda t, s, d: (s + s * 2).to_dense(),
}


def of_values(t: Any, case: Case, places: np.ndarray) -> list[Any]:
    """The gradients of the values that a tensor is made of, and of the dense factor."""
    v = t.tensor(values_of(places.shape[1], "float64"), requires_grad=True)
    d = t.tensor(values_of(5, "float64", 3), requires_grad=True)
    s = t.sparse_coo_tensor(t.tensor(places), v, SHAPE, check_invariants=True)
    out = case(t, s, d)
    weights = t.arange(out.numel(), dtype=t.float64).reshape(out.shape) + 1
    (out * weights).sum().backward()
    return [v.grad, d.grad]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::UserWarning:torch")
@pytest.mark.parametrize("places", [INDICES, REPEATED], ids=["coalesced", "uncoalesced"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_values(torch: Any, name: str, places: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = of_values(torch, CASES[name], places)
    for a, e in zip(of_values(wengert, CASES[name], places), expected, strict=True):
        if e is None:
            assert a is None
        else:
            assert_same(described(a), described(e.to_dense()), rtol=1e-9)


def of_leaf(t: Any, case: Case, places: np.ndarray) -> Any:
    """The gradient of a sparse leaf."""
    s = t.sparse_coo_tensor(t.tensor(places), t.tensor(values_of(places.shape[1], "float64")),
                            SHAPE, check_invariants=True).requires_grad_()  # fmt: skip
    d = t.tensor(values_of(5, "float64", 3))
    out = case(t, s, d)
    weights = t.arange(out.numel(), dtype=t.float64).reshape(out.shape) + 1
    (out * weights).sum().backward()
    return s.grad


# Of an uncoalesced leaf PyTorch's gradients have each place once, or several times over,
# as the operation has it; here they have it once.
LEAVES = ("sparse.mm", "mm", "matmul", "addmm", "to_dense", "sum", "scaled", "transposed")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::UserWarning:torch")
@pytest.mark.parametrize("name", LEAVES)
def test_gradient_of_a_sparse_leaf(torch: Any, name: str) -> None:
    ours, theirs = of_leaf(wengert, CASES[name], INDICES), of_leaf(torch, CASES[name], INDICES)
    assert ours.layout is wengert.sparse_coo
    at = tuple(INDICES)  # PyTorch's gradients of a torch.mm() are dense
    np.testing.assert_allclose(ours.to_dense().numpy()[at], theirs.to_dense().numpy()[at])
    assert ours._nnz() == INDICES.shape[1]


def test_gradient_of_an_uncoalesced_leaf_has_each_place_once() -> None:
    g = of_leaf(wengert, CASES["sparse.mm"], REPEATED)
    dense = wengert.sparse_coo_tensor(REPEATED, np.ones(6), SHAPE).to_dense().requires_grad_()
    weights = wengert.arange(12.0, dtype=wengert.float64).reshape(4, 3) + 1
    (dense @ wengert.tensor(values_of(5, "float64", 3)) * weights).sum().backward()
    assert g.is_coalesced()
    assert g._nnz() == 3
    np.testing.assert_allclose(g.values(), dense.grad.numpy()[tuple(g.indices().numpy())])


@pytest.mark.parametrize("name", CASES)
def test_finite_differences(name: str) -> None:
    d = wengert.tensor(values_of(5, "float64", 3), requires_grad=True)
    v = wengert.tensor(values_of(6, "float64") / 4, requires_grad=True)

    def function(v: Any, d: Any) -> Any:
        return CASES[name](wengert, wengert.sparse_coo_tensor(REPEATED, v, SHAPE), d)

    assert gradcheck(function, (v, d))
    assert gradgradcheck(function, (v, d))


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_compressed_finite_differences(kind: str) -> None:
    d = wengert.tensor(values_of(5, "float64", 3), requires_grad=True)
    pattern = wengert.sparse_coo_tensor(INDICES, np.ones(5), SHAPE).coalesce()
    pattern = getattr(pattern, f"to_sparse_{kind}")()
    v = wengert.tensor(values_of(5, "float64"), requires_grad=True)
    indices = [x() for x in (
        (pattern.crow_indices, pattern.col_indices) if kind == "csr"
        else (pattern.ccol_indices, pattern.row_indices)
    )]  # fmt: skip

    def function(v: Any, d: Any) -> Any:
        make = getattr(wengert, f"sparse_{kind}_tensor")
        return make(*indices, v, SHAPE) @ d

    assert gradcheck(function, (v, d))
    assert gradgradcheck(function, (v, d))


def test_sampled_addmm() -> None:
    a = wengert.tensor(values_of(4, "float64", 3), requires_grad=True)
    b = wengert.tensor(values_of(3, "float64", 5), requires_grad=True)
    v = wengert.tensor(values_of(5, "float64"), requires_grad=True)
    places = wengert.sparse_coo_tensor(INDICES, np.ones(5), SHAPE).coalesce().to_sparse_csr()

    def function(v: Any, a: Any, b: Any) -> Any:
        s = wengert.sparse_csr_tensor(places.crow_indices(), places.col_indices(), v, SHAPE)
        return wengert.sparse.sampled_addmm(s, a, b, beta=0.5, alpha=2.0).values()

    ours = wengert.sparse_csr_tensor(places.crow_indices(), places.col_indices(), v, SHAPE)
    dense = (0.5 * ours.to_dense() + 2 * (a @ b)).sparse_mask(places).values()
    np.testing.assert_allclose(function(v, a, b).detach(), dense.detach())
    assert gradcheck(function, (v, a, b))
    assert gradgradcheck(function, (v, a, b))


def test_autograd_grad_of_sparse_tensors() -> None:
    s = wengert.sparse_coo_tensor(INDICES, values_of(5, "float64"), SHAPE).requires_grad_()
    d = wengert.ones(5, 2, dtype=wengert.float64)
    (g,) = wengert.autograd.grad(wengert.sparse.mm(s, d).sum(), s)
    assert g.layout is wengert.sparse_coo
    np.testing.assert_array_equal(g.values(), np.full(5, 2.0))
    doubled = s * 2
    cotangent = wengert.ones(SHAPE, dtype=wengert.float64)
    (g,) = wengert.autograd.grad(doubled, s, cotangent)
    np.testing.assert_array_equal(g.values(), np.full(5, 2.0))
    (s * 3).backward(cotangent)
    np.testing.assert_array_equal(s.grad.values(), np.full(5, 3.0))


def test_hooks_see_sparse_gradients() -> None:
    s = wengert.sparse_coo_tensor(INDICES, values_of(5, "float64"), SHAPE).requires_grad_()
    seen = []
    s.register_hook(lambda g: seen.append(g.layout) or g * 2)
    wengert.sparse.sum(s).backward()
    assert seen == [wengert.sparse_coo]
    np.testing.assert_array_equal(s.grad.values(), np.full(5, 2.0))


def test_leaves_and_graphs() -> None:
    s = wengert.sparse_coo_tensor(INDICES, values_of(5, "float64"), SHAPE)
    assert s.is_leaf
    assert not s.requires_grad
    s.requires_grad_()
    assert s.is_leaf
    assert s.grad_fn is None
    assert (s * 2).grad_fn.name() == "MulBackward0"
    assert not s.detach().requires_grad
    with wengert.no_grad():
        assert not (s * 2).requires_grad
    with pytest.raises(RuntimeError, match="leaf Variable"):
        s.mul_(2)
    v = wengert.ones(5, requires_grad=True)
    assert not wengert.sparse_coo_tensor(INDICES, v, SHAPE).is_leaf
    assert wengert.sparse_coo_tensor(INDICES, v, SHAPE, requires_grad=True).is_leaf


def test_nothing_is_left_behind() -> None:
    """Without the collector, in calls that fail, too."""

    def step() -> None:
        s = wengert.sparse_coo_tensor(INDICES, values_of(5, "float64"), SHAPE).requires_grad_()
        d = wengert.ones(5, 2, dtype=wengert.float64, requires_grad=True)
        wengert.sparse.softmax(wengert.sparse.mm(s, s.t()), 1).to_dense().sum().backward()
        wengert.sparse.mm(s, d).sum().backward()
        for call in (s.exp, s.numpy, lambda: s + 1, lambda: s @ s):
            with pytest.raises((NotImplementedError, RuntimeError, TypeError)):
                call()

    step()
    gc.collect()
    gc.disable()
    try:
        step()
        assert gc.collect() == 0
    finally:
        gc.enable()
