"""Convolution, pooling, resizing, padding, blocks, CTC and dropout never run sample by sample."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import wengert
from tests.func.test_rows import SIZE, arrays_in, function_of, random_like, samples_of, tensors_of
from tests.ops import calls
from tests.ops.rows import Row
from wengert.autograd._transforms import batched

FAMILIES = ("conv", "pool", "adaptive", "interpolate", "padding", "vision", "ctc", "dropout")
ALL = [r for f in FAMILIES for r in importlib.import_module(f"tests.ops.rows.{f}").ROWS]
# With 0 < p < 1 dropout is random: see test_randomness.py.
ROWS = [r for r in ALL if r.kwargs.get("p", 0.0) in (0.0, 1.0)]
DIFFERENTIABLE = [r for r in ROWS if r.grad]

pytestmark = pytest.mark.filterwarnings("error:There is a performance drop")


@pytest.fixture(autouse=True)
def nothing_warned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ops warn once; here each test is to hear of it."""
    monkeypatch.setattr(batched, "_warned", set())


def stacked(samples: list[list[np.ndarray]], k: int, batched: bool) -> Any:
    return wengert.from_numpy(np.stack([s[k] for s in samples]) if batched else samples[0][k])


def choices(row: Row) -> list[str]:
    """Which of the tensors may differ between samples."""
    return ["all", "first", "rest"] if len(arrays_in(row.make(calls.rng_of(row)))) > 1 else ["all"]


@pytest.mark.parametrize(("row", "which"), [(r, w) for r in ROWS for w in choices(r)], ids=str)
def test_a_batch_has_a_rule(row: Row, which: str) -> None:
    args, samples = samples_of(row)
    count = len(samples[0])
    chosen = {"all": range(count), "first": range(1), "rest": range(1, count)}[which]
    function = function_of(row, args)
    batch = [stacked(samples, k, k in chosen) for k in range(count)]
    dims = tuple(0 if k in chosen else None for k in range(count))
    outputs = wengert.vmap(lambda *xs: tensors_of(function(*xs)), in_dims=dims)(*batch)
    alone = tensors_of(function(*[wengert.from_numpy(a) for a in samples[0]]))
    for together, single in zip(outputs, alone, strict=True):
        np.testing.assert_allclose(together[0].numpy(), single.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=str)
def test_the_gradient_of_a_batch_has_rules(row: Row) -> None:
    args, samples = samples_of(row)
    function = function_of(row, args)
    floats = tuple(k for k, a in enumerate(samples[0]) if a.dtype.kind in "fc")

    def loss(*xs: Any) -> Any:
        return sum((y * y).sum() for y in tensors_of(function(*xs)) if y.dtype.is_floating_point)

    batch = [stacked(samples, k, True) for k in range(len(samples[0]))]
    gradients = wengert.vmap(wengert.func.grad(loss, argnums=floats))(*batch)
    for g, k in zip(gradients, floats, strict=True):
        assert g.shape == (SIZE, *samples[0][k].shape)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=str)
def test_rows_and_columns_of_the_jacobian_agree(row: Row) -> None:
    """vmap over a pullback, which is `jacrev`; over a pushforward, which is `jacfwd`."""
    args = row.make(calls.rng_of(row))
    function, rng = function_of(row, args), np.random.default_rng(5)
    arrays = arrays_in(args)
    floats = [k for k, a in enumerate(arrays) if a.dtype.kind == "f"]

    def first_output(*xs: Any) -> Any:
        given = iter(xs)
        every = [next(given) if k in floats else wengert.from_numpy(a) for k, a in
                 enumerate(arrays)]  # fmt: skip
        return tensors_of(function(*every))[0]

    primals = tuple(wengert.from_numpy(arrays[k]) for k in floats)
    output, pull = wengert.func.vjp(first_output, *primals)

    def directions(like: Any) -> Any:
        return wengert.stack([random_like(rng, like) for _ in range(SIZE)])

    cotangents, tangents = directions(output), tuple(directions(x) for x in primals)
    gradients = wengert.vmap(pull)(cotangents)
    along = wengert.vmap(lambda *ts: wengert.func.jvp(first_output, primals, ts)[1])(*tangents)
    by_rows = sum(flat(g) @ flat(t).T for g, t in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(by_rows, flat(cotangents) @ flat(along).T, rtol=1e-8, atol=1e-9)


def flat(batch: Any) -> np.ndarray:
    return batch.numpy().reshape(SIZE, -1)


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
