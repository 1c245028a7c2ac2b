"""Reductions and cumulative functions that take their dimensions otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import wengert
from wengert.compat._private.harness.operations.families import ReductionOpInfo
from wengert.compat._private.harness.operations.letters import (
    EVERY,
    FLOATS,
    FLOATS_COMPLEX,
    FLOATS_WIDE,
    NUMBERS,
    REALS,
    REALS_BOOL,
)
from wengert.compat._private.harness.operations.recipes import Distinct, T, on, op
from wengert.compat._private.harness.operations.records import OpInfo

reduction = partial(op, kind=ReductionOpInfo)


def _orders(t: Any, dim: Any = None, keepdim: bool = False) -> Iterator[Any]:
    for order in (2, 1, 0.5, float("inf")):
        yield (order,), {}


REDUCING: list[OpInfo] = [
    op(
        "aminmax",
        REALS_BOOL,
        on(T(3, 4)),
        on(T(3, 4), dim=1),
        on(T(3, 4), dim=0, keepdim=True),
    ),
    op(
        "max|reduction_with_dim",
        REALS_BOOL,
        on(T(3, 4), 0),
        on(T(3, 4), -1, True),
        on(T(), 0),
    ),
    op("max|reduction_no_dim", REALS_BOOL, on(T(3, 4)), on(T())),
    op(
        "min|reduction_with_dim",
        REALS_BOOL,
        on(T(3, 4), 0),
        on(T(3, 4), -1, True),
        on(T(), 0),
    ),
    op("min|reduction_no_dim", REALS_BOOL, on(T(3, 4)), on(T())),
    op(
        "median",
        REALS,
        on(Distinct(3, 4)),
        on(Distinct(3, 4), 0),
        on(Distinct(3, 5), -1, True),
        no="out",
    ),
    op(
        "nanmedian",
        REALS,
        on(Distinct(3, 4)),
        on(Distinct(3, 4), 0),
        on(Distinct(3, 5), -1, True),
        no="out",
    ),
    op(
        "quantile",
        FLOATS_WIDE,
        on(T(6), 0.3),
        on(T(3, 4), 0.5, dim=1),
        on(T(3, 4), T(2, low=0, high=1), dim=0, keepdim=True),
    ),
    op("nanquantile", FLOATS_WIDE, on(T(6), 0.3), on(T(3, 4), 0.5, dim=1)),
    op(
        "var_mean",
        FLOATS_COMPLEX,
        on(T(3, 4)),
        on(T(3, 4), dim=1, correction=0),
        on(T(3, 4), dim=(0, 1), keepdim=True),
        no="out",
    ),
    op("var_mean|unbiased", FLOATS_COMPLEX, on(T(3, 4), True), on(T(3, 4), 1, False), no="out"),
    op(
        "std_mean",
        FLOATS_COMPLEX,
        on(T(3, 4)),
        on(T(3, 4), dim=1, correction=0),
        on(T(3, 4), dim=(0, 1), keepdim=True),
        no="out",
    ),
    op("std_mean|unbiased", FLOATS_COMPLEX, on(T(3, 4), True), on(T(3, 4), 1, False), no="out"),
    op(
        "logsumexp",
        EVERY,
        on(T(3, 4), 0),
        on(T(3, 4), (0, 1), True),
        on(T(), 0),
        aliases=("special.logsumexp",),
    ),
    op("logcumsumexp", FLOATS_COMPLEX, on(T(3, 4), 0), on(T(5), 0), on(T(), 0)),
    op("cumsum", NUMBERS, on(T(3, 4), 0), on(T(5), -1), on(T(), 0)),
    op("cumprod", NUMBERS, on(T(3, 4), 0), on(T(5), -1), on(T(), 0)),
    op("cummax", REALS_BOOL, on(T(3, 4), 0), on(T(5), -1)),
    op("cummin", REALS_BOOL, on(T(3, 4), 0), on(T(5), -1)),
    op(
        "diff",
        EVERY,
        on(T(5)),
        on(T(3, 5), n=2),
        on(T(3, 5), dim=0, prepend=T(1, 5)),
        on(T(3, 5), append=T(3, 2)),
    ),
    op(
        "trapezoid",
        NUMBERS,
        on(T(3, 4)),
        on(T(3, 4), dx=2.0),
        on(T(3, 4), T(3, 4), dim=0),
        no="out",
    ),
    op(
        "trapz",
        NUMBERS,
        on(T(3, 4)),
        on(T(3, 4), dx=2.0),
        on(T(3, 4), T(3, 4), dim=0),
        no="out",
    ),
    op(
        "cumulative_trapezoid",
        NUMBERS,
        on(T(3, 4)),
        on(T(3, 4), dx=2.0),
        on(T(3, 4), T(3, 4), dim=0),
        no="out",
    ),
    op(
        "gradient",
        "iswlhgfdcD",
        on(T(5)),
        on(T(4, 5), dim=1),
        on(T(4, 5), spacing=2.0),
        no="out",
    ),
    op(
        "norm",
        FLOATS_COMPLEX,
        on(T(3, 4)),
        on(T(3, 4), 1),
        on(T(3, 4), 3, 1, True),
        on(T(3, 4), dim=0),
    ),
    op(
        "norm|fro",
        FLOATS_COMPLEX,
        on(T(3, 4)),
        on(T(3, 4), "fro"),
        on(T(3, 4), "fro", (0, 1)),
    ),
    op("norm|inf", FLOATS_COMPLEX, on(T(3, 4), float("inf")), on(T(3, 4), -float("inf"), 1)),
    op("renorm", FLOATS_COMPLEX, on(T(3, 4), 2, 0, 0.5), on(T(3, 4), 1, 1, 2.0)),
    op("trace", NUMBERS, on(T(3, 4)), on(T(3, 3)), no="out"),
    op(
        "allclose",
        FLOATS_COMPLEX,
        on(T(3), T(3)),
        on(T(3), T(3), rtol=10.0, atol=10.0),
        no="grad out",
    ),
    op("equal", EVERY, on(T(3), T(3)), on(T(2, 3), T(3)), no="grad out"),
    op("corrcoef", NUMBERS, on(T(3, 5)), on(T(5)), no="out"),
    op("cov", NUMBERS, on(T(3, 5)), on(T(5)), on(T(3, 5), correction=0), no="out"),
    op(
        "lerp",
        FLOATS_COMPLEX,
        on(T(3, 4), T(3, 4), 0.4),
        on(T(3, 4), T(4), T(3, 4)),
        on(T(), T(2), 0.7),
    ),
    op("addcmul", NUMBERS, on(T(3, 4), T(3, 4), T(3, 4)), on(T(3, 1), T(4), T(), value=3)),
    op(
        "addcdiv",
        FLOATS_COMPLEX,
        on(T(3, 4), T(3, 4), T(3, 4, low=1, high=4)),
        on(T(3, 1), T(4), T(low=1, high=4), value=3),
    ),
    op(
        "clamp",
        REALS,
        on(T(3, 4), -1, 2),
        on(T(3, 4), T(4), T(3, 4)),
        on(T(3, 4), min=0),
        on(T(3), max=T(3)),
        aliases=("clip",),
    ),
    op("logaddexp2", FLOATS, on(T(3, 4), T(3, 4)), on(T(3, 1), T(4))),
    reduction("all", EVERY, identity=True, result_dtype=wengert.bool, ref=np.all, no="grad"),
    reduction("any", EVERY, identity=False, result_dtype=wengert.bool, ref=np.any, no="grad"),
    reduction("amax", REALS_BOOL, nan_policy="propagate", ref=np.amax),
    reduction("amin", REALS_BOOL, nan_policy="propagate", ref=np.amin),
    reduction("argmax", REALS, supports_multiple_dims=False, result_dtype=wengert.int64, no="grad"),
    reduction("argmin", REALS, supports_multiple_dims=False, result_dtype=wengert.int64, no="grad"),
    reduction(
        "count_nonzero",
        EVERY,
        on(T(3, 4)),
        on(T(3, 4), dim=0),
        on(T(3, 4), dim=(0, 1)),
        identity=0,
        result_dtype=wengert.int64,
        no="grad out",
    ),
    reduction(
        "mean", FLOATS_COMPLEX, nan_policy="propagate", promotes_int_to_float=True, ref=np.mean
    ),
    reduction("nanmean", FLOATS, nan_policy="omit", promotes_int_to_float=True, ref=np.nanmean),
    reduction(
        "std",
        FLOATS_COMPLEX,
        on(T(3, 4)),
        on(T(3, 4), dim=1, correction=0),
        on(T(3, 4), dim=(0, 1), keepdim=True),
        nan_policy="propagate",
        complex_to_real=True,
        promotes_int_to_float=True,
    ),
    reduction(
        "var",
        FLOATS_COMPLEX,
        on(T(3, 4)),
        on(T(3, 4), dim=1, correction=0),
        on(T(3, 4), dim=(0, 1), keepdim=True),
        nan_policy="propagate",
        complex_to_real=True,
        promotes_int_to_float=True,
    ),
    reduction(
        "prod",
        EVERY,
        identity=1,
        nan_policy="propagate",
        supports_multiple_dims=False,
        promotes_int_to_int64=True,
        ref=np.prod,
        no="out",
    ),
    reduction(
        "sum",
        EVERY,
        identity=0,
        nan_policy="propagate",
        promotes_int_to_int64=True,
        ref=np.sum,
        no="out",
    ),
    reduction(
        "nansum",
        REALS_BOOL,
        identity=0,
        nan_policy="omit",
        promotes_int_to_int64=True,
        ref=np.nansum,
    ),
    reduction(
        "linalg.vector_norm",
        FLOATS_COMPLEX,
        identity=0,
        nan_policy="propagate",
        complex_to_real=True,
        promotes_int_to_float=True,
        generate_args_kwargs=_orders,
    ),
]

__all__ = ["REDUCING"]
