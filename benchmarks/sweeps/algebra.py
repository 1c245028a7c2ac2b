"""Products of matrices, linear algebra, distances between vectors, Fourier transforms."""

from __future__ import annotations

from typing import Any

from sweeps._sample import (
    BATCHED,
    ROWS,
    SQUARES,
    VECTOR,
    Sample,
    X,
    calling,
    each,
    of,
    sample,
    shaped,
)

BATCH = of(BATCHED)
# Vectors of 3 numbers; two sets of vectors with so many distances.
TRIPLES = shaped(lambda k: (10**k // 3, 3))
LEFT = of({3: (32, 8), 4: (100, 16), 5: (316, 64), 6: (1000, 64), 7: (3162, 64)})
SIDE = shaped(lambda k: (int(10 ** (k / 2)),))


def definite(x: Any) -> Any:
    """A positive definite matrix."""
    return x @ x.mT / x.shape[-1] + x.new_ones(x.shape[-1]).diag()


def upper(x: Any) -> Any:
    """A triangular matrix that is far from singular."""
    return x.triu(1) / x.shape[-1] + x.new_ones(x.shape[-1]).diag()


PRODUCTS = [
    *each("matmul mm __rmatmul__", SQUARES, SQUARES, most=6),
    sample("bmm", BATCH, BATCH, most=6),
    sample("matmul of a batch and a matrix", BATCH, most=6,
           call=lambda m, x: x @ x[0]),
    sample("einsum", BATCH, BATCH, most=6,
           call=lambda m, x, y: m.einsum("bij,bkj->bik", x, y)),
    sample("tensordot", SQUARES, SQUARES, most=6, call=lambda m, x, y: m.tensordot(x, y, 1)),
    sample("mv", X, shaped(lambda k: ROWS[k][1:])),
    *each("dot inner", VECTOR, VECTOR),
    sample("outer", SIDE, SIDE),
    sample("kron", of({k: (10, 10) for k in range(3, 8)}),
           of({3: (3, 3), 4: (10, 10), 5: (32, 32), 6: (100, 100), 7: (316, 316)})),
    *each("addmm", SQUARES, SQUARES, SQUARES, most=6),
    *each("baddbmm", BATCH, BATCH, BATCH, most=6),
    sample("addmv", shaped(lambda k: ROWS[k][:1]), X, shaped(lambda k: ROWS[k][1:])),
    *each("cross linalg.cross", TRIPLES, TRIPLES),
    calling("linalg.vecdot", X, X)(),
    sample("linalg.multi_dot", SQUARES, SQUARES, SQUARES, most=5,
           call=lambda m, *x: m.linalg.multi_dot(x)),
    sample("linalg.matrix_power", SQUARES, most=5,
           call=lambda m, x: m.linalg.matrix_power(x / 10, 3)),
    sample("matrix_exp", SQUARES, most=4, call=lambda m, x: m.matrix_exp(x / 10)),
    sample("trace", SQUARES),
]  # fmt: skip

DECOMPOSITIONS = [
    *(sample(name, SQUARES, most=5, call=lambda m, x, path=path: _of(m, path)(definite(x)))
      for name, path in (
          ("linalg.inv", "linalg.inv"), ("logdet", "logdet"),
          ("linalg.slogdet", "linalg.slogdet"), ("linalg.cholesky", "linalg.cholesky"),
          ("cholesky", "linalg.cholesky"), ("linalg.eigvalsh", "linalg.eigvalsh"))),
    sample("linalg.det", SQUARES, most=5, call=lambda m, x: m.linalg.det(upper(x))),
    sample("linalg.inv of a batch", BATCH, most=6, call=lambda m, x: m.linalg.inv(definite(x))),
    sample("linalg.cholesky of a batch", BATCH, most=6,
           call=lambda m, x: m.linalg.cholesky(definite(x))),
    sample("linalg.det of a batch", BATCH, most=6, call=lambda m, x: m.linalg.det(definite(x))),
    sample("linalg.solve", SQUARES, SQUARES, most=5,
           call=lambda m, x, y: m.linalg.solve(definite(x), y)),
    sample("linalg.solve of a batch", BATCH, BATCH, most=6,
           call=lambda m, x, y: m.linalg.solve(definite(x), y)),
    sample("linalg.solve_triangular", SQUARES, SQUARES, most=5,
           call=lambda m, x, y: m.linalg.solve_triangular(upper(x), y, upper=True)),
    sample("linalg.lstsq", SQUARES, SQUARES, most=4,
           call=lambda m, x, y: m.linalg.lstsq(definite(x), y).solution),
    *(sample(name, SQUARES, most=4, alike=False, call=lambda m, x, path=path: _of(m, path)(x))
      for name, path in (
          ("linalg.qr", "linalg.qr"), ("qr", "linalg.qr"), ("linalg.svd", "linalg.svd"),
          ("svd", "svd"))),
    sample("linalg.eig", SQUARES, most=4,  # in an order that LAPACK does not promise
           call=lambda m, x: m.linalg.eig(x).eigenvalues.abs().sort().values),
    sample("linalg.eigh", SQUARES, most=4, alike=False,
           call=lambda m, x: m.linalg.eigh(definite(x))),
    *each("linalg.pinv linalg.cond", SQUARES, most=4),
    sample("linalg.matrix_rank", SQUARES, most=4, backward=False),
    sample("linalg.matrix_norm nuc", SQUARES, most=4,
           call=lambda m, x: m.linalg.matrix_norm(x, "nuc")),
]  # fmt: skip


def _of(library: Any, path: str) -> Any:
    for name in path.split("."):
        library = getattr(library, name)
    return library


DISTANCES = [
    *(sample(f"cdist, p={p}", LEFT, LEFT, call=lambda m, x, y, p=p: m.cdist(x, y, p))
      for p in (2.0, 1.0, 3.0, float("inf"))),
    sample("cdist of few numbers", shaped(lambda k: (int(10 ** (k / 2)), 3)),
           shaped(lambda k: (int(10 ** (k / 2)), 3)), call=lambda m, x, y: m.cdist(x, y)),
    *(sample(f"pdist, p={p}", LEFT, call=lambda m, x, p=p: m.nn.functional.pdist(x, p))
      for p in (2.0, 1.0)),
]  # fmt: skip

TRANSFORMS = [
    *(sample(f"fft.{name}", of({k: (10 ** (k - 3), 1024) for k in range(3, 8)}),
             call=lambda m, x, name=name: getattr(m.fft, name)(x))
      for name in ("fft", "rfft", "fftshift", "ifftshift")),
    *(sample(f"fft.{name}", of({k: (10 ** (k - 3), 512) for k in range(3, 8)}),
             call=lambda m, x, name=name: getattr(m.fft, name)(m.complex(x, x)))
      for name in ("ifft", "irfft")),
    *(sample(f"fft.{name}", SQUARES, call=lambda m, x, name=name: getattr(m.fft, name)(x))
      for name in ("fft2", "ifft2", "fftn")),
    sample("stft", VECTOR, call=lambda m, x: m.stft(
        x, 256, window=m.ones(256), return_complex=True)),
    sample("istft", VECTOR, call=lambda m, x: m.istft(
        m.stft(x, 256, window=m.ones(256), return_complex=True), 256, window=m.ones(256))),
]  # fmt: skip

FAMILY: list[Sample] = [*PRODUCTS, *DECOMPOSITIONS, *DISTANCES, *TRANSFORMS]
