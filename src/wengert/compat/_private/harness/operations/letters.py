"""Groups of dtypes by the letters of `recipes.dtypes_of`."""

from __future__ import annotations

EVERY = "buiswlhgfdcD"
NUMBERS = "uiswlhgfdcD"
REALS_BOOL = "buiswlhgfd"
REALS = "uiswlhgfd"
FLOATS = "hgfd"
FLOATS_COMPLEX = "hgfdcD"
WIDE = "fdcD"
INTEGERS = "uiswl"
INTEGERS_BOOL = "buiswl"
REALS_WIDE = "buiswlfd"
FLOATS_WIDE = "fd"
COMPLEX = "cD"

__all__ = [
    "COMPLEX",
    "EVERY",
    "FLOATS",
    "FLOATS_COMPLEX",
    "FLOATS_WIDE",
    "INTEGERS",
    "INTEGERS_BOOL",
    "NUMBERS",
    "REALS",
    "REALS_BOOL",
    "REALS_WIDE",
    "WIDE",
]
