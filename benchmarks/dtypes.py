"""Memory-bound loops in each dtype, beside torch: elementwise, rows, columns, copies.

    python benchmarks/dtypes.py

Forwards alone, on all cores, in turns; microseconds of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from _measure import Row, calls_compared, in_clean_process, shown

import wengert

FLOATS = ("float32", "float64", "float16", "bfloat16")
DTYPES = (*FLOATS, "int64", "int32")
SIZES = (1_000, 30_000, 1_000_000)
SECONDS = 0.002  # a turn
Call = Callable[[], Any]


def calls(lib: Any, dtype: str, size: int) -> Iterator[tuple[str, Call]]:
    """Calls on a matrix of about `size` elements."""
    kind = getattr(lib, dtype)
    shape = (max(1, size // 256), 256)
    a, b = ((lib.rand(shape) * 100).to(kind) + 1 for _ in range(2))
    row = b[0].clone()
    yield "a + b", lambda: a + b
    yield "a * 2", lambda: a * 2
    yield "a + row", lambda: a + row
    yield "a > b", lambda: a > b
    yield "where", lambda: lib.where(a > 50, a, b)
    yield "a.clone()", lambda: a.clone()
    yield "a += b", lambda: a.__iadd__(b)
    yield "a.sum()", lambda: a.sum()
    yield "a.sum(0)", lambda: a.sum(0)
    yield "a.sum(1)", lambda: a.sum(1)
    yield "a.amax(1)", lambda: a.amax(1)
    yield "abs", lambda: a.abs()
    if dtype in FLOATS:
        yield "relu", lambda: lib.relu(a)
        yield "exp", lambda: lib.exp(a)
        yield "tanh", lambda: lib.tanh(a)
        yield "gelu", lambda: lib.nn.functional.gelu(a)
        yield "sigmoid", lambda: lib.sigmoid(a)
        yield "softmax", lambda: lib.softmax(a, -1)
        yield "layer_norm", lambda: lib.nn.functional.layer_norm(a, (256,))
        yield "to float32", lambda: a.to(lib.float32)


def measure() -> list[Row]:
    """All calls of all dtypes and sizes."""
    return [
        shown(calls_compared(f"{dtype}, {size:,}: {name}", ours, theirs, SECONDS, rounds=5))
        for size in SIZES
        for dtype in DTYPES
        for (name, ours), (_, theirs) in zip(
            calls(wengert, dtype, size), calls(torch, dtype, size), strict=True
        )
    ]


if __name__ == "__main__":
    in_clean_process(__file__, measure)
