"""``torch._subclasses.functional_tensor``: tensors without writes; there are none."""

from __future__ import annotations

from typing import Any

from wengert.platform.absences import Absent


class FunctionalTensor(Absent):
    """The type of no tensor."""


def mb_unwrap_functional_tensor(tensor: Any) -> Any:
    """The tensor as it is."""
    return tensor


__all__ = ["FunctionalTensor", "mb_unwrap_functional_tensor"]
