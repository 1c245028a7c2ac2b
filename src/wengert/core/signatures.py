"""The parameters of user-defined functions."""

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
