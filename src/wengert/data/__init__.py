"""Datasets, samplers and the DataLoader."""

from wengert.data.collate import default_collate as default_collate
from wengert.data.collate import default_convert as default_convert
from wengert.data.dataloader import DataLoader as DataLoader
from wengert.data.dataset import ChainDataset as ChainDataset
from wengert.data.dataset import ConcatDataset as ConcatDataset
from wengert.data.dataset import Dataset as Dataset
from wengert.data.dataset import IterableDataset as IterableDataset
from wengert.data.dataset import StackDataset as StackDataset
from wengert.data.dataset import Subset as Subset
from wengert.data.dataset import TensorDataset as TensorDataset
from wengert.data.dataset import random_split as random_split
from wengert.data.distributed import DistributedSampler as DistributedSampler
from wengert.data.sampler import BatchSampler as BatchSampler
from wengert.data.sampler import RandomSampler as RandomSampler
from wengert.data.sampler import Sampler as Sampler
from wengert.data.sampler import SequentialSampler as SequentialSampler
from wengert.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from wengert.data.sampler import WeightedRandomSampler as WeightedRandomSampler
from wengert.data.worker import get_worker_info as get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
