"""Products in groups against PyTorch's, in the dtypes that it takes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wengert

RNG = np.random.default_rng(0)
A, B, ENDS = RNG.standard_normal((6, 8)), RNG.standard_normal((2, 8, 16)), (2, 6)


def given(library: Any, *shapes: tuple[int, ...], ends: Any = ENDS, **options: Any) -> Any:
    """The product of ones of these shapes."""
    mats = [library.ones(shape) for shape in shapes]
    offs = None if ends is None else library.tensor(ends, dtype=library.int32)
    return library.nn.functional.grouped_mm(*mats, **{"offs": offs, **options})


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_values_and_gradients(torch: Any, dtype: str) -> None:
    found = []
    for library in (wengert, torch):
        leaves = [
            library.from_numpy(x.copy()).to(getattr(library, dtype)).requires_grad_()
            for x in (A, B)
        ]
        ends = library.tensor(ENDS, dtype=library.int32)
        out = library.nn.functional.grouped_mm(*leaves, offs=ends)
        out.backward(library.ones_like(out))
        found.append([x.detach().double().numpy() for x in (out, *(x.grad for x in leaves))])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, *((1e-5, 1e-5) if dtype == "float32" else (2e-2, 2e-2)))


@pytest.mark.torch
@pytest.mark.parametrize(("text", "shapes", "options"), [
    ("Have to provide offsets", ((6, 8), (2, 8, 16)), {"ends": None}),
    ("Have to provide offsets", ((2, 6, 8), (2, 8, 16)), {}),
    ("matrix batch sizes", ((6, 8), (3, 8, 16)), {}),
    ("offs has to be 1D", ((6, 8), (2, 8, 16)), {"ends": [[2, 6]]}),
    ("contraction dimension", ((6, 8), (2, 4, 16)), {}),
    ("batched dimension", ((2, 6, 8), (3, 8, 16)), {"ends": None}),
    ("mat_a has to be 2 or 3d", ((8,), (2, 8, 16)), {}),
    ("mat_b has to be 2 or 3d", ((6, 8), (1, 2, 8, 16)), {}),
    ("output dtype must match", ((6, 8), (2, 8, 16)), {"out_dtype": "float64"}),
])  # fmt: skip
def test_errors(torch: Any, text: str, shapes: Any, options: dict[str, Any]) -> None:
    for library in (wengert, torch):
        found = dict(options)
        if "out_dtype" in found:
            found["out_dtype"] = getattr(library, found["out_dtype"])
        with pytest.raises(RuntimeError, match=text):
            given(library, *shapes, **found)


@pytest.mark.parametrize("ends", [(5, 2), (2, 9), (-1, 6)])
def test_ends_have_to_increase(ends: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match=re.escape(f"at most 6, but got {list(ends)}")):
        given(wengert, (6, 8), (2, 8, 16), ends=ends)


def test_meta_tensors() -> None:
    with wengert.device("meta"):
        assert given(wengert, (6, 8), (2, 8, 3)).shape == (6, 3)
        assert given(wengert, (2, 3, 8), (8, 6)).shape == (3, 6)
        assert given(wengert, (3, 6), (6, 4)).shape == (2, 3, 4)
