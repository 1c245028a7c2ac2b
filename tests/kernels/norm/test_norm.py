"""Normalisation by compiled kernels: against NumPy's path, float64, and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import norm as kernels
from wengert.kernels.norm.plan import NormPlan

pytestmark = needs_llvmlite

Rng = np.random.Generator


def rows(count: int, size: int, centred: bool = True) -> NormPlan:
    return NormPlan((count, size), (1,), (count, size), (size,), centred)


def groups(batch: int, channels: int, space: int, count: int) -> NormPlan:
    view = (batch, count, channels // count * space)
    return NormPlan(view, (2,), (batch, channels, space), (channels, 1))


def batch(batch: int, channels: int, space: int) -> NormPlan:
    view = (batch, channels, space)
    return NormPlan(view, (0, 2), view, (channels, 1))


WIDTHS = [1, 2, 7, 8, 9, 31, 33, 1000, 1023, 2500]
PLANS = [
    *(rows(1 + 5000 // n, n) for n in WIDTHS), rows(300, 33, False), rows(3, 1023, False),
    groups(9, 6, 100, 2), groups(5, 8, 33, 8), groups(700, 4, 1, 2), groups(2, 3, 2049, 1),
    batch(9, 6, 100), batch(70, 130, 7), batch(3, 5, 1200), batch(500, 3, 9), batch(1, 9, 900),
    batch(1300, 9, 1), batch(1025, 33, 1), batch(600, 3, 1),
]  # fmt: skip


def sample(plan: NormPlan, offset: float = 0.0) -> list[np.ndarray]:
    """The cotangent, the input in the shape of channels, weight and bias."""
    rng = np.random.default_rng(sum(plan.view))
    shapes = (plan.channels, plan.channels, plan.affine, plan.affine)
    g, x, w, b = (rng.standard_normal(s) for s in shapes)
    return [a.astype(np.float32) for a in (g, x + offset, w, b)]


def computed(plan: NormPlan, g: Any, x: Any, w: Any, b: Any) -> list[np.ndarray]:
    """The output, statistics and gradients, by kernels where there are some."""
    out, mean, variance, rstd = kernels.normalise(x, w, b, plan, 1e-5)
    found = kernels.gradients(g, x, w, mean, rstd, plan)
    if found is None:
        axes = tuple(a for a in range(g.ndim) if a < g.ndim - len(plan.affine)
                     or plan.affine[a - g.ndim] == 1)  # fmt: skip
        found = (
            kernels.input_gradient(g, x, w, mean, rstd, plan),
            kernels.weight_gradient(g, x, mean, rstd, plan), g.sum(axes),
        )  # fmt: skip
    stats = [np.zeros(1) if mean is None else mean, variance, rstd]
    return [out, *stats, found[0], *[x.reshape(-1) for x in found[1:] if x is not None]]


def close(a: np.ndarray, b: np.ndarray, scale: float) -> None:
    """Within some units of the last place of the largest element."""
    assert a.shape == b.shape
    most = max(1.0, float(np.abs(b).max()))
    np.testing.assert_allclose(a, b, rtol=0, atol=scale * 1.2e-7 * most)


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_against_float64_and_numpy(plan: NormPlan) -> None:
    arrays = sample(plan)
    got = computed(plan, *arrays)
    with by_numpy():
        plain = computed(plan, *arrays)
        exact = computed(plan, *(a.astype(np.float64) for a in arrays))
    few = 2000 if plan.size <= 2 else 1  # almost no variance, which divides
    for a, b, c in zip(got, exact, plain, strict=True):
        close(a, b, 16 * few)
        close(a, c, 64 * few)


@pytest.mark.parametrize("plan", PLANS[2::3], ids=str)
def test_float64(plan: NormPlan) -> None:
    arrays = [a.astype(np.float64) for a in sample(plan)]
    got = computed(plan, *arrays)
    with by_numpy():
        plain = computed(plan, *arrays)
    for a, b in zip(got, plain, strict=True):
        assert a.dtype == np.float64
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("plan", [rows(40, 1023), groups(9, 6, 100, 2), batch(33, 6, 100),
                                  batch(2000, 9, 1)], ids=str)  # fmt: skip
def test_what_values_have_in_common_costs_the_variance_nothing(plan: NormPlan) -> None:
    _, x, w, b = sample(plan, 3000.0)
    _, mean, variance, _ = kernels.normalise(x, w, b, plan, 1e-5)
    seen = x.reshape(plan.view).astype(np.float64)
    assert mean is not None
    np.testing.assert_allclose(mean, seen.mean(plan.axes, keepdims=True), rtol=3e-7)
    np.testing.assert_allclose(variance, seen.var(plan.axes, keepdims=True), rtol=5e-6)


def test_without_weight_and_bias() -> None:
    for plan in (rows(40, 33), groups(9, 6, 100, 2), batch(9, 6, 100), batch(1300, 9, 1)):
        g, x, w, b = sample(plan)
        ones, zeros = np.ones_like(w), np.zeros_like(b)
        found, right = computed(plan, g, x, None, None), computed(plan, g, x, ones, zeros)
        for got, wanted in zip(found, right[: len(found)], strict=True):
            if len(plan.view) == 2:  # rows have a kernel of their own
                close(got, wanted, 4)
            else:
                np.testing.assert_array_equal(got, wanted)


def channels_last(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


@pytest.mark.parametrize("space", [(5, 7), (1, 4), (9, 1), (6,)], ids=str)
@pytest.mark.parametrize("channels", [3, 8, 33])
def test_channels_side_by_side(space: tuple[int, ...], channels: int) -> None:
    plan = batch(150, channels, int(np.prod(space)))
    g, x, w, b = sample(plan)
    shape = (150, channels, *space)
    spread = [channels_last(a.reshape(shape)) for a in (g, x)]
    got = computed(plan, *spread, w, b)
    wanted = computed(plan, g, x, w, b)
    if channels >= 8:
        assert got[0].strides == got[4].strides == spread[0].strides
    for a, c in zip(got, wanted, strict=True):
        close(a.reshape(c.shape), c, 32)
    mean, rstd = got[1].reshape(-1), got[3].reshape(-1)
    for arrays in (spread, [g, x]):
        sums = kernels.channel_sums(*arrays, mean, rstd, plan)  # type: ignore[call-arg]
        assert sums is not None
        close(sums[0], wanted[5], 32)
        close(sums[1], wanted[6], 32)
        scaled = kernels.scaled(arrays[1], mean, rstd * w[:, 0], b[:, 0])
        close(scaled.reshape(wanted[0].shape), wanted[0], 32)


def test_strided_input_and_cotangent() -> None:
    plan = rows(60, 40)
    g, x, w, b = sample(plan)
    wanted = computed(plan, g, x, w, b)
    for lay in (np.asfortranarray, lambda a: np.repeat(a, 2, axis=0)[::2]):
        for got, c in zip(computed(plan, lay(g), lay(x), w, b), wanted, strict=True):
            np.testing.assert_array_equal(got, c)


@pytest.mark.torch
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e30])
def test_extremes_are_those_of_torch(torch: Any, value: float) -> None:
    _, x, w, b = sample(rows(60, 40))
    x[7, 3] = value
    plan = rows(60, 40)
    out, *_ = kernels.normalise(x, w, b, plan, 1e-5)
    x, w, b = map(torch.from_numpy, (x, w, b))
    wanted = torch.nn.functional.layer_norm(x, (40,), w, b)
    np.testing.assert_allclose(out, wanted.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("plan", [rows(5, 7), rows(1, 1), rows(3, 2, False), groups(2, 6, 3, 2),
                                  batch(3, 5, 4), batch(7, 9, 1), batch(600, 9, 1)],
                         ids=str)  # fmt: skip
def test_stays_within_its_arrays(plan: NormPlan) -> None:
    arrays = sample(plan)
    with in_python((kernels, "FEW")):
        got = computed(plan, *arrays)
    with by_numpy():
        wanted = computed(plan, *(a.astype(np.float64) for a in arrays))
    for a, b in zip(got, wanted, strict=True):
        close(a, b, 64)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("size", WIDTHS)
def test_gradients_of_rows_without_a_weight(size: int, centred: bool, dtype: str) -> None:
    """One kernel for the input's gradient alone: as with weights of one."""
    plan, rng = rows(7, size, centred), np.random.default_rng(0)
    x, g = (rng.normal(size=(7, size)).astype(dtype) for _ in range(2))
    _, mean, _, rstd = kernels.normalise(x, None, None, plan, 1e-5)
    found = kernels.gradients(g, x, None, mean, rstd, plan)
    right = kernels.gradients(g, x, np.ones(size, dtype), mean, rstd, plan)
    if right is None:
        assert found is None
        return
    assert found is not None
    assert found[1] is None
    assert found[2] is None
    scale = max(1.0, float(np.abs(right[0]).max()))
    np.testing.assert_allclose(
        found[0], right[0], rtol=0, atol=(1e-5 if dtype == "f4" else 1e-12) * scale
    )


@pytest.mark.torch
@pytest.mark.parametrize("affine", ["neither", "weight", "bias", "both"])
def test_layer_norm_with_some_of_its_parameters(affine: str, torch: Any) -> None:
    import wengert

    rng = np.random.default_rng(0)
    values = [rng.normal(size=s).astype("f4") for s in ((6, 40), (40,), (40,))]
    found = []
    for lib in (wengert, torch):
        x, w, b = (lib.from_numpy(v.copy()).requires_grad_(True) for v in values)
        weight, bias = (
            (w if affine in ("weight", "both") else None),
            (b if affine in ("bias", "both") else None),
        )
        y = lib.nn.functional.layer_norm(x, (40,), weight, bias)
        (y * y * 0.5 + y).sum().backward()
        found.append([None if p.grad is None else p.grad.numpy() for p in (x, w, b)])
    for a, b in zip(*found, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_statistics_move_as_numpy_moves_them(dtype: str) -> None:
    running, now = np.random.default_rng(0).standard_normal((2, 9)).astype(dtype)
    expected = running * (1 - 0.1) + 0.1 * now
    assert kernels.follow(running, now, 0.1)
    np.testing.assert_array_equal(running, expected)
