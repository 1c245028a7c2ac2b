"""Matrix products: who computes them (BLAS, our own, by contraction), and factorizations.

`gemm` and `matmul` are what operations call; `packed`, `pairs`, `quads` and `vector` are our own
products, `blas` and `openblas` the library that NumPy has; `microkernel` and `tiles` are the
innermost loops, which convolutions share.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wengert.kernels.products import blas as blas
    from wengert.kernels.products import contraction as contraction
    from wengert.kernels.products import factorizations as factorizations
    from wengert.kernels.products import gemm as gemm
    from wengert.kernels.products import matmul as matmul
    from wengert.kernels.products import openblas as openblas
    from wengert.kernels.products import quads as quads
    from wengert.kernels.products import vector as vector
else:
    from wengert.kernels import on_first_use as _on_first_use

    __getattr__ = _on_first_use(__name__)
