"""Datasets, samplers and the DataLoader."""

# ruff: noqa: F403 (each module's `__all__` says what it holds)

from wengert.utils.data import collate, dataloader, dataset, sampler
from wengert.utils.data.collate import *
from wengert.utils.data.dataloader import *
from wengert.utils.data.dataset import *
from wengert.utils.data.sampler import *

__all__: list[str] = []
__all__ += collate.__all__
__all__ += dataloader.__all__
__all__ += dataset.__all__
__all__ += sampler.__all__
