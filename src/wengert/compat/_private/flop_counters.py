"""``torch.utils.flop_counter``: named by packages that may count, and do so rarely."""

from __future__ import annotations

from typing import Any


class FlopCounterMode:
    """May be made, not entered: `graph.describe` counts instead."""

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        self.depth, self.display = depth, display

    def __enter__(self) -> FlopCounterMode:
        raise NotImplementedError(
            "FlopCounterMode: operations are not counted while they run; graph.describe(loss) says"
            " how many floating-point operations are behind a tensor"
        )

    def __exit__(self, *exception: object) -> None: ...

    def get_total_flops(self) -> int:
        """0: nothing has been counted."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Empty: nothing has been counted."""
        return {}


__all__ = ["FlopCounterMode"]
