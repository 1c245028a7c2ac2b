"""Private names of ``torch.nn.modules.module``."""

from __future__ import annotations

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


def _addindent(s_: str, numSpaces: int) -> str:  # noqa: N803 (PyTorch's name)
    """A text with every line but the first moved to the right."""
    return s_.replace("\n", "\n" + " " * numSpaces)


__all__ = ["_EXTRA_STATE_KEY_SUFFIX", "_addindent"]
