"""Convolution, pooling and CTC in batches: what their rows do not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.func.test_rows import SIZE

pytestmark = pytest.mark.filterwarnings("error:There is a performance drop")


def test_jacobians_of_a_convolution() -> None:
    rng = np.random.default_rng(0)
    inputs = tuple(
        wengert.from_numpy(rng.standard_normal(s)) for s in ((2, 2, 4, 3), (4, 1, 2, 2), (4,))
    )

    def convolved(*xs: Any) -> Any:
        return wengert.nn.functional.conv2d(*xs, groups=2, padding=1, stride=(2, 1)).sin()

    for jacobian in (wengert.func.jacrev, wengert.func.jacfwd):
        for found, x in zip(jacobian(convolved, argnums=(0, 1, 2))(*inputs), inputs, strict=True):
            assert found.shape == (2, 4, 3, 4, *x.shape)
    pairs = zip(
        wengert.func.jacrev(convolved, argnums=(0, 1, 2))(*inputs),
        wengert.func.jacfwd(convolved, argnums=(0, 1, 2))(*inputs),
        strict=True,
    )
    for rows, columns in pairs:
        np.testing.assert_allclose(rows.numpy(), columns.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_per_sample_equal_torchs(groups: int, transposed: bool, torch: Any) -> None:
    """Of an input and a weight that both differ between samples."""
    rng = np.random.default_rng(1)
    images = rng.standard_normal((3, 2, 4, 5, 6))
    kernels = rng.standard_normal((3, 4, 4 // groups, 3, 2))

    def gradients(library: Any) -> Any:
        name = "conv_transpose2d" if transposed else "conv2d"
        convolve = getattr(library.nn.functional, name)

        def loss(x: Any, w: Any) -> Any:
            return convolve(x, w, groups=groups, stride=2, padding=1).sin().sum()

        per_sample = library.vmap(library.func.grad(loss, argnums=(0, 1)))
        return per_sample(library.from_numpy(images), library.from_numpy(kernels))

    for ours, theirs in zip(gradients(wengert), gradients(torch), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-12)


def test_labels_and_lengths_of_ctc_differ_between_samples() -> None:
    rng = np.random.default_rng(2)
    scores = wengert.from_numpy(rng.standard_normal((SIZE, 6, 2, 4)))
    rows = wengert.tensor([[1, 2, 3, 1], [3, 3, 1, 2], [2, 1, 1, 1]])
    times = wengert.tensor([[6, 5], [4, 6], [6, 6]])
    sizes = wengert.tensor([[3, 1], [2, 2], [1, 3]])

    def loss(x: Any, labels: Any, time: Any, size: Any) -> Any:
        return wengert.nn.functional.ctc_loss(x.log_softmax(2), labels, time, size, blank=0)

    together = wengert.vmap(wengert.func.grad(loss))(scores, rows, times, sizes)
    for k in range(SIZE):
        alone = wengert.func.grad(loss)(scores[k], rows[k], times[k], sizes[k])
        np.testing.assert_allclose(together[k].numpy(), alone.numpy(), rtol=1e-9, atol=1e-11)


def test_a_wrong_index_of_a_sample_is_named() -> None:
    index = wengert.tensor([[[[0, 1], [2, 3]]], [[[0, 1], [2, 99]]]])
    ones, unpool = wengert.ones(1, 2, 2), wengert.nn.functional.max_unpool2d
    with pytest.raises(RuntimeError, match="Found an invalid max index: 99"):
        wengert.vmap(lambda i: unpool(ones, i, 2))(index)


@pytest.mark.torch
def test_no_samples(torch: Any) -> None:
    """Images without samples give none; PyTorch refuses weights without samples."""
    images, kernels = wengert.zeros(0, 1, 2, 4, 4), wengert.zeros(3, 2, 2, 2)
    convolve = wengert.nn.functional.conv2d
    assert wengert.vmap(convolve, in_dims=(0, None))(images, kernels).shape == (0, 1, 3, 3, 3)
    for library in (wengert, torch):
        with pytest.raises(RuntimeError, match="non-positive groups is not supported"):
            library.vmap(library.nn.functional.conv2d)(
                library.zeros(0, 1, 2, 4, 4), library.zeros(0, 3, 2, 2, 2)
            )
