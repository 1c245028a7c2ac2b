"""Datasets, samplers and the DataLoader."""

# ruff: noqa: F403 (each module's `__all__` says what it holds)

from wengert.utils.data import collate as collate
from wengert.utils.data import dataloader, dataset, distributed, sampler
from wengert.utils.data import worker as worker
from wengert.utils.data.collate import default_collate as default_collate
from wengert.utils.data.collate import default_convert as default_convert
from wengert.utils.data.dataloader import *
from wengert.utils.data.dataset import *
from wengert.utils.data.distributed import *
from wengert.utils.data.sampler import *
from wengert.utils.data.worker import get_worker_info as get_worker_info

__all__: list[str] = ["default_collate", "default_convert", "get_worker_info"]
__all__ += dataloader.__all__
__all__ += dataset.__all__
__all__ += distributed.__all__
__all__ += sampler.__all__
