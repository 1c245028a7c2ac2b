"""Windows: those of the top level and of `signal.windows`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.signal import windows

OLD = {
    "bartlett_window": [()],
    "blackman_window": [()],
    "hamming_window": [(), (0.6,), (0.6, 0.3)],
    "hann_window": [()],
    "kaiser_window": [(), (3.0,)],
}
NEW: dict[str, list[dict[str, Any]]] = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 2.5}, {"sym": False, "center": 1.5}],
    "gaussian": [{}, {"std": 0.7}],
    "general_cosine": [{"a": [0.5, 0.3, 0.1]}],
    "general_hamming": [{}, {"alpha": 0.7}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 3.0}],
    "nuttall": [{}],
}


def agree(ours: Any, theirs: Any, dtype: str) -> None:
    assert str(ours.dtype) == str(theirs.dtype)
    tolerance = 1e-15 if dtype == "float64" else 3e-7
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-13, atol=tolerance * 20)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OLD)
def test_windows_of_the_top_level(name: str, dtype: str, torch: Any) -> None:
    for length in (0, 1, 2, 5, 8):
        for periodic in (False, True):
            for args in OLD[name]:
                found = [
                    getattr(library, name)(length, periodic, *args, dtype=getattr(library, dtype))
                    for library in (wengert, torch)
                ]
                agree(*found, dtype)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NEW)
def test_windows_of_signal(name: str, dtype: str, torch: Any) -> None:
    for length in (0, 1, 2, 5, 8):
        for sym in (False, True):
            for options in NEW[name]:
                if length == 1 and "center" in options:  # one weight is 1 here, in any case
                    continue
                found = [
                    getattr(library.signal.windows, name)(
                        length, **({"sym": sym, "dtype": getattr(library, dtype)} | options)
                    )
                    for library in (wengert, torch)
                ]
                agree(*found, dtype)


def test_options_of_new_tensors() -> None:
    assert wengert.hann_window(3, dtype=wengert.bfloat16).dtype is wengert.bfloat16
    assert wengert.hann_window(3, requires_grad=True).requires_grad
    assert windows.hann(3, requires_grad=True).is_leaf


@pytest.mark.parametrize(
    ("length", "options", "error", "match"),
    [
        (-1, {}, RuntimeError, "window_length=-1"),
        (2.0, {}, TypeError, "must be int, not float"),
        (3, {"dtype": wengert.int64}, RuntimeError, "torch.int64"),
        (3, {"dtype": wengert.complex64}, NotImplementedError, "ComplexFloat"),
    ],
)
def test_refusals_of_the_top_level(length: Any, options: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        wengert.hann_window(length, **options)


@pytest.mark.parametrize(
    ("name", "args", "options", "error", "match"),
    [
        ("hann", (-1,), {}, ValueError, "M=-1"),
        ("hann", (2.0,), {}, TypeError, "must be int, not float"),
        ("hann", (3,), {"dtype": wengert.float16}, ValueError, "torch.float16"),
        ("exponential", (3,), {"tau": -1}, ValueError, "got: -1"),
        ("exponential", (3,), {"center": 1.0}, ValueError, "center=1.0"),
        ("gaussian", (3,), {"std": 0}, ValueError, "got: 0"),
        ("kaiser", (3,), {"beta": -1}, ValueError, "got: -1"),
        ("general_cosine", (3,), {"a": []}, ValueError, "empty"),
        ("general_cosine", (3,), {"a": 1}, TypeError, "a=1"),
    ],
)
def test_refusals_of_signal(name: str, args: Any, options: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        getattr(windows, name)(*args, **options)
