"""``torch.ops``: the namespaces of operations.

>>> import wengert
>>> from wengert.dispatch import ops
>>> ops.aten.relu(wengert.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

from __future__ import annotations

import os
from typing import NoReturn

from wengert.dispatch.aten import aten as aten
from wengert.dispatch.interception import own
from wengert.dispatch.overloads import OpNamespace, OpOverload, unloaded

_namespaces: dict[str, OpNamespace] = {"aten": aten, "wengert": own}


def namespace(name: str) -> OpNamespace:
    """The namespace of that name, made where there was none."""
    return _namespaces.setdefault(name, OpNamespace(name))


def __getattr__(name: str) -> OpNamespace:
    if name[:2] == "__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return namespace(name)


def overload_of(qualname: str) -> OpOverload | None:
    """The overload of ``namespace::name`` or ``namespace::name.overload``; None without one."""
    home, _, name = qualname.partition("::")
    name, _, overload = name.partition(".")
    packet = namespace(home).find(name)
    return None if packet is None else packet._overloads.get(overload or "default")


def load_library(path: str) -> NoReturn:
    """Raises OSError: libraries of operations are built against PyTorch's C++ library.

    >>> from wengert.dispatch import ops
    >>> ops.load_library("/site-packages/vision/_C.so")
    Traceback (most recent call last):
        ...
    OSError: torch.ops.load_library('/site-packages/vision/_C.so'): this is compiled code for ...
    """
    package = os.path.dirname(str(path)).removesuffix(f"{os.sep}lib")
    unloaded[os.path.basename(package)] = str(path)
    raise OSError(
        f"torch.ops.load_library({path!r}): this is compiled code for PyTorch's C++ library, which"
        " wengert does not have; use the package's Python implementation, if it has one (some take"
        " it where the file is not there)"
    )
