"""Functions that make tensors."""

from __future__ import annotations

import wengert
from wengert.compat._private.harness.operations.letters import (
    EVERY,
)
from wengert.compat._private.harness.operations.recipes import T, call, op
from wengert.compat._private.harness.operations.records import OpInfo

CREATING: list[OpInfo] = [
    op(
        "zeros_like",
        EVERY,
        call(T(2, 3)),
        call(T()),
        call(T(2), dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "ones_like",
        EVERY,
        call(T(2, 3)),
        call(T()),
        call(T(2), dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "full_like",
        EVERY,
        call(T(2, 3), 1),
        call(T(), 0),
        call(T(2), 1, dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "new_zeros",
        EVERY,
        call(T(2, 3), (3,)),
        call(T(), (2, 2), dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "new_ones",
        EVERY,
        call(T(2, 3), (3,)),
        call(T(), (2, 2), dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "new_full",
        EVERY,
        call(T(2, 3), (3,), 1),
        call(T(), (2, 2), 1, dtype=wengert.float64),
        no="grad out",
    ),
    op(
        "to",
        EVERY,
        call(T(2, 3), wengert.float64),
        call(T(2), "cpu"),
        call(T(2), wengert.int32),
        no="out",
    ),
    op("zero_", EVERY, call(T(2, 3, grad=False)), call(T(grad=False)), no="out"),
]

__all__ = ["CREATING"]
