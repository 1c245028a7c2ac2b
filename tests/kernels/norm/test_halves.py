"""Normalisation of halves as they lie in memory, alone and beside weights of float32."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert
from tests.kernels.guarded import copied
from tests.kernels.norm.test_norm import PLANS, computed, sample
from tests.kernels.threads import same_for_all_threads
from tests.kernels.variants import by_numpy, needs_llvmlite
from wengert.kernels.norm.plan import NormPlan

pytestmark = needs_llvmlite

HALVES = {np.dtype(ml_dtypes.bfloat16): 2.0**-8, np.dtype(np.float16): 2.0**-11}
by_half = pytest.mark.parametrize("dtype", HALVES, ids=str)


@by_half
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_halves_are_computed_in_float32_and_rounded_once(plan: NormPlan, dtype: Any) -> None:
    g, x, w, b = (a.astype(dtype) for a in sample(plan))
    weights = w.astype(np.float32), b.astype(np.float32)
    wanted = computed(plan, g.astype(np.float32), x.astype(np.float32), *weights)
    for given in (weights, (w, b)):
        got = computed(plan, copied(g, True), copied(x, False), *given)
        assert {a.dtype for a in got[1 if plan.centred else 2 : 4]} == {np.dtype(np.float32)}
        for a, c in zip(got[1:4] + got[5:], wanted[1:4] + wanted[5:], strict=True):
            np.testing.assert_allclose(a, c, rtol=1e-5, atol=1e-5 * max(1, np.abs(c).max()))
        for a, c in ((got[0], wanted[0]), (got[4], wanted[4])):
            assert a.dtype == dtype
            error = np.abs(a.astype(np.float64) - c)
            slack = 2.0**-24 + 2e-6 * max(1, np.abs(c).max())  # sums are in another order
            assert (error <= 1.01 * HALVES[dtype] * np.abs(c) + slack).all()


@by_half
def test_numpy_does_the_same(dtype: Any) -> None:
    for plan in PLANS[1::4]:
        arrays = [a.astype(dtype) for a in sample(plan)]
        got = computed(plan, *arrays)
        with by_numpy():
            plain = computed(plan, *arrays)
        few = 20 if plan.size <= 2 else 1  # almost no variance, which divides
        for a, c in zip(got[:6], plain[:6], strict=True):
            assert a.dtype == c.dtype
            most = max(1.0, float(np.abs(c.astype(float)).max()))
            one = HALVES[dtype] if a.dtype == dtype else 1e-5
            np.testing.assert_allclose(
                a.astype(float), c.astype(float), rtol=2.1 * one, atol=few * one * most
            )


@by_half
def test_digits_do_not_depend_on_threads(dtype: Any) -> None:
    plans = [p for p in PLANS if p.size > 2]
    arrays = [[a.astype(dtype) for a in sample(plan)] for plan in plans]

    def compute() -> np.ndarray:
        found = [computed(plan, *a) for plan, a in zip(plans, arrays, strict=True)]
        return np.concatenate([a.ravel().astype(np.float32) for each in found for a in each])

    same_for_all_threads(compute)


KINDS = ("batch", "running", "instance", "group", "layer", "rms")


def _layer(lib: Any, kind: str, x: Any, w: Any, b: Any, mean: Any, var: Any) -> Any:
    functional, size = lib.nn.functional, x.shape[-1:]
    if kind in ("batch", "running"):
        return functional.batch_norm(x, mean, var, w, b, kind == "batch")
    if kind == "instance":
        return functional.instance_norm(x, None, None, w, b)
    if kind == "group":
        return functional.group_norm(x, 2, w, b)
    gain, shift = (v[:1].expand(size) for v in (w, b))
    if kind == "layer":
        return functional.layer_norm(x, size, gain, shift)
    return functional.rms_norm(x, size, gain)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
@pytest.mark.parametrize("last", [False, True], ids=["first", "channels last"])
@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "beside float32"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_less_exact_than_pytorch(
    torch: Any, kind: str, dtype: str, mixed: bool, last: bool
) -> None:
    """Errors against float64: of outputs, gradients and running statistics; and their dtypes."""
    rng = np.random.default_rng(0)
    for shape in ((3, 8, 5, 6), (2, 4, 2, 3), (40, 16, 9, 7)):
        x, g = (rng.standard_normal(shape).astype("f") for _ in range(2))
        params = [rng.random(shape[1]).astype("f") + 0.5 for _ in range(4)]
        found = []
        for lib, wide in ((wengert, False), (torch, False), (torch, True)):
            to = getattr(lib, dtype)
            values = [lib.from_numpy(v).to(to) for v in (x, g)]
            values += [lib.from_numpy(v).to(lib.float32 if mixed else to) for v in params]
            if last:
                values[0] = values[0].to(memory_format=lib.channels_last)
            if wide:
                values = [v.double() for v in values]
            values[0], slope, w, b, mean, var = values
            leaves = [v.requires_grad_() for v in (values[0], w, b)]
            out = _layer(lib, kind, *leaves, mean, var)
            grads = lib.autograd.grad(out, leaves[: 2 if kind == "rms" else 3], slope)
            found.append([out.detach(), *grads, mean, var])
        for ours, theirs, exact in zip(*found, strict=True):
            assert str(ours.dtype) == str(theirs.dtype)
            values = [v.double().numpy() for v in (ours, theirs, exact)]
            error, bound = (np.abs(v - values[2]).max() for v in values[:2])
            half = HALVES[np.dtype(getattr(ml_dtypes, dtype, dtype))]
            slack = half * np.abs(values[2]).max() * 1.01
            assert error <= max(bound * 1.05, slack)


@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives_beside_float32(kind: str) -> None:
    """Rules that are recorded give gradients of the same dtypes, and nearly the same values."""
    rng = np.random.default_rng(0)
    x = wengert.from_numpy(rng.standard_normal((3, 4, 5, 6)).astype("f")).bfloat16()
    params = [wengert.from_numpy(rng.random(4).astype("f") + 0.5) for _ in range(4)]
    results = []
    for recorded in (False, True):
        leaves = [v.clone().requires_grad_() for v in (x, *params[:2])]
        out = _layer(wengert, kind, *leaves, *[p.clone() for p in params[2:]])
        used = leaves[: 2 if kind == "rms" else 3]
        grads = wengert.autograd.grad((out * out).sum(), used, create_graph=recorded)
        assert [v.dtype for v in grads] == [v.dtype for v in used]
        results.append([v.detach().double().numpy() for v in grads])
        if recorded:
            again = wengert.autograd.grad(sum((v.float() ** 2).sum() for v in grads), used)
            assert [v.dtype for v in again] == [v.dtype for v in used]
    for a, c in zip(*results, strict=True):
        np.testing.assert_allclose(a, c, atol=2.0**-6 * np.abs(c).max())
