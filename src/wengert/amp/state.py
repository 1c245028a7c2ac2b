"""What the innermost autocast region of a thread said, by kind of device."""

from __future__ import annotations

import threading

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


def lower_dtype(kind: str) -> dtype_:
    """The dtype that regions for a kind of device ask for."""
    usual = dtypes.bfloat16 if kind in _BFLOAT16 else dtypes.float16
    return state.dtypes.get(kind, usual)
