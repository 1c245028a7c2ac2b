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
from wengert.compat import _extensions, _homes, _spawn, _theano
from wengert.compat._alias import AliasModule
from wengert.compat._finder import Finder

_finder = Finder()


def installed(package: str = "torch") -> bool:
    """Whether ``import torch`` (or ``import theano``) gives wengert.

    >>> import wengert.compat
    >>> wengert.compat.installed(), wengert.compat.installed("theano")
    (False, False)
    """
    return (_theano.finder if _is_theano(package) else _finder) in sys.meta_path


def _is_theano(package: str) -> bool:
    if package not in ("torch", "theano"):
        raise ValueError(f"wengert stands for 'torch' and for 'theano', not for {package!r}")
    return package == "theano"


def install(package: str = "torch") -> None:
    """Make ``import torch``, and its submodules, resolve to wengert in this process.

    A second backward through released nodes that saved nothing then passes with a warning,
    as it does in PyTorch. Processes that `multiprocessing` starts get the alias too. Raises
    RuntimeError if PyTorch itself has already been imported.

    With ``"theano"``, ``import theano`` resolves to `wengert.symbolic`.

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
        name = "Theano" if package == "theano" else "PyTorch"
        start = "wengert run --as theano SCRIPT" if package == "theano" else "wengert run SCRIPT"
        raise RuntimeError(
            f"wengert.compat.install(): {name} is already imported, from"
            f" {getattr(real, '__file__', None)}, and objects of it may be in use. Call"
            f" install() before anything imports {package}, or start the script with"
            f" `{start}`."
        )
    sys.modules.pop(package, None)  # None there would block the import
    if package == "theano":
        sys.meta_path.insert(0, _theano.finder)
        return
    sys.meta_path.insert(0, _finder)
    compatibility.lenient = True
    _spawn.follow_into_children()
    _extensions.explain()


def uninstall(package: str = "torch") -> None:
    """Undo `install()`: the next ``import torch`` looks for a PyTorch again.

    Modules that already hold the alias keep it.

    >>> import wengert.compat
    >>> wengert.compat.uninstall()
    """
    if not installed(package):
        return
    if package == "theano":
        sys.meta_path.remove(_theano.finder)
        for name in [n for n in sys.modules if n.partition(".")[0] == "theano"]:
            del sys.modules[name]
        return
    sys.meta_path.remove(_finder)
    for name, module in list(sys.modules.items()):
        if isinstance(module, AliasModule):
            del sys.modules[name]
    compatibility.lenient = False
    _spawn.stay_out_of_children()
    _extensions.stop_explaining()
    _homes.move_back()
