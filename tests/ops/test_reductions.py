"""What rows do not say of reductions, scans, softmax and products: ties, accuracy, saving."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.kernels import reduction, scan
from wengert.ops.einsum import _plan

F = wengert.nn.functional
TIES = np.array([[3.0, 1.0, 3.0], [1.0, 3.0, 2.0]])


def leaf(array: Any) -> wengert.Tensor:
    return wengert.from_numpy(np.array(array, float)).requires_grad_()


@pytest.mark.torch
@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "median", "nanmedian"])
def test_ties_share_the_gradient_as_in_torch(name: str, torch: Any) -> None:
    ours, theirs = leaf(TIES), torch.from_numpy(TIES.copy()).requires_grad_()
    getattr(ours, name)().backward()
    getattr(theirs, name)().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy())


@pytest.mark.torch
@pytest.mark.parametrize("name", ["max", "min", "cummax", "cummin"])
def test_named_ties_get_the_whole_gradient(name: str, torch: Any) -> None:
    ours, theirs = leaf(TIES), torch.from_numpy(TIES.copy()).requires_grad_()
    getattr(ours, name)(1).values.sum().backward()
    getattr(theirs, name)(1).values.sum().backward()
    np.testing.assert_array_equal(ours.grad.numpy(), theirs.grad.numpy())


@pytest.mark.parametrize("name", ["sum", "mean", "nansum", "nanmean", "prod"])
def test_the_gradient_has_the_dtype_of_the_input(name: str) -> None:
    x = wengert.from_numpy(np.ones(3, np.float32)).requires_grad_()
    y = x * 2
    y.retain_grad()
    getattr(y, name)(dtype=wengert.float64).backward()
    assert y.grad.dtype is wengert.float32


def test_results_are_named_tuples() -> None:
    x = leaf(TIES)
    for out in (x.max(0), x.median(0), x.mode(), x.sort(), x.topk(2), x.kthvalue(1), x.cummin(0)):
        assert out.__match_args__ == ("values", "indices")
        assert out.indices.dtype is wengert.int64
        assert out.values is out[0]
    assert x.aminmax().__match_args__ == ("min", "max")


def test_changed_indices_are_found_out() -> None:
    values, indices = leaf(TIES).max(0)
    indices.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        values.sum().backward()


def test_constant_rows_have_deviation_zero_and_gradient_zero() -> None:
    x = leaf(np.ones((2, 3)))
    x.std(1).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros((2, 3)))


@pytest.mark.parametrize("name", ["var", "std"])
def test_too_few_degrees_of_freedom_warn(name: str) -> None:
    with pytest.warns(UserWarning, match=rf"{name}\(\): degrees of freedom is <= 0"):
        assert np.isnan(getattr(wengert, name)(wengert.ones(1)).item())


def test_norm_does_not_narrow() -> None:
    with pytest.raises(RuntimeError, match="without narrowing"):
        wengert.norm(leaf([1.0]), dtype=wengert.float32)
    with pytest.raises(RuntimeError, match="'nuc'"):
        wengert.norm(leaf([1.0]), "nuc")


@pytest.mark.parametrize("axes", [(0,), (0, 1)])
def test_long_column_sums_are_accurate(axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).uniform(0, 1, (400, 500, 3)).astype(np.float32)
    for keepdim in (False, True):
        exact = x.sum(axis=axes, dtype=np.float64, keepdims=keepdim)
        found = reduction.total(x, axes, keepdim)
        assert found.shape == exact.shape
        np.testing.assert_allclose(found, exact, rtol=5e-7)


def test_long_running_sums_are_accurate() -> None:
    x = np.random.default_rng(0).uniform(0, 1, 100_000).astype(np.float32)
    found = scan.running(np.add, x, 0)
    np.testing.assert_allclose(found, np.cumsum(x, dtype=np.float64), rtol=1e-7)


@pytest.mark.parametrize("dtype", [wengert.float16, wengert.bfloat16])
def test_half_precision_is_rounded_once(dtype: wengert.dtype) -> None:
    """4096 ones: a running total in half precision would stop at 2048, or at 256."""
    x = wengert.ones(4096).to(dtype)
    assert x.sum().item() == 4096
    assert x.mean().item() == 1
    assert wengert.dot(x, x).item() == 4096
    assert (x.reshape((1, -1)) @ x).item() == 4096


def test_third_derivative_of_a_product_with_a_zero() -> None:
    x = leaf([0.0, 2.0, 3.0, 5.0])
    (first,) = wengert.autograd.grad(x.prod(), x, create_graph=True)
    (second,) = wengert.autograd.grad(first[0], x, create_graph=True)
    (third,) = wengert.autograd.grad(second[1], x)
    np.testing.assert_allclose(third.numpy(), [0, 0, 5, 3])


def test_a_cumprod_with_a_zero_needs_no_division() -> None:
    x = leaf([2.0, 0.0, 3.0, 5.0])
    (first,) = wengert.autograd.grad(x.cumprod(0).sum(), x, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), [1, 38, 0, 0])
    (second,) = wengert.autograd.grad(first[1], x)  # 2 (1 + 3 + 15)
    np.testing.assert_allclose(second.numpy(), [19, 0, 12, 6])


def test_softmax_keeps_its_output_alone() -> None:
    x = leaf(TIES)
    for out in (x.softmax(1), x.log_softmax(1)):
        saved = [getattr(out._edge, slot) for slot, _ in out._edge.saved]
        assert [v is out._array for v in saved] == [True]


@pytest.mark.parametrize("frozen", [0, 1])
def test_a_product_with_a_frozen_factor_keeps_that_factor_alone(frozen: int) -> None:
    a, b = leaf(np.ones((2, 3))), leaf(np.ones((3, 4)))
    (a, b)[frozen].requires_grad_(False)
    for out in (a @ b, wengert.mm(a, b), wengert.addmm(wengert.zeros(4).double(), a, b)):
        saved = [getattr(out._edge, slot) for slot, _ in out._edge.saved]
        kept = [v for v in saved if v is not None]
        assert len(kept) == 1
        assert kept[0] is (a, b)[frozen]._array


def test_transposes_and_diagonals_of_einsum_are_views() -> None:
    x = wengert.zeros(2, 3)
    wengert.einsum("ij->ji", x).add_(1)
    np.testing.assert_array_equal(x.numpy(), np.ones((2, 3)))
    x = wengert.zeros(3, 3, requires_grad=True)
    y = x * 1
    wengert.einsum("ii->i", y).add_(2).mul_(3)
    np.testing.assert_array_equal(y.detach().numpy(), np.eye(3) * 6)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones((3, 3)) + np.eye(3) * 2)


def test_the_sum_of_a_view_of_zero_size_is_zero() -> None:
    assert wengert.zeros(0, 3).sum().item() == 0
    assert wengert.zeros(0, 3).prod().item() == 1


@pytest.mark.torch
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_the_implied_dimension_is_torchs_and_warns(name: str, rank: int, torch: Any) -> None:
    x = np.random.default_rng(rank).standard_normal((2, 3, 2, 3)[:rank])
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        ours = getattr(F, name)(wengert.from_numpy(np.asarray(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(torch.nn.functional, name)(torch.from_numpy(np.asarray(x)))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy())


def test_softmax_without_a_dimension_is_refused() -> None:
    for name in ("softmax", "log_softmax"):
        with pytest.raises(TypeError, match="must be int, not NoneType"):
            getattr(wengert, name)(wengert.ones(2), None)


def test_gumbel_softmax_samples_the_distribution() -> None:
    wengert.manual_seed(0)
    p = np.array([0.1, 0.2, 0.7])
    logits = wengert.from_numpy(np.tile(np.log(p), (4000, 1))).requires_grad_()
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    np.testing.assert_allclose(hard.detach().numpy().sum(1), 1)
    np.testing.assert_allclose(hard.detach().numpy().mean(0), p, atol=0.03)
    (hard * wengert.from_numpy(p)).sum().backward()
    assert np.abs(logits.grad.numpy()).max() > 0  # the gradient of the soft sample


def test_three_factors_need_no_large_intermediate() -> None:
    steps = _plan("i,j,ij->", ((50,), (60,), (50, 60)))
    assert [step.lo for step in steps] == [("i",), ()]
