"""Every operation, declared once, by family."""

from types import ModuleType
from typing import TYPE_CHECKING

# Under other names: some modules are called as the function that they define.
import wengert.ops.activation as activation_ops
import wengert.ops.adaptive as adaptive_ops
import wengert.ops.arithmetic as arithmetic_ops
import wengert.ops.attention as attention_ops
import wengert.ops.bessel as bessel_ops
import wengert.ops.bitwise as bitwise_ops
import wengert.ops.casting as casting_ops
import wengert.ops.classification as classification_ops
import wengert.ops.comparison as comparison_ops
import wengert.ops.complexes as complexes_ops
import wengert.ops.conv as conv_ops
import wengert.ops.ctc as ctc_ops
import wengert.ops.decompositions as decompositions_ops
import wengert.ops.distance as distance_ops
import wengert.ops.dropout as dropout_ops
import wengert.ops.eigen as eigen_ops
import wengert.ops.einsum as einsum_ops
import wengert.ops.embedding as embedding_ops
import wengert.ops.expansion as expansion_ops
import wengert.ops.exponential as exponential_ops
import wengert.ops.extrema as extrema_ops
import wengert.ops.floating as floating_ops
import wengert.ops.fourier as fourier_ops
import wengert.ops.fractional as fractional_ops
import wengert.ops.functional_softmax as functional_softmax_ops
import wengert.ops.gamma as gamma_ops
import wengert.ops.grid as grid_ops
import wengert.ops.histogram as histogram_ops
import wengert.ops.indexing as indexing_ops
import wengert.ops.interpolate as interpolate_ops
import wengert.ops.joining as joining_ops
import wengert.ops.linear as linear_ops
import wengert.ops.loss as loss_ops
import wengert.ops.matmul as matmul_ops
import wengert.ops.matrix_functions as matrix_functions_ops
import wengert.ops.multihead as multihead_ops
import wengert.ops.norm as norm_ops
import wengert.ops.padding as padding_ops
import wengert.ops.pool as pool_ops
import wengert.ops.powers as powers_ops
import wengert.ops.pseudoinverse as pseudoinverse_ops
import wengert.ops.rectifiers as rectifiers_ops
import wengert.ops.recurrent as recurrent_ops
import wengert.ops.reduction as reduction_ops
import wengert.ops.replacement as replacement_ops
import wengert.ops.rounding as rounding_ops
import wengert.ops.scan as scan_ops
import wengert.ops.scatter as scatter_ops
import wengert.ops.selection as selection_ops
import wengert.ops.shape as shape_ops
import wengert.ops.slopes as slopes_ops
import wengert.ops.softmax as softmax_ops
import wengert.ops.solving as solving_ops
import wengert.ops.sort as sort_ops
import wengert.ops.special as special_ops
import wengert.ops.spectrogram as spectrogram_ops
import wengert.ops.splitting as splitting_ops
import wengert.ops.statistics as statistics_ops
import wengert.ops.strided as strided_ops
import wengert.ops.subscript as subscript_ops
import wengert.ops.tensor_products as tensor_products_ops
import wengert.ops.triangle as triangle_ops
import wengert.ops.triangular as triangular_ops
import wengert.ops.trigonometry as trigonometry_ops
import wengert.ops.vision as vision_ops
from wengert.ops import _numpy_names
from wengert.ops.activation import *
from wengert.ops.adaptive import *
from wengert.ops.arithmetic import *
from wengert.ops.attention import *
from wengert.ops.bessel import *
from wengert.ops.bitwise import *
from wengert.ops.casting import *
from wengert.ops.classification import *
from wengert.ops.comparison import *
from wengert.ops.complexes import *
from wengert.ops.conv import *
from wengert.ops.ctc import *
from wengert.ops.decompositions import *
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
from wengert.ops.functional_softmax import *
from wengert.ops.gamma import *
from wengert.ops.grid import *
from wengert.ops.histogram import *
from wengert.ops.indexing import *
from wengert.ops.interpolate import *
from wengert.ops.joining import *
from wengert.ops.linear import *
from wengert.ops.loss import *
from wengert.ops.matmul import *
from wengert.ops.matrix_functions import *
from wengert.ops.multihead import *
from wengert.ops.norm import *
from wengert.ops.padding import *
from wengert.ops.pool import *
from wengert.ops.powers import *
from wengert.ops.pseudoinverse import *
from wengert.ops.rectifiers import *
from wengert.ops.recurrent import *
from wengert.ops.reduction import *
from wengert.ops.replacement import *
from wengert.ops.rounding import *
from wengert.ops.scan import *
from wengert.ops.scatter import *
from wengert.ops.selection import *
from wengert.ops.shape import *
from wengert.ops.slopes import *
from wengert.ops.softmax import *
from wengert.ops.solving import *
from wengert.ops.sort import *
from wengert.ops.special import *
from wengert.ops.spectrogram import *
from wengert.ops.splitting import *
from wengert.ops.statistics import *
from wengert.ops.strided import *
from wengert.ops.subscript import *
from wengert.ops.tensor_products import *
from wengert.ops.triangle import *
from wengert.ops.triangular import *
from wengert.ops.trigonometry import *
from wengert.ops.vision import *

FAMILIES: tuple[ModuleType, ...] = (
    activation_ops,
    adaptive_ops,
    arithmetic_ops,
    attention_ops,
    bessel_ops,
    bitwise_ops,
    casting_ops,
    classification_ops,
    comparison_ops,
    complexes_ops,
    conv_ops,
    ctc_ops,
    decompositions_ops,
    distance_ops,
    dropout_ops,
    eigen_ops,
    einsum_ops,
    embedding_ops,
    expansion_ops,
    exponential_ops,
    extrema_ops,
    fractional_ops,
    floating_ops,
    fourier_ops,
    functional_softmax_ops,
    gamma_ops,
    grid_ops,
    histogram_ops,
    indexing_ops,
    interpolate_ops,
    joining_ops,
    linear_ops,
    loss_ops,
    matmul_ops,
    matrix_functions_ops,
    multihead_ops,
    norm_ops,
    padding_ops,
    pool_ops,
    powers_ops,
    pseudoinverse_ops,
    rectifiers_ops,
    recurrent_ops,
    reduction_ops,
    replacement_ops,
    rounding_ops,
    scan_ops,
    scatter_ops,
    selection_ops,
    shape_ops,
    slopes_ops,
    softmax_ops,
    solving_ops,
    sort_ops,
    special_ops,
    spectrogram_ops,
    splitting_ops,
    statistics_ops,
    strided_ops,
    subscript_ops,
    tensor_products_ops,
    triangle_ops,
    triangular_ops,
    trigonometry_ops,
    vision_ops,
)

_numpy_names.rename(FAMILIES)

__all__: list[str] = []
if not TYPE_CHECKING:  # type checkers do not follow sums
    __all__ += activation_ops.__all__
    __all__ += adaptive_ops.__all__
    __all__ += arithmetic_ops.__all__
    __all__ += attention_ops.__all__
    __all__ += bessel_ops.__all__
    __all__ += bitwise_ops.__all__
    __all__ += casting_ops.__all__
    __all__ += classification_ops.__all__
    __all__ += comparison_ops.__all__
    __all__ += complexes_ops.__all__
    __all__ += conv_ops.__all__
    __all__ += ctc_ops.__all__
    __all__ += decompositions_ops.__all__
    __all__ += distance_ops.__all__
    __all__ += dropout_ops.__all__
    __all__ += eigen_ops.__all__
    __all__ += einsum_ops.__all__
    __all__ += embedding_ops.__all__
    __all__ += expansion_ops.__all__
    __all__ += exponential_ops.__all__
    __all__ += extrema_ops.__all__
    __all__ += fractional_ops.__all__
    __all__ += floating_ops.__all__
    __all__ += fourier_ops.__all__
    __all__ += functional_softmax_ops.__all__
    __all__ += gamma_ops.__all__
    __all__ += grid_ops.__all__
    __all__ += histogram_ops.__all__
    __all__ += indexing_ops.__all__
    __all__ += interpolate_ops.__all__
    __all__ += joining_ops.__all__
    __all__ += linear_ops.__all__
    __all__ += loss_ops.__all__
    __all__ += matmul_ops.__all__
    __all__ += matrix_functions_ops.__all__
    __all__ += multihead_ops.__all__
    __all__ += norm_ops.__all__
    __all__ += padding_ops.__all__
    __all__ += pool_ops.__all__
    __all__ += powers_ops.__all__
    __all__ += pseudoinverse_ops.__all__
    __all__ += rectifiers_ops.__all__
    __all__ += recurrent_ops.__all__
    __all__ += reduction_ops.__all__
    __all__ += replacement_ops.__all__
    __all__ += rounding_ops.__all__
    __all__ += scan_ops.__all__
    __all__ += scatter_ops.__all__
    __all__ += selection_ops.__all__
    __all__ += shape_ops.__all__
    __all__ += slopes_ops.__all__
    __all__ += softmax_ops.__all__
    __all__ += solving_ops.__all__
    __all__ += sort_ops.__all__
    __all__ += special_ops.__all__
    __all__ += spectrogram_ops.__all__
    __all__ += splitting_ops.__all__
    __all__ += statistics_ops.__all__
    __all__ += strided_ops.__all__
    __all__ += subscript_ops.__all__
    __all__ += tensor_products_ops.__all__
    __all__ += triangle_ops.__all__
    __all__ += triangular_ops.__all__
    __all__ += trigonometry_ops.__all__
    __all__ += vision_ops.__all__
