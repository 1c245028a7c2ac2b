"""Private names of ``torch.nn.modules.module``: its tables of hooks, and how it prints."""

from __future__ import annotations

from wengert.nn.module.tree import registering

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"

_global_buffer_registration_hooks = registering["buffer"]
_global_module_registration_hooks = registering["module"]
_global_parameter_registration_hooks = registering["parameter"]


def _addindent(s_: str, numSpaces: int) -> str:  # noqa: N803 (PyTorch's name)
    """A text with every line but the first moved to the right."""
    return s_.replace("\n", "\n" + " " * numSpaces)


__all__ = [
    "_EXTRA_STATE_KEY_SUFFIX",
    "_addindent",
    "_global_buffer_registration_hooks",
    "_global_module_registration_hooks",
    "_global_parameter_registration_hooks",
]
