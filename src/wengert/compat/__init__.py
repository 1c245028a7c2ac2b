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

from wengert.autograd.engine import compatibility
from wengert.compat import _extensions, _homes, _spawn
from wengert.compat._alias import AliasModule
from wengert.compat._finder import Finder

_finder = Finder()


def installed() -> bool:
    """Whether ``import torch`` gives wengert.

    >>> import wengert.compat
    >>> wengert.compat.installed()
    False
    """
    return _finder in sys.meta_path


def install() -> None:
    """Make ``import torch``, and its submodules, resolve to wengert in this process.

    A second backward through released nodes that saved nothing then passes with a warning,
    as it does in PyTorch. Processes that `multiprocessing` starts get the alias too. Raises
    RuntimeError if PyTorch itself has already been imported.

    >>> import wengert.compat
    >>> wengert.compat.install()
    >>> import torch
    >>> torch.ones(2) + 1
    tensor([2., 2.])
    >>> wengert.compat.uninstall()
    """
    if installed():
        return
    real = sys.modules.get("torch")
    if real is not None:
        raise RuntimeError(
            "wengert.compat.install(): PyTorch is already imported, from"
            f" {getattr(real, '__file__', None)}, and objects of it may be in use. Call"
            " install() before anything imports torch, or start the script with"
            " `wengert run SCRIPT`."
        )
    sys.modules.pop("torch", None)  # None there would block the import
    sys.meta_path.insert(0, _finder)
    compatibility.lenient = True
    _spawn.follow_into_children()
    _extensions.explain()


def uninstall() -> None:
    """Undo `install()`: the next ``import torch`` looks for a PyTorch again.

    Modules that already hold the alias keep it.

    >>> import wengert.compat
    >>> wengert.compat.uninstall()
    """
    if not installed():
        return
    sys.meta_path.remove(_finder)
    for name, module in list(sys.modules.items()):
        if isinstance(module, AliasModule):
            del sys.modules[name]
    compatibility.lenient = False
    _spawn.stay_out_of_children()
    _extensions.stop_explaining()
    _homes.move_back()
