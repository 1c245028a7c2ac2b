"""``import torch`` that gives wengert, so that scripts written for PyTorch run unmodified.

`install()` puts a finder in front of the import system; whether a PyTorch is installed
does not matter, and it is never imported. ``wengert run SCRIPT`` does this for a script.

`_finder.py` answers the import system, with modules from `_alias.py`; `torch_names.py` says which
module of wengert stands for which of torch, and `names.txt` which names PyTorch has there.
`package.py` writes the alias into an environment, `_metadata.py` is what packaging tools read, and
`missing_names.py` words the errors of names that are not there.
"""

from __future__ import annotations

import sys
from typing import Any

from wengert.autograd.engine import compatibility
from wengert.compat import _extensions, _homes, _spawn
from wengert.compat._alias import AliasModule
from wengert.compat._finder import Finder
from wengert.compat._renamed import RenamingFinder
from wengert.compat._theano import HOMES

_finder = Finder()
# Other packages that wengert stands for: their modules are wengert's own, under other names.
_renamed = {
    "horovod": RenamingFinder("horovod", "wengert.horovod", {}),
    "theano": RenamingFinder("theano", "wengert.symbolic", HOMES),
}


def installed(package: str = "torch") -> bool:
    """Whether ``import torch`` (or another package) gives wengert.

    >>> import wengert.compat
    >>> wengert.compat.installed(), wengert.compat.installed("horovod")
    (False, False)
    """
    return _finder_of(package) in sys.meta_path


def _finder_of(package: str) -> Any:
    if package == "torch":
        return _finder
    if package not in _renamed:
        names = ", ".join(map(repr, ["torch", *_renamed]))
        raise ValueError(f"wengert stands for {names}, not for {package!r}")
    return _renamed[package]


def install(package: str = "torch") -> None:
    """Make ``import torch``, and its submodules, resolve to wengert in this process.

    A second backward through released nodes that saved nothing then passes with a warning,
    as it does in PyTorch. Processes that `multiprocessing` starts get the alias too. Raises
    RuntimeError if PyTorch itself has already been imported.

    With ``"horovod"``, ``import horovod.torch`` resolves to `wengert.horovod.torch`; with
    ``"theano"``, ``import theano`` to `wengert.symbolic`.

    >>> import wengert.compat
    >>> wengert.compat.install()
    >>> import torch
    >>> torch.ones(2) + 1
    tensor([2., 2.])
    >>> wengert.compat.uninstall()
    """
    if installed(package):
        return
    real = sys.modules.get(package)
    if real is not None:
        name = "PyTorch" if package == "torch" else package.capitalize()
        flag = "--as theano " if package == "theano" else ""
        raise RuntimeError(
            f"wengert.compat.install(): {name} is already imported, from"
            f" {getattr(real, '__file__', None)}, and objects of it may be in use. Call"
            f" install() before anything imports {package}, or start the script with"
            f" `wengert run {flag}SCRIPT`."
        )
    sys.modules.pop(package, None)  # None there would block the import
    sys.meta_path.insert(0, _finder_of(package))
    _spawn.follow_into_children(package)
    if package == "torch":
        compatibility.lenient = True
        _extensions.explain_errors()


def uninstall(package: str = "torch") -> None:
    """Undo `install()`: the next ``import torch`` looks for a PyTorch again.

    Modules that already hold the alias keep it.

    >>> import wengert.compat
    >>> wengert.compat.uninstall()
    """
    if not installed(package):
        return
    sys.meta_path.remove(_finder_of(package))
    _spawn.stay_out_of_children(package)
    if package != "torch":
        for name in [n for n in sys.modules if n.partition(".")[0] == package]:
            del sys.modules[name]
        return
    for name, module in list(sys.modules.items()):
        if isinstance(module, AliasModule):
            del sys.modules[name]
    compatibility.lenient = False
    _extensions.stop_explaining()
    _homes.move_back()
