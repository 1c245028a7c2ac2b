"""Plain functions over arrays. They never see a Tensor, and they check nothing.

Most operations name the module of their kernels as `kernels.attention.attend`, so that it is
loaded by the first call that needs it: an import of wengert alone stays short.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wengert.kernels import attention as attention
    from wengert.kernels import classification as classification
    from wengert.kernels import contraction as contraction
    from wengert.kernels import conv as conv
    from wengert.kernels import factorizations as factorizations
    from wengert.kernels import fourier as fourier
    from wengert.kernels import grid as grid
    from wengert.kernels import pool as pool
    from wengert.kernels import quantiles as quantiles
    from wengert.kernels import recurrent as recurrent
    from wengert.kernels import recurrent_steps as recurrent_steps
    from wengert.kernels import resample as resample
    from wengert.kernels import scipy_special as scipy_special
else:

    def __getattr__(name):
        module = f"{__name__}.{name}"
        try:
            return _import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
