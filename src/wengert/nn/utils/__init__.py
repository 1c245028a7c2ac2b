"""Helpers for parameters and their gradients."""

# ruff: noqa: F403 (each module's `__all__` says what it holds)

from typing import TYPE_CHECKING

from wengert.nn.utils import (
    clip_grad,
    convert_parameters,
    fusion,
    init,
    memory_format,
    parametrizations,
    parametrize,
    prune,
    rnn,
    stateless,
)
from wengert.nn.utils.clip_grad import *
from wengert.nn.utils.convert_parameters import *
from wengert.nn.utils.fusion import *
from wengert.nn.utils.init import *
from wengert.nn.utils.memory_format import *
from wengert.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from wengert.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__: list[str] = [
    "parametrizations", "parametrize", "prune", "remove_spectral_norm", "remove_weight_norm",
    "rnn", "spectral_norm", "stateless", "weight_norm",
]  # fmt: skip
if not TYPE_CHECKING:  # type checkers do not follow sums
    __all__ += clip_grad.__all__
    __all__ += convert_parameters.__all__
    __all__ += fusion.__all__
    __all__ += init.__all__
    __all__ += memory_format.__all__
