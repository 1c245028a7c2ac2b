"""How results lie in memory, beside torch, for inputs of several layouts.

Strides are seen by programs: `view()` works or not, `reshape()` and `contiguous()` copy or not, and
a write to what they return reaches the result or does not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import wengert
from tests.ops import calls
from tests.ops.each import each
from tests.ops.rows import Row, all_rows

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::UserWarning"),  # torch's of itself
]


def turned(array: np.ndarray) -> np.ndarray:
    """With the first dimension innermost."""
    return np.asfortranarray(array)


def last(array: np.ndarray) -> np.ndarray:
    """With the second dimension innermost, as in images whose channels come last."""
    return np.moveaxis(np.moveaxis(array, 1, -1).copy(), -1, 1) if array.ndim > 2 else array.copy()


def repeated(array: np.ndarray) -> np.ndarray:
    """The first slice over and over."""
    return as_strided(array.copy(), array.shape, (0, *array.strides[1:])) if array.size else array


def apart(array: np.ndarray) -> np.ndarray:
    """With a gap behind each row, in the order of `turned`."""
    wide = np.zeros(tuple(n + 1 for n in array.shape[::-1]), array.dtype).T
    part = wide[tuple(slice(n) for n in array.shape)]
    part[...] = array
    return part


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "turned": turned, "last": last, "repeated": repeated, "apart": apart,
}  # fmt: skip
# Results of Fourier transforms lie as the library likes that torch was built with.
OF_THE_BUILD = ("fft.", "stft", "istft")
# What lies otherwise, and in which layouts of the inputs.
OTHERWISE = {
    "diagonal_scatter": ("apart",),  # torch keeps the gaps of its input
    "as_strided_scatter": tuple(LAYOUTS),  # looks at all of the memory of its input
    "linalg.lstsq": tuple(LAYOUTS),  # torch: the upper part of a longer matrix
    "linalg.cond": ("repeated",),  # no result for a singular matrix
    "nn.functional.grouped_mm": tuple(LAYOUTS),  # torch's takes no doubles: its row is an einsum
    "einsum": ("apart",),  # torch: as strides of dimensions of length 1 have it
}


def laid_out(value: Any, layout: Callable[[np.ndarray], np.ndarray], first_only: bool) -> Any:
    """Arguments with their arrays, or the first of them, in another layout."""
    seen = 0

    def moved(v: Any) -> Any:
        nonlocal seen
        if isinstance(v, np.ndarray):
            seen += 1
            return layout(v) if v.ndim > 1 and not (first_only and seen > 1) else v
        return type(v)(moved(x) for x in v) if type(v) in (list, tuple) else v

    return moved(value)


def strides(result: Any) -> list[Any]:
    """Shapes and strides of the tensors of a result; those of single elements say nothing."""
    return [
        (tuple(t.shape), [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1])
        for t in calls.outputs(result)
        if hasattr(t, "stride") and t.numel()
    ]


@each(r for r in all_rows() if not r.name.endswith("_") and not r.name.startswith(OF_THE_BUILD))
def test_results_lie_as_torchs(row: Row, torch: Any) -> None:
    args = row.make(calls.rng_of(row))
    for name, layout in LAYOUTS.items():
        if name in OTHERWISE.get(row.name, ()):
            continue
        for first_only in (False, True):
            given = laid_out(args, layout, first_only)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    theirs, _ = calls.call(torch, row, given, grad=False, copied=False)
                except (RuntimeError, NotImplementedError, ValueError, IndexError):
                    continue  # repeated elements are not always what a function takes
            ours, _ = calls.call(wengert, row, given, grad=False, copied=False)
            assert strides(ours) == strides(theirs), (name, first_only)


# What kernels compute of large arrays.
LARGE: dict[str, Callable[[Any, Any], Any]] = {
    "argmax": lambda lib, t: t.argmax(0),
    "max": lambda lib, t: t.max(0),
    "sort": lambda lib, t: t.sort(1),
    "cumsum": lambda lib, t: t.cumsum(0),
    "nansum": lambda lib, t: t.nansum(1),
    "norm": lambda lib, t: t.norm(dim=1),
    "unique": lambda lib, t: lib.unique(t, dim=1),
    "unique_consecutive": lambda lib, t: lib.unique_consecutive(t, dim=1),
    "exp": lambda lib, t: t.exp(),
    "lgamma": lambda lib, t: t.lgamma(),
    "floor_divide": lambda lib, t: t // 0.3,
    "ndtr": lambda lib, t: lib.special.ndtr(t),
    "bfloat16": lambda lib, t: t.bfloat16(),
    "exp of bfloat16": lambda lib, t: t.bfloat16().exp(),
    "scatter_add": lambda lib, t: t.scatter_add(0, lib.zeros(t.shape, dtype=lib.int64), t),
    "index_add": lambda lib, t: t.index_add(0, lib.arange(t.shape[0]), t),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(32, 20, 24), (100, 90)])
def test_results_of_kernels_lie_as_torchs(
    name: str, layout: str, shape: tuple[int, ...], torch: Any
) -> None:
    values = np.random.default_rng(0).random(shape, np.float32)
    array = LAYOUTS[layout](values)
    ours, theirs = (LARGE[name](lib, lib.from_numpy(array)) for lib in (wengert, torch))
    assert strides(ours) == strides(theirs)
