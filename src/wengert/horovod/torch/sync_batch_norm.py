"""Batch normalization over the batches of all ranks: `nn.SyncBatchNorm`."""

from wengert.nn import SyncBatchNorm as SyncBatchNorm
