"""``torch.jit.annotations``: a number, or several, in annotations."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035 (names that PyTorch passes on)


class _Broadcasting:
    """What annotates an argument that is a number or a list of so many; nothing reads it."""

    def __getitem__(self, types: Any) -> None: ...


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _Broadcasting()

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "List",
    "Optional",
    "Tuple",
]
