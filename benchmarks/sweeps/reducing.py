"""Reductions, running sums, sorting and searching."""

from __future__ import annotations

from sweeps._sample import (
    INTEGERS,
    MASK,
    ROWS,
    VECTOR,
    Input,
    Sample,
    X,
    calling,
    each,
    fixed,
    flat,
    of,
    sample,
    shaped,
)

TIES = of(ROWS, kind="integers", low=0, high=50)
LONG_TIES = shaped(flat, kind="integers", low=0, high=1000)
WEIGHTS = shaped(flat, kind="uniform", low=0.1, wants=False)
FACTORS = of(ROWS, kind="uniform", low=0.9, high=1.1)


def reduction(name: str, inputs: Input = X, **options: bool) -> list[Sample]:
    """Over all elements, along rows, and down columns."""
    return [
        calling(name, inputs, **options)(),
        calling(f"{name} (dim=1)", inputs, **options)(dim=1),
        calling(f"{name} (dim=0)", inputs, **options)(dim=0),
    ]


NAMES = (
    "sum mean max min amax amin std var nansum nanmean median norm linalg.norm linalg.vector_norm"
)
REDUCTIONS = [
    *(r for name in NAMES.split() for r in reduction(name)),
    *reduction("prod", FACTORS),
    *reduction("all", MASK, backward=False),
    *reduction("any", MASK, backward=False),
    *(r for name in ("argmax", "argmin", "count_nonzero")
      for r in reduction(name, backward=False)),
    *(calling(f"{name} (dim={d})", X)(dim=d)
      for name in ("logsumexp", "var_mean", "std_mean") for d in (1, 0)),
    calling("norm 1 (dim=1)", X)(p=1, dim=1),
    calling("norm 3 (dim=1)", X)(p=3, dim=1),
    calling("norm inf (dim=1)", X)(p=float("inf"), dim=1),
    calling("linalg.matrix_norm", X)(),
    calling("sum of integers", INTEGERS, backward=False)(),
    calling("trapezoid", X)(),
    calling("dist", X, X)(),
    *each("equal allclose", X, X, backward=False),
    calling("nn.functional.normalize", X)(),
    *(calling(f"nn.functional.{name}", X, X)() for name in
      ("cosine_similarity", "pairwise_distance")),
    calling("cov", X, most=6)(),
    calling("corrcoef", X, most=6)(),
]  # fmt: skip

SCANS = [
    *(
        calling(f"{name} (dim={d})", X)(dim=d)
        for name in ("cumsum", "cummax", "cummin", "logcumsumexp", "diff")
        for d in (1, 0)
    ),
    *(calling(f"cumprod (dim={d})", FACTORS)(dim=d) for d in (1, 0)),
    calling("cumsum of a vector", VECTOR)(0),
    calling("cummax of a vector", VECTOR)(0),
    calling("cumprod of a vector", shaped(flat, kind="uniform", low=0.999, high=1.001))(0),
    calling("cumsum of integers", LONG_TIES, backward=False)(0),
]

SORTING = [
    *(calling(f"sort (dim={d})", X)(dim=d) for d in (1, 0)),
    *(calling(f"argsort (dim={d})", X, backward=False)(dim=d) for d in (1, 0)),
    calling("msort", X)(),
    calling("sort of a vector", VECTOR)(),
    calling("sort of a vector, descending", VECTOR)(descending=True),
    calling("sort of a vector, stable", VECTOR)(stable=True),
    calling("sort of integers", LONG_TIES, backward=False)(),
    calling("sort of integer rows", TIES, backward=False)(dim=1),
    calling("topk", X)(10),
    calling("topk (dim=0)", X)(5, 0),
    calling("topk of a vector", VECTOR)(100),
    calling("topk of a vector, smallest", VECTOR)(100, largest=False),
    calling("kthvalue", X)(5),
    calling("kthvalue of a vector", VECTOR)(300),
    calling("mode of integers", TIES, backward=False, alike=False)(1),
    calling("mode", X, alike=False)(1),
    calling("quantile", X, most=6)(0.3),
    calling("quantile (dim=1)", X)(0.3, 1),
    calling("nanmedian (dim=1)", X)(dim=1),
    calling("unique", LONG_TIES, backward=False)(),
    calling("unique of floats", VECTOR, backward=False)(),
    calling("unique with inverse and counts", LONG_TIES, backward=False)(
        return_inverse=True, return_counts=True
    ),
    calling("unique of rows", of(ROWS, kind="integers", low=0, high=3), backward=False)(dim=0),
    calling("unique_consecutive", LONG_TIES, backward=False)(),
    calling("nonzero", MASK, backward=False)(),
    calling("bincount", LONG_TIES, backward=False)(),
    calling("bincount of weights", LONG_TIES, WEIGHTS, backward=False)(),
    calling("histc", VECTOR, backward=False)(),
    sample("searchsorted", fixed(1000), X, backward=False,
           call=lambda m, edges, x: m.searchsorted(edges.sort().values, x)),
    sample("bucketize", fixed(1000), X, backward=False,
           call=lambda m, edges, x: m.bucketize(x, edges.sort().values)),
    calling("isin", LONG_TIES, fixed(50, kind="integers", low=0, high=2000), backward=False)(),
    calling("isin of many", LONG_TIES, LONG_TIES, backward=False)(),
]  # fmt: skip

FAMILY: list[Sample] = [*REDUCTIONS, *SCANS, *SORTING]
