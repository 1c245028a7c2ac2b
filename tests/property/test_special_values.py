"""Infinities, NaN, zeros of both signs and extreme numbers, through all that reduces.

Reductions, scans, norms, the softmax family, statistics, sorting, losses and what the likes of them
are made of: values, indices and gradients are PyTorch's. Pools have a module of their own.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wengert

INF, NAN = np.inf, np.nan
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, INF, -INF, NAN, 1e100, 1e-100)
FINITE = tuple(v for v in SPECIAL if np.isfinite(v))
NUMBERS = tuple(v for v in SPECIAL if not np.isnan(v))
MODERATE = tuple(v for v in SPECIAL if v != 1e100)


def arrays(values: tuple[float, ...] = SPECIAL) -> st.SearchStrategy[np.ndarray]:
    """Small matrices."""
    elements = st.lists(st.sampled_from(values), min_size=6, max_size=6)
    return elements.map(lambda drawn: np.array(drawn).reshape(2, 3))


COLUMN = {"dim": 0}
ROW = {"dim": 1}

# Name, options; all take a (2, 3) input.
ONE: list[tuple[str, dict[str, Any]]] = [
    *((name, options)
      for name in ("sum", "mean", "prod", "nansum", "nanmean", "logsumexp", "var", "std", "amax",
                   "amin", "norm", "linalg.vector_norm", "all", "any", "argmax", "argmin",
                   "count_nonzero", "quantile", "nanquantile")
      for options in ({}, ROW)
      if not (name == "logsumexp" and not options)
      for options in ([{**options, "q": 0.3}] if "quantile" in name else [options])),
    *((name, ROW)
      for name in ("max", "min", "median", "nanmedian", "mode", "sort", "argsort", "cumsum",
                   "cumprod", "cummax", "cummin", "logcumsumexp", "aminmax", "diff",
                   "softmax", "log_softmax", "nn.functional.softmin", "nn.functional.normalize",
                   "trapezoid", "cumulative_trapezoid")),
    *((name, COLUMN) for name in ("logsumexp", "softmax", "log_softmax", "cumsum", "cumprod",
                                  "logcumsumexp", "cummax", "max", "median")),
    *(("linalg.vector_norm", {"ord": p, **ROW}) for p in (0.5, 1, 1.5, 3, INF, -INF, -1)),
    ("linalg.matrix_norm", {}), ("linalg.matrix_norm", {"ord": 1}),
    ("linalg.matrix_norm", {"ord": INF}), ("linalg.matrix_norm", {"ord": -1}),
    ("renorm", {"p": 2, "dim": 0, "maxnorm": 1.0}), ("renorm", {"p": 1, "dim": 1, "maxnorm": 1.0}),
    ("topk", {"k": 2}), ("nan_to_num", {}),
    ("quantile", {"q": 0.5, "dim": 1, "interpolation": "midpoint"}),
    ("nn.functional.layer_norm", {"normalized_shape": (3,)}),
    ("nn.functional.glu", {"dim": 0}), ("nn.functional.gelu", {}),
    ("nn.functional.gelu", {"approximate": "tanh"}), ("nn.functional.logsigmoid", {}),
    ("nn.functional.softplus", {}),
]  # fmt: skip
# Where PyTorch differs, or has it both ways: see docs/differences.md.
ONLY = {
    "prod": FINITE,  # 0 * inf is left out in one of its formulas
    "cumprod": FINITE,
    "mode": NUMBERS,  # NaN comes between equal elements
    "amax": NUMBERS,  # gradients of NaN, here and below
    "amin": NUMBERS,
    "aminmax": NUMBERS,
    "linalg.matrix_norm": NUMBERS,
    "nanmean": NUMBERS,
    "logcumsumexp": tuple(v for v in MODERATE if v != -INF),
    "nn.functional.layer_norm": MODERATE,  # the variance of equal numbers is their rounding
}
# Name, options; all take two inputs.
TWO: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("logaddexp", "logaddexp2", "maximum", "minimum", "fmax", "fmin",
                              "hypot", "dist", "nn.functional.mse_loss", "nn.functional.l1_loss",
                              "nn.functional.smooth_l1_loss", "nn.functional.huber_loss",
                              "nn.functional.binary_cross_entropy_with_logits")),
    ("nn.functional.kl_div", {"log_target": True}), ("nn.functional.kl_div", {}),
    ("nn.functional.cross_entropy", {}), ("nn.functional.poisson_nll_loss", {}),
]  # fmt: skip


def function_of(m: Any, name: str) -> Any:
    for attribute in name.split("."):
        m = getattr(m, attribute)
    return m


def outcome(m: Any, name: str, values: list[np.ndarray], options: dict[str, Any]) -> list[Any]:
    """Values, indices and gradients."""
    leaves = [m.tensor(x, requires_grad=True) for x in values]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = function_of(m, name)(*leaves, **options)
    outs = list(out) if isinstance(out, tuple) else [out]
    smooth = [o for o in outs if o.requires_grad]
    if smooth:
        weights = [m.arange(1.0, o.numel() + 1, dtype=o.dtype).reshape(o.shape) for o in smooth]
        outs += m.autograd.grad(smooth, leaves, weights)
    return [o.detach().numpy() for o in outs]


def check(torch: Any, name: str, values: list[np.ndarray], options: dict[str, Any]) -> None:
    ours, theirs = (outcome(m, name, values, options) for m in (wengert, torch))
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "options"), ONE)
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_one_input(torch: Any, name: str, options: dict[str, Any], data: Any) -> None:
    check(torch, name, [data.draw(arrays(ONLY.get(name, SPECIAL)))], options)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "options"), TWO)
@settings(max_examples=10, deadline=None)
@given(arrays(), arrays())
@example(np.array([[INF, 1, -INF]] * 2), np.array([[1.0, INF, -INF]] * 2))
def test_two_inputs(
    torch: Any, name: str, options: dict[str, Any], x: np.ndarray, y: np.ndarray
) -> None:
    check(torch, name, [x, y], options)
