"""``torch.backends.xnnpack``: not used."""

from __future__ import annotations

enabled = False
