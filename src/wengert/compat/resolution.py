"""What a dotted name of torch leads to, under the alias."""

from __future__ import annotations

from typing import Any, NamedTuple

from wengert.compat import torch_names
from wengert.compat._alias import AliasModule, natives_of

_OF_ANY_MODULE = ("__all__", "__class__", "__dict__", "__path__", "__spec__")


class Resolution(NamedTuple):
    """A name as far as it leads: `path` is what is there, or the part that is not.

    >>> from wengert.compat.resolution import resolve
    >>> resolve("torch.onnx.export").path
    'torch.onnx'
    """

    path: str
    value: Any
    exists: bool
    in_pytorch: bool  # as far as that is listed


def resolve(path: str) -> Resolution:
    """Follow a dotted name that begins with torch; attributes of objects are not followed.

    Only wengert's own modules are imported.

    >>> from wengert.compat.resolution import resolve
    >>> resolve("torch.nn.functional.relu").exists
    True
    """
    root, *names = path.split(".")
    value: Any = AliasModule(root, natives_of(root))
    walked = root
    for name in names:
        below = f"{walked}.{name}"
        if not isinstance(value, AliasModule):
            if isinstance(value, type) and not hasattr(value, name):
                return Resolution(below, None, False, True)
            if not isinstance(value, type):  # of an object: settings, which have any attribute
                return Resolution(walked, value, True, True)
        following = _following(value, below, name)
        if following is None:
            return Resolution(below, None, False, torch_names.is_pytorchs(below))
        (value,) = following
        walked = below
    return Resolution(walked, value, True, True)


def _following(value: Any, below: str, name: str) -> tuple[Any] | None:
    """What comes after a name, in a tuple; None if nothing does."""
    if not isinstance(value, AliasModule):
        return (getattr(value, name),)
    if name in vars(value) or name in _OF_ANY_MODULE:
        return (vars(value).get(name),)
    if not value.__names__.is_module(name):
        try:
            own = value.look_up(name)
        except ImportError:  # there, for those who have what it needs
            return (None,)
        if own is not None:
            return own
    natives = natives_of(below)
    return (AliasModule(below, natives),) if natives else None
