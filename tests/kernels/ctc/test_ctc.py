"""Connectionist temporal classification: compiled, by NumPy, by operations, and PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import ctc
from wengert.kernels.ctc.native import NEVER

STEPS, BATCH, CLASSES = 12, 7, 5
TIMES = np.array([12, 9, 0, 0, 3, 12, 1])
LENGTHS = np.array([4, 0, 0, 2, 3, 1, 1])


def scores(dtype: Any = "f8") -> tuple[np.ndarray, ...]:
    """Of the paths of random targets, some of which no path leads to; and cotangents."""
    rng = np.random.default_rng(0)
    places = 2 * LENGTHS.max() + 1
    skips = np.where(rng.random((BATCH, places)) < 0.5, 0.0, NEVER)
    x = np.log(rng.uniform(0.05, 0.95, (STEPS, BATCH, places)))
    return x.astype(dtype), skips.astype(dtype), rng.normal(size=BATCH).astype(dtype)


def computed(dtype: Any = "f8") -> tuple[np.ndarray, np.ndarray]:
    x, skips, g = scores(dtype)
    return (
        ctc.losses(x, skips, TIMES, LENGTHS),
        ctc.slopes(g, x, skips, TIMES, LENGTHS),
    )


@needs_llvmlite
@pytest.mark.parametrize(("dtype", "error"), [("f4", 2e-6), ("f8", 1e-12)])
def test_kernels_and_numpy_agree(dtype: str, error: float) -> None:
    found = computed(dtype)
    with by_numpy():
        for ours, theirs in zip(found, computed(dtype), strict=True):
            assert ours.dtype == dtype
            np.testing.assert_allclose(ours, theirs, rtol=error, atol=error)


def test_kernels_stay_within_their_arrays() -> None:
    found = computed()
    with in_python((ctc, "_FEW")), np.errstate(all="ignore"):
        for ours, theirs in zip(computed(), found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def inputs(lib: Any) -> Any:
    rng = np.random.default_rng(0)
    x = lib.tensor(rng.normal(size=(STEPS, BATCH, CLASSES)), requires_grad=True)
    targets = lib.tensor(rng.integers(1, CLASSES, (BATCH, 4)))
    return x, targets, lib.tensor(TIMES), lib.tensor(LENGTHS)


def loss(lib: Any, x: Any, *others: Any, **options: Any) -> Any:
    return lib.nn.functional.ctc_loss(x.log_softmax(2), *others, zero_infinity=True, **options)


@pytest.mark.torch
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_losses_and_gradients_are_pytorchs(torch: Any, reduction: str) -> None:
    found = []
    for lib in (wengert, torch):
        x, *others = inputs(lib)
        y = loss(lib, x, *others, reduction=reduction)
        weights = lib.arange(1.0, 1.0 + y.numel(), dtype=y.dtype).reshape(y.shape)
        found.append([y, *lib.autograd.grad(y, x, weights)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-12
        )


def test_all_orders_of_derivatives() -> None:
    x, *others = inputs(wengert)
    x = x[:4, :2].detach().requires_grad_()
    targets, times, lengths = others[0][:2], wengert.tensor([4, 3]), wengert.tensor([2, 1])
    function = lambda x: loss(wengert, x, targets, times, lengths, reduction="sum")  # noqa: E731
    assert wengert.autograd.gradcheck(function, x, check_forward_ad=True)
    assert wengert.autograd.gradgradcheck(function, x)
    (by_kernel,) = wengert.autograd.grad(function(x), x)
    by_operations = wengert.func.grad(function)(x.detach())
    np.testing.assert_allclose(by_kernel.numpy(), by_operations.numpy(), rtol=1e-10, atol=1e-14)
