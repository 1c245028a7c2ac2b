"""All layers, in modules named as in PyTorch."""

# ruff: noqa: F403 (each module's `__all__` says what it holds)

from typing import TYPE_CHECKING

from wengert.nn.modules import (
    _margin_losses,
    activation,
    adaptive,
    attention,
    batchnorm,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    lazy,
    linear,
    linear_loss,
    loss,
    normalization,
    padding,
    parameters,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
from wengert.nn.modules import utils as utils
from wengert.nn.modules._margin_losses import *
from wengert.nn.modules.activation import *
from wengert.nn.modules.adaptive import *
from wengert.nn.modules.attention import *
from wengert.nn.modules.batchnorm import *
from wengert.nn.modules.container import *
from wengert.nn.modules.conv import *
from wengert.nn.modules.distance import *
from wengert.nn.modules.dropout import *
from wengert.nn.modules.flatten import *
from wengert.nn.modules.fold import *
from wengert.nn.modules.instancenorm import *
from wengert.nn.modules.lazy import *
from wengert.nn.modules.linear import *
from wengert.nn.modules.linear_loss import *
from wengert.nn.modules.loss import *
from wengert.nn.modules.module import Module as Module
from wengert.nn.modules.normalization import *
from wengert.nn.modules.padding import *
from wengert.nn.modules.parameters import *
from wengert.nn.modules.pixelshuffle import *
from wengert.nn.modules.pooling import *
from wengert.nn.modules.rnn import *
from wengert.nn.modules.sparse import *
from wengert.nn.modules.transformer import *
from wengert.nn.modules.upsampling import *

__all__: list[str] = []
if not TYPE_CHECKING:  # type checkers do not follow sums
    __all__ += activation.__all__
    __all__ += adaptive.__all__
    __all__ += attention.__all__
    __all__ += batchnorm.__all__
    __all__ += container.__all__
    __all__ += conv.__all__
    __all__ += distance.__all__
    __all__ += dropout.__all__
    __all__ += flatten.__all__
    __all__ += fold.__all__
    __all__ += instancenorm.__all__
    __all__ += lazy.__all__
    __all__ += linear.__all__
    __all__ += linear_loss.__all__
    __all__ += loss.__all__
    __all__ += _margin_losses.__all__
    __all__ += ["Module"]
    __all__ += normalization.__all__
    __all__ += padding.__all__
    __all__ += parameters.__all__
    __all__ += pixelshuffle.__all__
    __all__ += pooling.__all__
    __all__ += rnn.__all__
    __all__ += sparse.__all__
    __all__ += transformer.__all__
    __all__ += upsampling.__all__
