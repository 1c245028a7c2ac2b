"""``torch.utils.data.datapipes.iter``: the short names of pipes."""

from __future__ import annotations

from wengert.compat._private.pipes.shuffled import ShufflerIterDataPipe as Shuffler

__all__ = ["Shuffler"]
