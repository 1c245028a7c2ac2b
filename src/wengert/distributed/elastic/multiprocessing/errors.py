"""Errors of ranks, as the launcher reports them."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """Tell the launcher of an exception that leaves a function, usually the program's `main`.

    >>> from wengert.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main():
    ...     return 3
    >>> main()
    3
    """

    @wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            _write(error)
            raise

    return recorded


def _write(error: Exception) -> None:
    file = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not file:
        return
    message = {
        "message": f"{type(error).__name__}: {error}",
        "extraInfo": {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))},
    }
    with open(file, "w") as content:
        json.dump({"message": message}, content)


__all__ = ["record"]
