"""Every operation, declared once, by family."""

from types import ModuleType

from wengert.ops import (
    activation,
    arithmetic,
    casting,
    comparison,
    complexes,
    conv,
    distance,
    dropout,
    einsum,
    embedding,
    exponential,
    indexing,
    interpolate,
    joining,
    linear,
    loss,
    matmul,
    norm,
    padding,
    pool,
    reduction,
    rounding,
    scan,
    shape,
    softmax,
    sort,
    strided,
    trigonometry,
)
from wengert.ops.activation import *
from wengert.ops.arithmetic import *
from wengert.ops.casting import *
from wengert.ops.comparison import *
from wengert.ops.complexes import *
from wengert.ops.conv import *
from wengert.ops.distance import *
from wengert.ops.dropout import *
from wengert.ops.einsum import *
from wengert.ops.embedding import *
from wengert.ops.exponential import *
from wengert.ops.indexing import *
from wengert.ops.interpolate import *
from wengert.ops.joining import *
from wengert.ops.linear import *
from wengert.ops.loss import *
from wengert.ops.matmul import *
from wengert.ops.norm import *
from wengert.ops.padding import *
from wengert.ops.pool import *
from wengert.ops.reduction import *
from wengert.ops.rounding import *
from wengert.ops.scan import *
from wengert.ops.shape import *
from wengert.ops.softmax import *
from wengert.ops.sort import *
from wengert.ops.strided import *
from wengert.ops.trigonometry import *

FAMILIES: tuple[ModuleType, ...] = (
    activation,
    arithmetic,
    casting,
    comparison,
    complexes,
    conv,
    distance,
    dropout,
    einsum,
    embedding,
    exponential,
    indexing,
    interpolate,
    joining,
    linear,
    loss,
    matmul,
    norm,
    padding,
    pool,
    reduction,
    rounding,
    scan,
    shape,
    softmax,
    sort,
    strided,
    trigonometry,
)

__all__: list[str] = []
__all__ += activation.__all__
__all__ += arithmetic.__all__
__all__ += casting.__all__
__all__ += comparison.__all__
__all__ += complexes.__all__
__all__ += conv.__all__
__all__ += distance.__all__
__all__ += dropout.__all__
__all__ += einsum.__all__
__all__ += embedding.__all__
__all__ += exponential.__all__
__all__ += indexing.__all__
__all__ += interpolate.__all__
__all__ += joining.__all__
__all__ += linear.__all__
__all__ += loss.__all__
__all__ += matmul.__all__
__all__ += norm.__all__
__all__ += padding.__all__
__all__ += pool.__all__
__all__ += reduction.__all__
__all__ += rounding.__all__
__all__ += scan.__all__
__all__ += shape.__all__
__all__ += softmax.__all__
__all__ += sort.__all__
__all__ += strided.__all__
__all__ += trigonometry.__all__
