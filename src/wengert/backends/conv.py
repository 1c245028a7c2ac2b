"""``wengert.backends.conv``: how convolutions of 3x3 are computed. PyTorch has no such module.

``winograd`` is one of

- ``"off"``: sums of products, as they are defined;
- ``"f2"``: Winograd's F(2x2, 3x3) where it is faster. Its rounding errors are those of plain
  sums, up to 1e-6 of the largest output;
- ``"f4"``: F(4x4, 3x3) where it is faster, with errors up to 6e-6;
- ``"auto"``, the default: F(2x2), and F(4x4) for the gradient of the weights, where its errors
  are up to 2e-6.

It concerns float32. With tiles, an infinity or NaN reaches outputs next to those of its windows.

>>> import wengert
>>> wengert.backends.conv.winograd
'auto'
>>> wengert.backends.conv.winograd = "f3"
Traceback (most recent call last):
    ...
ValueError: backends.conv.winograd: one of 'off', 'f2', 'f4', 'auto' is needed, but got 'f3'
"""

from __future__ import annotations

import sys
from types import ModuleType

from wengert.kernels.conv.route import WINOGRAD_CHOICES, WinogradSetting


class _Switches(ModuleType):
    """A module whose switch is checked."""

    @property
    def winograd(self) -> str:
        """Which of Winograd's ways may be taken."""
        return WinogradSetting.choice

    @winograd.setter
    def winograd(self, value: str) -> None:
        if value not in WINOGRAD_CHOICES:
            choices = ", ".join(map(repr, WINOGRAD_CHOICES))
            raise ValueError(
                f"backends.conv.winograd: one of {choices} is needed, but got {value!r}"
            )
        WinogradSetting.choice = value


sys.modules[__name__].__class__ = _Switches
winograd: str
