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


def __getattr__(name: str) -> Any:
    if name in ("common_types", "grad"):  # loaded on first access
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the keyword arguments with which a module should create its tensors.

    Args:
        kwargs: `device`, `dtype`, `memory_format`, and a dict of them under ``factory_kwargs``.

    >>> import wengert
    >>> wengert.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": wengert.float64}})
    {'dtype': torch.float64, 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    names = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - names - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    options = dict(kwargs.get("factory_kwargs", {}))
    for name in ("device", "dtype", "memory_format"):
        if name in kwargs:
            if name in options:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            options[name] = kwargs[name]
    return options
