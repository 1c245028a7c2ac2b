"""The functions of `torch.nn.functional`, collected from the families of operations."""

from __future__ import annotations

from wengert.ops import FAMILIES

for _family in FAMILIES:
    for _name in _family.FUNCTIONAL:
        globals()[_name] = getattr(_family, _name)
