"""Rows of `wengert.fft` and `wengert.ops.fourier`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs


def complexes(*shape):
    return lambda rng: (rng.standard_normal(shape) + 1j * rng.standard_normal(shape),)


REAL_INPUT = ("rfft", "ihfft")
COMPLEX_INPUT = ("fft", "ifft", "irfft", "hfft")
ONE = (*REAL_INPUT, *COMPLEX_INPUT)
FROM_REAL = [*ONE, *(f"{n}{k}" for n in ONE for k in "2n")]
FROM_COMPLEX = [n for n in FROM_REAL if not n.startswith(REAL_INPUT)]

ROWS = [
    *(Row(f"fft.{n}", inputs((3, 4, 5))) for n in FROM_REAL),
    *(Row(f"fft.{n}", complexes(3, 4, 5), tag="complex") for n in FROM_COMPLEX),
    *(Row(f"fft.{n}", inputs((5, 3, 4)), kwargs={"dim": 0, "norm": "ortho"}, tag="first")
      for n in ONE),
    *(Row(f"fft.{n}", inputs((5,)), kwargs={"n": 3, "norm": "forward"}, tag="cut") for n in ONE),
    *(Row(f"fft.{n}", inputs((2, 3)), kwargs={"n": 6}, tag="padded") for n in ONE),
    *(Row(f"fft.{n}n", inputs((3, 4, 5)), kwargs={"s": (5, -1), "dim": (2, 0)}, tag="sizes")
      for n in ONE),
    *(Row(f"fft.{n}n", inputs((3, 4)), kwargs={"s": (3,), "norm": "ortho"}, tag="last")
      for n in ONE),
    *(Row(f"fft.{n}2", inputs((3, 4, 5)), kwargs={"norm": "forward"}, tag="forward")
      for n in ONE),
    *(Row(f"fft.{n}", lambda rng: (rng.standard_normal((6, 4)).T,), tag="transposed") for n in ONE),
    # The result is float32 or complex64.
    *(Row(f"fft.{n}", lambda rng: (np.arange(6),), tag="int", grad=False, rtol=1e-6, atol=1e-6)
      for n in ONE),
    Row("fft.fftn", inputs((2, 3)), kwargs={"dim": ()}, tag="none", grad=False),
    *(Row(f"fft.{n}", inputs((3, 4))) for n in ("fftshift", "ifftshift")),
    *(Row(f"fft.{n}", inputs((3, 5)), kwargs={"dim": 1}, tag="dim")
      for n in ("fftshift", "ifftshift")),
    *(Row(f"fft.{n}", lambda rng, k=k: (k, 0.3), kwargs={"dtype": "torch.float64"}, tag=str(k),
          grad=False, dtypes=())
      for n in ("fftfreq", "rfftfreq") for k in (0, 1, 4, 5)),
]  # fmt: skip

ERRORS = [
    *(ErrorRow(f"fft.{n}", inputs((3, 4)), RuntimeError, r"points \(0\)", {"n": 0}, "points")
      for n in ONE),
    ErrorRow("fft.irfft", inputs((1,)), RuntimeError, r"points \(0\)"),
    ErrorRow("fft.fft", inputs((3,)), RuntimeError, '"x"; fft_fft', {"norm": "x"}, "norm"),
    ErrorRow("fft.fft", inputs((3,)), TypeError, "'norm' must be str", {"norm": 3}),
    ErrorRow("fft.fft", inputs(()), IndexError, "no dimensions"),
    ErrorRow("fft.fft", inputs((3, 4)), IndexError, "out of range", {"dim": 2}, "dim"),
    ErrorRow("fft.fft", lambda rng: ([1.0],), TypeError, "must be Tensor"),
    ErrorRow("fft.fft", lambda rng: (np.ones(2, "f2"),), RuntimeError, "Unsupported dtype Half"),
    *(ErrorRow(f"fft.{n}", complexes(3, 4), RuntimeError, "real input tensor", tag="complex")
      for n in ("rfft", "rfftn", "ihfft")),
    *(ErrorRow(f"fft.{n}n", inputs((3, 4)), RuntimeError, "unique", {"dim": (0, -2)}, "unique")
      for n in ONE),
    *(ErrorRow(f"fft.{n}n", inputs((3, 4)), RuntimeError, "at least one", {"dim": ()}, "none")
      for n in ("rfft", "irfft", "hfft", "ihfft")),
    ErrorRow("fft.fftn", inputs((3, 4)), RuntimeError, "3 values", {"s": (2, 2, 2)}, "values"),
    ErrorRow("fft.fft2", inputs((3, 4)), RuntimeError, "same length", {"s": (2,)}, "length"),
    ErrorRow("fft.fft2", inputs((3,)), IndexError, "out of range"),
    ErrorRow("fft.fftn", inputs(()), IndexError, "no dimensions", {"dim": 0}),
    ErrorRow("fft.fftshift", inputs((3, 4)), IndexError, "out of range", {"dim": 2}),
    ErrorRow("fft.fftfreq", lambda rng: (-1,), RuntimeError, "negative dimension"),
    ErrorRow("fft.fftfreq", lambda rng: (2.5,), TypeError, "must be int"),
]  # fmt: skip
