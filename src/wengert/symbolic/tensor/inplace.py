"""``theano.tensor.inplace``: ``exp_inplace`` and its like.

What is computed in place is decided when a function is compiled; these give the plain operations.
"""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions import arithmetic, special, structure

transpose_inplace = structure.transpose
_SUFFIX = "_inplace"


def __getattr__(name: str) -> Any:
    plain = name.removesuffix(_SUFFIX).rstrip("_") if name.endswith(_SUFFIX) else ""
    for form in (plain, f"{plain}_"):
        for home in (arithmetic, special):
            if plain and hasattr(home, form):
                return getattr(home, form)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
