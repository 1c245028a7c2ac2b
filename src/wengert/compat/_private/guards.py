"""``torch._guards``: which fake mode counts, as packages ask for it."""

from __future__ import annotations

from typing import Any

from wengert.compat._private.fake_tensors import FakeTensor, FakeTensorMode
from wengert.core.dispatching import dispatching
from wengert.dispatch.calls import leaves


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost fake mode that is on in this thread."""
    on = (mode for mode in reversed(dispatching.modes) if isinstance(mode, FakeTensorMode))
    return next(on, None)


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The fake mode that is on, or that of the fake tensors among `inputs`; None without any.

    AssertionError where there are several.
    """
    active = active_fake_mode()
    modes = [] if active is None else [(active, "the active one")]
    for k, value in enumerate(leaves([*inputs] if isinstance(inputs, tuple) else inputs)):
        if isinstance(value, FakeTensor):
            modes.append((value.fake_mode, f"that of fake tensor input {k}"))
    for mode, which in modes[1:]:
        if mode is not modes[0][0]:
            raise AssertionError(
                f"fake mode ({modes[0][0]}), {modes[0][1]}, doesn't match mode ({mode}), {which}"
            )
    return modes[0][0] if modes else None


__all__ = ["active_fake_mode", "detect_fake_mode"]
