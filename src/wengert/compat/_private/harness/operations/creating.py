"""Functions that make tensors."""

from __future__ import annotations

import wengert
from wengert.compat._private.harness.operations.letters import (
    EVERY,
)
from wengert.compat._private.harness.operations.recipes import T, on, op
from wengert.compat._private.harness.operations.records import OpInfo

CREATING: list[OpInfo] = [
    op(
        "zeros_like",
        EVERY,
        on(T(2, 3)),
        on(T()),
        on(T(2), dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "ones_like",
        EVERY,
        on(T(2, 3)),
        on(T()),
        on(T(2), dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "full_like",
        EVERY,
        on(T(2, 3), 1),
        on(T(), 0),
        on(T(2), 1, dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "new_zeros",
        EVERY,
        on(T(2, 3), (3,)),
        on(T(), (2, 2), dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "new_ones",
        EVERY,
        on(T(2, 3), (3,)),
        on(T(), (2, 2), dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "new_full",
        EVERY,
        on(T(2, 3), (3,), 1),
        on(T(), (2, 2), 1, dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "to",
        EVERY,
        on(T(2, 3), wengert.float64),
        on(T(2), "cpu"),
        on(T(2), wengert.int32),
        no="out",
    ),
    op("zero_", EVERY, on(T(2, 3, grad=False)), on(T(grad=False)), no="out"),
]

__all__ = ["CREATING"]
