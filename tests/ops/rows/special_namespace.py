"""Rows of `wengert.special`, `wengert.ops.bessel` and `wengert.ops.gamma`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

EVERYWHERE = np.array([-30.0, -2.5, -1.0, -0.0, 0.0, 1e-8, 0.3, 1.0, 7.5, 30.0, np.inf, np.nan])


def positive(rng):
    return (rng.uniform(0.3, 4.0, (3, 4)),)


def two_positive(rng):
    return (rng.uniform(0.5, 4.0, (3, 4)), rng.uniform(0.5, 4.0, 4))


BESSEL_I = ("i0", "special.i0e", "special.i1", "special.i1e")
MODIFIED = [f"special.{n}" for n in ("modified_bessel_i0", "modified_bessel_i1")]
CYLINDER = [f"special.bessel_{n}" for n in ("j0", "j1", "y0", "y1")]
BESSEL_K = [f"special.{s}modified_bessel_k{n}" for s in ("", "scaled_") for n in (0, 1)]
# Without a derivative in PyTorch, which is good to eight digits here.
NO_GRADIENT = ["special.airy_ai", "special.spherical_bessel_j0", *CYLINDER, *BESSEL_K, *MODIFIED]
NORMAL = ("special.ndtr", "special.log_ndtr", "special.erfcx")
FAMILIES = [
    *(f"{s}chebyshev_polynomial_{k}" for s in ("", "shifted_") for k in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
]  # fmt: skip


def with_degrees(rng):
    return rng.uniform(-1.5, 1.5, (10, 4)), np.arange(-1, 9)[:, None]


ROWS = [
    *(Row(n, inputs((3, 4))) for n in (*BESSEL_I, *NORMAL)),
    *(Row(n, lambda rng: (EVERYWHERE,), tag="everywhere", grad=False) for n in BESSEL_I),
    # Scaled ones have a kink at zero.
    *(Row(n, lambda rng: (np.array([0.0, 0.4]),), tag="origin", second=not n.endswith("e"))
      for n in BESSEL_I),
    *(Row(n, lambda rng: (EVERYWHERE,), tag="everywhere", grad=False)
      for n in (*NORMAL, "special.entr")),
    *(Row(n, positive, grad=False, rtol=1e-7, atol=1e-8) for n in NO_GRADIENT),
    *(Row(n, lambda rng: (np.arange(1, 4),), tag="int", grad=False, rtol=2e-6)
      for n in (*BESSEL_I, *NORMAL, *NO_GRADIENT)),
    Row("special.ndtri", inputs((3, 4), low=0.05, high=0.95)),
    Row("special.ndtri", lambda rng: (np.array([-0.1, 0.0, 1e-9, 1.0, 1.1]),), tag="ends",
        grad=False),
    Row("special.entr", positive),
    Row("special.xlog1py", two_positive),
    Row("special.xlog1py", lambda rng: (np.array([0.0, 0.0, 2.0]), np.array([-1.0, np.nan, 0.5])),
        tag="zeros", grad=False),
    *(Row(n, two_positive, grad=False) for n in ("igamma", "igammac")),
    *(Row(n, lambda rng: (np.array([0.0, 0.0, -1.0, 2.0]), np.array([0.0, 1.0, 1.0, np.inf])),
          tag="ends", grad=False) for n in ("igamma", "igammac")),
    *(Row(f"Tensor.{n}_", two_positive, grad=False) for n in ("igamma", "igammac")),
    Row("special.zeta", lambda rng: (rng.uniform(1.5, 4.0, (3, 4)), rng.uniform(0.5, 4.0, 4)),
        grad=False),
    Row("special.zeta", lambda rng: (np.array([1.0, 0.5, 2.0, 2.5]), np.array([2.0, 2, -1, -0.5])),
        tag="ends", grad=False),
    *(Row("mvlgamma", lambda rng, p=p: (rng.uniform(p, p + 3, (3, 4)), p), tag=str(p), rtol=1e-9)
      for p in (1, 2, 4)),
    Row("Tensor.mvlgamma_", lambda rng: (rng.uniform(2, 5, (3, 4)), 2)),
    Row("Tensor.i0_", inputs((3, 4))),
    Row("Tensor.polygamma", lambda rng: (*positive(rng), 1), rtol=1e-8, tag="method"),
    Row("Tensor.polygamma_", lambda rng: (*positive(rng), 1), rtol=1e-8),
    *(Row(f"special.{n}", with_degrees, grad=False) for n in FAMILIES),
    *(Row(f"special.{n}", lambda rng: (rng.uniform(-1, 1, (3, 4)), 3), tag="number", grad=False)
      for n in FAMILIES),
]  # fmt: skip

ERRORS = [
    *(ErrorRow(n, lambda rng: (np.ones(2, complex),), NotImplementedError, "ComplexDouble")
      for n in ("i0", "special.i1", "special.ndtri", "special.airy_ai")),
    ErrorRow("mvlgamma", lambda rng: (np.ones(2), 0), RuntimeError, "p=0"),
    ErrorRow("special.bessel_j0", lambda rng: ([1.0],), TypeError, "must be Tensor"),
    ErrorRow("igamma", lambda rng: (np.ones(2), np.ones(3)), RuntimeError, "must match"),
]  # fmt: skip
