"""Plain functions over arrays. They never see a Tensor, and do not check their arguments.

Most operations name the module of their kernels as `kernels.attention.attend`, so that it is
loaded on first use: importing wengert stays fast. Families of several
files are packages: what operations call is in the package itself (`conv`), the compiled loops are
in its `native`, or beside the routes that need them (`conv.direct`, `conv.winograd`). They are
compiled by `jit`.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wengert.kernels import attention as attention
    from wengert.kernels import blocks as blocks
    from wengert.kernels import classification as classification
    from wengert.kernels import complexes as complexes
    from wengert.kernels import conv as conv
    from wengert.kernels import cross as cross
    from wengert.kernels import ctc as ctc
    from wengert.kernels import distance as distance
    from wengert.kernels import distinct as distinct
    from wengert.kernels import filling as filling
    from wengert.kernels import fourier as fourier
    from wengert.kernels import gating as gating
    from wengert.kernels import grid as grid
    from wengert.kernels import halves as halves
    from wengert.kernels import histogram as histogram
    from wengert.kernels import integers as integers
    from wengert.kernels import kron as kron
    from wengert.kernels import limits as limits
    from wengert.kernels import masks as masks
    from wengert.kernels import norm as norm
    from wengert.kernels import normals as normals
    from wengert.kernels import pool as pool
    from wengert.kernels import products as products
    from wengert.kernels import quantiles as quantiles
    from wengert.kernels import ranking as ranking
    from wengert.kernels import recurrent as recurrent
    from wengert.kernels import resample as resample
    from wengert.kernels import sampling as sampling
    from wengert.kernels import scatter as scatter
    from wengert.kernels import scipy_special as scipy_special
    from wengert.kernels import selection as selection
    from wengert.kernels import sliding as sliding
    from wengert.kernels import softmax as softmax
    from wengert.kernels import spacing as spacing
    from wengert.kernels import special as special
    from wengert.kernels import strides as strides
    from wengert.kernels import transposition as transposition
    from wengert.kernels import twister as twister
else:

    def on_first_use(package):
        """A `__getattr__` that loads the modules of a package."""

        def load(name):
            module = f"{package}.{name}"
            try:
                return _import_module(module)
            except ModuleNotFoundError as error:
                if error.name != module:
                    raise
                raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

        return load

    __getattr__ = on_first_use(__name__)
