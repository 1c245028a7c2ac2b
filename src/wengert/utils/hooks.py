"""``torch.utils.hooks``: what registering a hook returns."""

from wengert.autograd.hooks import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle"]
