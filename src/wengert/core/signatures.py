"""Signatures of functions, and what the values that they save are called."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, without evaluating its annotations.

    Since Python 3.14 they are evaluated lazily, and may name things that do not exist.
    """
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.STRING)
    return inspect.signature(function)


def saved_name(inputs: list[str], slot: str) -> str:
    """What PyTorch calls the value in a slot: the first input `self`, the output `result`."""
    name = slot.removeprefix("s_")
    owner = name.removesuffix("_shape")
    if owner in inputs:
        first = "self" if owner == inputs[0] else owner
        return first if owner == name else f"{first}_sym_sizes"
    return "result" if name == "out" else name
