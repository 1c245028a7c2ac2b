"""``torch.testing._internal.hypothesis_utils``: what tests say of hypothesis before they run."""

from __future__ import annotations

import sys


def assert_deadline_disabled() -> None:
    """Let examples take their time, if the program uses hypothesis."""
    hypothesis = sys.modules.get("hypothesis")
    if hypothesis is not None:
        hypothesis.settings.register_profile("no_deadline", deadline=None)
        hypothesis.settings.load_profile("no_deadline")


__all__ = ["assert_deadline_disabled"]
