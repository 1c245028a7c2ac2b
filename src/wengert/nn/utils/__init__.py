"""Helpers for parameters and their gradients."""

# ruff: noqa: F403 (each module's `__all__` says what it holds)

from wengert.nn.utils import clip_grad, convert_parameters
from wengert.nn.utils import rnn as rnn
from wengert.nn.utils.clip_grad import *
from wengert.nn.utils.convert_parameters import *

__all__: list[str] = []
__all__ += clip_grad.__all__
__all__ += convert_parameters.__all__
