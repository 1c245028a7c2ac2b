"""``theano.tensor``: variables that stand for arrays, and functions of them."""

import sys as _sys

from wengert.symbolic import scalar as scal
from wengert.symbolic import sharing as sharedvar
from wengert.symbolic.differentiation import Lop as Lop
from wengert.symbolic.differentiation import Rop as Rop
from wengert.symbolic.differentiation import grad as grad
from wengert.symbolic.differentiation import grad_not_implemented as grad_not_implemented
from wengert.symbolic.differentiation import grad_undefined as grad_undefined
from wengert.symbolic.dtypes import ALL as all_dtypes  # noqa: N811
from wengert.symbolic.dtypes import COMPLEX as complex_dtypes  # noqa: N811
from wengert.symbolic.dtypes import CONTINUOUS as continuous_dtypes  # noqa: N811
from wengert.symbolic.dtypes import DISCRETE as discrete_dtypes  # noqa: N811
from wengert.symbolic.dtypes import FLOATS as float_dtypes  # noqa: N811
from wengert.symbolic.dtypes import INTEGERS as int_dtypes  # noqa: N811
from wengert.symbolic.dtypes import UNSIGNED as uint_dtypes  # noqa: N811
from wengert.symbolic.expressions import advanced as subtensor
from wengert.symbolic.expressions import extra_ops as extra_ops
from wengert.symbolic.expressions import methods as _methods
from wengert.symbolic.expressions import nlinalg as nlinalg
from wengert.symbolic.expressions import slinalg as slinalg
from wengert.symbolic.expressions import type as type
from wengert.symbolic.expressions.advanced import *
from wengert.symbolic.expressions.arithmetic import *
from wengert.symbolic.expressions.arithmetic import CONVERTERS as _converters  # noqa: N811
from wengert.symbolic.expressions.arithmetic import isinf as isinf_
from wengert.symbolic.expressions.arithmetic import isnan as isnan_
from wengert.symbolic.expressions.conversions import *
from wengert.symbolic.expressions.creation import *
from wengert.symbolic.expressions.creation import constructors as _constructors
from wengert.symbolic.expressions.elemwise import CAReduce as CAReduce
from wengert.symbolic.expressions.elemwise import DimShuffle as DimShuffle
from wengert.symbolic.expressions.elemwise import Elemwise as Elemwise
from wengert.symbolic.expressions.elemwise import Rebroadcast as Rebroadcast
from wengert.symbolic.expressions.elemwise import Sum as Sum
from wengert.symbolic.expressions.extra_ops import *
from wengert.symbolic.expressions.extra_ops import Diagonal as ExtractDiag
from wengert.symbolic.expressions.indexing import *
from wengert.symbolic.expressions.products import *
from wengert.symbolic.expressions.products import dot_op as _dot
from wengert.symbolic.expressions.reductions import *
from wengert.symbolic.expressions.shapes import *
from wengert.symbolic.expressions.sorting import *
from wengert.symbolic.expressions.special import *
from wengert.symbolic.expressions.structure import *
from wengert.symbolic.expressions.type import AsTensorError as AsTensorError
from wengert.symbolic.expressions.type import TensorConstant as TensorConstant
from wengert.symbolic.expressions.type import TensorOperators as _tensor_py_operators  # noqa: N813
from wengert.symbolic.expressions.type import TensorType as Tensor
from wengert.symbolic.expressions.type import TensorType as TensorType
from wengert.symbolic.expressions.type import TensorVariable as TensorVariable
from wengert.symbolic.expressions.type import allclose as _allclose
from wengert.symbolic.expressions.type import as_tensor_variable as as_tensor
from wengert.symbolic.expressions.type import as_tensor_variable as as_tensor_variable
from wengert.symbolic.expressions.type import constant as constant
from wengert.symbolic.gof.utils import hashtype as hashtype
from wengert.symbolic.gradient import consider_constant as consider_constant
from wengert.symbolic.gradient import hessian as hessian
from wengert.symbolic.gradient import jacobian as jacobian
from wengert.symbolic.gradient import numeric_grad as numeric_grad
from wengert.symbolic.gradient import verify_grad as verify_grad
from wengert.symbolic.graph import Apply as Apply
from wengert.symbolic.graph import Constant as Constant
from wengert.symbolic.graph import DisconnectedType as DisconnectedType
from wengert.symbolic.graph import Generic as Generic
from wengert.symbolic.graph import Op as Op
from wengert.symbolic.graph import Type as Type
from wengert.symbolic.graph import Variable as Variable
from wengert.symbolic.printing import pprint as pprint
from wengert.symbolic.settings import config as config
from wengert.symbolic.sharing import TensorSharedVariable as TensorSharedVariable
from wengert.symbolic.sharing import tensor_constructor as _shared
from wengert.symbolic.tensor import blas as blas
from wengert.symbolic.tensor import elemwise as elemwise
from wengert.symbolic.tensor import fft as fft
from wengert.symbolic.tensor import inplace as inplace
from wengert.symbolic.tensor import io as io
from wengert.symbolic.tensor import nnet as nnet
from wengert.symbolic.tensor import opt as opt
from wengert.symbolic.tensor import raw_random as raw_random
from wengert.symbolic.tensor import shared_randomstreams as shared_randomstreams
from wengert.symbolic.tensor import signal as signal
from wengert.symbolic.tensor import type_other as type_other
from wengert.symbolic.tensor import utils as utils
from wengert.symbolic.tensor import xlogx as xlogx
from wengert.symbolic.tensor.io import load as load
from wengert.symbolic.tensor.type_other import NoneConst as NoneConst
from wengert.symbolic.tensor.type_other import make_slice as make_slice
from wengert.symbolic.tensor.type_other import slicetype as slicetype

basic = _sys.modules[__name__]
# `dmatrix`, `fvectors`, `tensor4` and their like.
globals().update(_constructors())
globals().update({f"_{name}": f for name, f in _converters.items()})
integer_dtypes = (*int_dtypes, *uint_dtypes)
float16_atol = float16_rtol = 1e-3
float32_atol = float32_rtol = float64_rtol = 1e-5
float64_atol = 1e-8
