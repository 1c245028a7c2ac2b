"""Neural networks: modules, functions, initialisation.

A layer (`modules/`) holds parameters and calls a function of `functional`, which `ops` declares.
`module/` is the base class: registration, calls with hooks, saving. `_forms.py` has the functions
that PyTorch publishes a second time at its root, with other arguments; `utils/` clips, prunes,
parametrizes and packs. Read `module/README.md` first, then `modules/activation.py`.
"""

# ruff: noqa: F403 (each module's `__all__` says what it holds)

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from wengert.nn import attention as attention
from wengert.nn import functional as functional
from wengert.nn import init as init
from wengert.nn import modules as modules
from wengert.nn import parallel as parallel
from wengert.nn import parameter as parameter
from wengert.nn import utils as utils
from wengert.nn._factory import factory_kwargs as factory_kwargs
from wengert.nn.module import optimized as _optimized  # noqa: F401 (says how modules are compiled)
from wengert.nn.modules import *
from wengert.nn.parallel import DataParallel as DataParallel
from wengert.nn.parameter import *

__all__: list[str] = [
    "DataParallel",
    "attention",
    "factory_kwargs",
    "functional",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
]
if not TYPE_CHECKING:  # type checkers do not follow sums
    __all__ += modules.__all__
    __all__ += parameter.__all__


# Loaded when first named.
_LAZY = frozenset({"common_types", "dynamic_quantization", "dynamic_recurrent", "grad"})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
