"""Every operation, declared once, by family.

A declaration is a forward over arrays and a rule per input; the result is a function that
takes Tensors, computes, and records a node if an input needs a gradient. Read `README.md`
here first, then a family such as `exponential.py`; `declare.py` has the decorators, `publish.py`
writes the functions.

A family is a module that lists its public names at its end (`__all__`, `FUNCTIONAL`, `METHODS`,
`INPLACE`). Each has one line below.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from wengert.ops import _float8 as _float8
from wengert.ops import numpy_names
from wengert.ops.activation import *
from wengert.ops.adaptive import *
from wengert.ops.arithmetic import *
from wengert.ops.attention import *
from wengert.ops.bessel import *
from wengert.ops.bitwise import *
from wengert.ops.broadcasting import *
from wengert.ops.casting import *
from wengert.ops.classification import *
from wengert.ops.comparison import *
from wengert.ops.complexes import *
from wengert.ops.conv import *
from wengert.ops.ctc import *
from wengert.ops.decompositions import *
from wengert.ops.diagonals import *
from wengert.ops.distance import *
from wengert.ops.dropout import *
from wengert.ops.eigen import *
from wengert.ops.einsum import *
from wengert.ops.embedding import *
from wengert.ops.expansion import *
from wengert.ops.exponential import *
from wengert.ops.extrema import *
from wengert.ops.floating import *
from wengert.ops.fourier import *
from wengert.ops.fractional import *
from wengert.ops.gamma import *
from wengert.ops.gathering import *
from wengert.ops.grid import *
from wengert.ops.grouped import *
from wengert.ops.histogram import *
from wengert.ops.index_writes import *
from wengert.ops.indexed import *
from wengert.ops.interpolate import *
from wengert.ops.joining import *
from wengert.ops.linear import *
from wengert.ops.linear_loss import *
from wengert.ops.loss import *
from wengert.ops.masking import *
from wengert.ops.matmul import *
from wengert.ops.matrix_functions import *
from wengert.ops.multihead import *
from wengert.ops.normalization import *
from wengert.ops.norms import *
from wengert.ops.padding import *
from wengert.ops.pool import *
from wengert.ops.powers import *
from wengert.ops.pseudoinverse import *
from wengert.ops.rectifiers import *
from wengert.ops.recurrent import *
from wengert.ops.reduction import *
from wengert.ops.reflections import *
from wengert.ops.rounding import *
from wengert.ops.scan import *
from wengert.ops.scatter import *
from wengert.ops.shape import *
from wengert.ops.slopes import *
from wengert.ops.softmax import *
from wengert.ops.softmax_variants import *
from wengert.ops.solving import *
from wengert.ops.sort import *
from wengert.ops.special import *
from wengert.ops.spectrogram import *
from wengert.ops.splitting import *
from wengert.ops.statistics import *
from wengert.ops.strided import *
from wengert.ops.subscript import *
from wengert.ops.symmetric import *
from wengert.ops.tensor_products import *
from wengert.ops.triangular_systems import *
from wengert.ops.trigonometry import *
from wengert.ops.vision import *

# From the table of modules: some share the name of a function they define.
FAMILIES: tuple[ModuleType, ...] = tuple(
    module
    for name, module in sorted(sys.modules.items())
    if name.startswith(f"{__name__}.") and hasattr(module, "FUNCTIONAL")
)

numpy_names.take_numpy_names(FAMILIES)

if not TYPE_CHECKING:  # type checkers get the names from the lines above
    __all__ = [name for family in FAMILIES for name in family.__all__]
