"""Switches of PyTorch's compiler of scripts, in ``torch._C``: kept, without effect."""

from __future__ import annotations

from collections.abc import Callable


def _switch(at_first: bool, told: bool = True) -> Callable[[bool], bool | None]:
    """A function that keeps what it is given; `told` is whether it returns what it had before."""
    now = at_first

    def set_switch(on: bool) -> bool | None:
        nonlocal now
        before, now = now, bool(on)
        return before if told else None

    return set_switch


_jit_set_profiling_executor = _switch(True)
_jit_set_profiling_mode = _switch(True)
_jit_set_texpr_fuser_enabled = _switch(True, told=False)
_jit_override_can_fuse_on_cpu = _switch(False, told=False)
_jit_override_can_fuse_on_gpu = _switch(False, told=False)
