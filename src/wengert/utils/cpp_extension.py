"""``torch.utils.cpp_extension``: wengert has no C++ interface to build against."""

from __future__ import annotations

from typing import Any, NoReturn

CUDA_HOME: str | None = None

_DOC = """Raises RuntimeError: there is no C++ interface.

>>> from wengert.utils import cpp_extension
>>> try:
...     cpp_extension.{name}()
... except RuntimeError:
...     print("no C++")
no C++
"""


def _refuse(name: str) -> Any:
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise RuntimeError(
            f"torch.utils.cpp_extension.{name}: wengert has no C++ interface, so that extensions"
            " of PyTorch cannot be built for it; write a wengert.autograd.Function on NumPy"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = _DOC.format(name=name)
    return refuse


BuildExtension = _refuse("BuildExtension")
CppExtension = _refuse("CppExtension")
CUDAExtension = _refuse("CUDAExtension")
load = _refuse("load")
load_inline = _refuse("load_inline")
