"""Activation checkpoints: the package `wengert.checkpointing` under PyTorch's name for it."""

from wengert.checkpointing import *
from wengert.checkpointing import __all__ as __all__
