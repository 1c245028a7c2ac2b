"""Rows of `wengert.ops.spectrogram`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row

WHOLE = {"return_complex": True}


def signal(*shape, window=4, imaginary=0.0):
    def make(rng):
        x = rng.standard_normal(shape)
        x = x + imaginary * rng.standard_normal(shape) if imaginary else x
        return (x, 4, 2, window, rng.uniform(0.2, 1.0, window))

    return make


def spectra(*shape, n=4, window=4, imaginary=0.0):
    def make(rng):
        z = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
        w = rng.uniform(0.2, 1.0, window)
        w = w + imaginary * rng.standard_normal(window) if imaginary else w
        return (z, n, n // 2, window, w)

    return make


ROWS = [
    Row("stft", signal(9), kwargs=WHOLE),
    Row("stft", signal(2, 9), kwargs=WHOLE | {"normalized": True, "pad_mode": "constant"},
        tag="batch"),
    Row("stft", signal(9, window=3), kwargs=WHOLE | {"center": False, "onesided": False},
        tag="short-window"),
    Row("stft", signal(9, window=2), tag="aligned",
        kwargs=WHOLE | {"center": False, "align_to_window": True}),
    Row("stft", signal(9, imaginary=1j), tag="complex"),
    Row("istft", spectra(3, 5)),
    Row("istft", spectra(2, 3, 5), kwargs={"length": 6, "normalized": True}, tag="length"),
    Row("istft", spectra(4, 5, window=3), kwargs={"onesided": False},
        tag="short-window"),
    Row("istft", spectra(4, 5, imaginary=1j), kwargs=WHOLE, tag="complex"),
]  # fmt: skip


def call(*shape, kind=float, window=4):
    return lambda rng: (np.ones(shape, kind), 4, 2, 4, np.ones(window))


ERRORS = [
    ErrorRow("stft", call(9), RuntimeError, "return_complex"),
    ErrorRow("stft", call(1, 1, 9), RuntimeError, "1D or 2D", WHOLE, "rank"),
    ErrorRow("stft", call(9, kind=int), RuntimeError, "floating point or complex", WHOLE, "int"),
    ErrorRow("stft", call(9, kind=complex), RuntimeError, "onesided", {"onesided": True}, "half"),
    ErrorRow("stft", call(9, window=3), RuntimeError, "window with size", WHOLE, "window"),
    ErrorRow("stft", call(3), RuntimeError, "n_fft <= 3", WHOLE | {"center": False}, "short"),
    ErrorRow("stft", call(9), RuntimeError, "align_to_window", WHOLE | {"align_to_window": True},
             "align"),
    *(ErrorRow(n, lambda rng, n=n, a=a: (np.ones((3, 9) if n == "istft" else 9, complex), *a),
               RuntimeError, match, tag=match)
      for n in ("stft", "istft")
      for a, match in (((0,), "n_fft > 0"), ((4, 0), "hop_length > 0"), ((4, 1, 5), "win_length"))),
    ErrorRow("istft", call(3, 5), RuntimeError, "complex-valued"),
    ErrorRow("istft", call(5, kind=complex), IndexError, "2 or 3 dimensions"),
    ErrorRow("istft", call(3, 0, kind=complex), RuntimeError, "empty"),
    ErrorRow("istft", call(5, 5, kind=complex), RuntimeError, "frequency dimension", tag="rows"),
    ErrorRow("istft", call(3, 5, kind=complex), RuntimeError, "onesided", WHOLE, "whole"),
    ErrorRow("istft", lambda rng: (np.ones((3, 5), complex), 4, 2, 4, np.zeros(4)), RuntimeError,
             "overlap add min", tag="zeros"),
]  # fmt: skip
