"""Neural networks: modules, functions, initialisation."""

# ruff: noqa: F403 (each module's `__all__` says what it holds)

from typing import TYPE_CHECKING

from wengert.nn import functional as functional
from wengert.nn import init as init
from wengert.nn import modules as modules
from wengert.nn import parameter as parameter
from wengert.nn import utils as utils
from wengert.nn.modules import *
from wengert.nn.parameter import *

__all__: list[str] = ["functional", "init", "modules", "parameter", "utils"]
if not TYPE_CHECKING:  # type checkers do not follow sums
    __all__ += modules.__all__
    __all__ += parameter.__all__
