"""What the innermost autocast region of a thread said, by kind of device."""

from __future__ import annotations

import threading
from typing import Any

from wengert.core import dtypes
from wengert.core.dtypes import dtype as dtype_
from wengert.core.tensor import thread_states

_BFLOAT16 = frozenset({"cpu", "xla", "hpu"})  # those whose autocast means bfloat16


class _State(threading.local):
    """The settings of a thread.

    Attributes:
        enabled: whether a region is on.
        dtypes: the dtype that it asks for.
        cache: whether it asks for a cache of casts.
        casting: a function is running whose arguments have been converted.
    """

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, dtype_] = {}
        self.cache = True
        self.casting = False


state = _State()
thread_states.append(state)


def settings() -> tuple[Any, ...]:
    """What operations and regions of this thread go by; equal where they do the same."""
    on = [kind for kind, enabled in state.enabled.items() if enabled]
    unusual = [one for one in state.dtypes.items() if one[1] is not _usual_dtype(one[0])]
    return state.cache, frozenset(on), frozenset(unusual)


def lower_dtype(kind: str) -> dtype_:
    """The dtype that regions for a kind of device ask for."""
    return state.dtypes.get(kind) or _usual_dtype(kind)


def _usual_dtype(kind: str) -> dtype_:
    return dtypes.bfloat16 if kind in _BFLOAT16 else dtypes.float16
