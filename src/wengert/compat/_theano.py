"""``import theano`` that gives `wengert.symbolic`: the same modules, by both names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object

_ROOT = "wengert.symbolic"
# What stands for a module of theano, where it is not the one of the same name.
_HOMES = {
    "theano.configdefaults": "settings",
    "theano.configparser": "settings",
    "theano.scalar": "dtypes",
    "theano.scalar.basic": "dtypes",
    "theano.updates": "updates",
    "theano.gof": "graph",
    "theano.gof.graph": "graph",
    "theano.gof.op": "graph",
    "theano.gof.type": "graph",
    "theano.scan_module": "scanning",
    "theano.scan_module.scan_utils": "scanning",
    "theano.scan_module.until": "scanning",
    "theano.compile.mode": "modes",
    "theano.compile.debugmode": "modes",
    "theano.compile.nanguardmode": "modes",
    "theano.compile.monitormode": "modes",
    "theano.compile.sharedvalue": "sharing",
    "theano.compile.io": "functions",
    "theano.compile.function": "functions",
    "theano.compile.function_module": "functions",
    "theano.compile.pfunc": "functions",
    "theano.compile.ops": "program_ops",
    "theano.compile.builders": "program_ops",
    "theano.tensor.basic": "tensor",
    "theano.tensor.var": "expressions.type",
    "theano.tensor.type": "expressions.type",
    "theano.tensor.elemwise": "expressions.elemwise",
    "theano.tensor.subtensor": "expressions.indexing",
    "theano.tensor.sharedvar": "sharing",
    "theano.tensor.extra_ops": "expressions.extra_ops",
    "theano.tensor.sort": "expressions.sorting",
    "theano.tensor.nlinalg": "expressions.nlinalg",
    "theano.tensor.slinalg": "expressions.nlinalg",
    "theano.tensor.raw_random": "sampling",
    "theano.tensor.nnet.nnet": "expressions.activations",
    "theano.tensor.nnet.sigm": "expressions.activations",
    "theano.tensor.nnet.conv": "tensor.nnet.abstract_conv",
    "theano.tensor.signal.downsample": "tensor.signal.pool",
    "theano.sandbox.linalg": "expressions.nlinalg",
    "theano.sandbox.linalg.ops": "expressions.nlinalg",
    "theano.tensor.randomstreams": "tensor.shared_randomstreams",
    "theano.sandbox.softsign": "expressions.activations",
}


def target_of(name: str) -> str:
    """The module of wengert that stands for a module of theano."""
    home = _HOMES.get(name)
    return f"{_ROOT}.{home}" if home else name.replace("theano", _ROOT, 1)


class TheanoFinder(MetaPathFinder):
    """Answers for ``theano`` and everything below it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec whose loader gives the module of wengert; an ImportError for one it lacks."""
        if fullname.partition(".")[0] != "theano":
            return None
        name = target_of(fullname)
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not (name + ".").startswith(error.name + "."):
                raise
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: wengert.symbolic has no such part of Theano",
                name=name,
            ) from None
        return ModuleSpec(fullname, _Loader(module), origin=name, is_package=True)


class _Loader(Loader):
    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put wengert's own module under the name of theano's."""
        sys.modules[module.__name__] = self.module


finder = TheanoFinder()
