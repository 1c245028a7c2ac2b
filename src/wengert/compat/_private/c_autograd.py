"""``torch._C._autograd``: the class of saved values, and whether hooks may pack them."""

from __future__ import annotations

from wengert.autograd.saved.packing import saver_stack
from wengert.autograd.saved.values import SavedTensor as SavedTensor


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether `disable_saved_tensors_hooks` is not in effect."""
    return saver_stack.refusal is None


__all__ = ["SavedTensor", "_saved_tensors_hooks_is_enabled"]
