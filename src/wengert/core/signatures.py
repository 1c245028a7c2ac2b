"""The parameters of functions that users wrote."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, without what its annotations say.

    Since Python 3.14 they are evaluated when somebody asks, and may name what does not exist.
    """
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.STRING)
    return inspect.signature(function)
