"""``torch.backends.miopen``: its switch can be set and read back."""

from __future__ import annotations

immediate = False
