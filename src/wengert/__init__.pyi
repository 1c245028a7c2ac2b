# Where the names of the package are defined, for type checkers. Written by tools/stubs.py: do not
# edit.

__version__: str
abs_ = Tensor.abs_
acos_ = Tensor.acos_
acosh_ = Tensor.acosh_
addmv_ = Tensor.addmv_
arccos_ = Tensor.arccos_
arccosh_ = Tensor.arccosh_
arcsin_ = Tensor.arcsin_
arcsinh_ = Tensor.arcsinh_
arctan_ = Tensor.arctan_
arctanh_ = Tensor.arctanh_
as_strided_ = Tensor.as_strided_
asin_ = Tensor.asin_
asinh_ = Tensor.asinh_
atan_ = Tensor.atan_
atanh_ = Tensor.atanh_
ceil_ = Tensor.ceil_
clamp_ = Tensor.clamp_
clamp_max_ = Tensor.clamp_max_
clamp_min_ = Tensor.clamp_min_
clip_ = Tensor.clip_
conj_physical_ = Tensor.conj_physical_
cos_ = Tensor.cos_
cosh_ = Tensor.cosh_
deg2rad_ = Tensor.deg2rad_
erf_ = Tensor.erf_
erfc_ = Tensor.erfc_
exp2_ = Tensor.exp2_
exp_ = Tensor.exp_
expm1_ = Tensor.expm1_
fix_ = Tensor.fix_
floor_ = Tensor.floor_
frac_ = Tensor.frac_
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from wengert import accelerator as accelerator
from wengert import amp as amp
from wengert import autograd as autograd
from wengert import backends as backends
from wengert import checkpointing as checkpointing
from wengert import cli as cli
from wengert import compat as compat
from wengert import compiler as compiler
from wengert import core as core
from wengert import cpu as cpu
from wengert import cuda as cuda
from wengert import data as data
from wengert import dispatch as dispatch
from wengert import distributed as distributed
from wengert import distributions as distributions
from wengert import export as export
from wengert import fft as fft
from wengert import func as func
from wengert import fx as fx
from wengert import graph as graph
from wengert import horovod as horovod
from wengert import hub as hub
from wengert import jit as jit
from wengert import kernels as kernels
from wengert import library as library
from wengert import linalg as linalg
from wengert import masked as masked
from wengert import meta as meta
from wengert import mps as mps
from wengert import multiprocessing as multiprocessing
from wengert import nested as nested
from wengert import nn as nn
from wengert import onnx as onnx
from wengert import ops as ops
from wengert import optim as optim
from wengert import overrides as overrides
from wengert import platform as platform
from wengert import profiler as profiler
from wengert import quasirandom as quasirandom
from wengert import random as random
from wengert import replay as replay
from wengert import return_types as return_types
from wengert import serialization as serialization
from wengert import signal as signal
from wengert import sparse as sparse
from wengert import special as special
from wengert import symbolic as symbolic
from wengert import testing as testing
from wengert import types as types
from wengert import utils as utils
from wengert import version as version
from wengert import xpu as xpu
from wengert.amp.autocast_mode import autocast as autocast
from wengert.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from wengert.amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from wengert.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from wengert.amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from wengert.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from wengert.amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from wengert.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from wengert.amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from wengert.amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from wengert.amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from wengert.amp.grad_scaler import GradScaler as GradScaler
from wengert.autograd import enable_grad as enable_grad
from wengert.autograd import inference_mode as inference_mode
from wengert.autograd import is_grad_enabled as is_grad_enabled
from wengert.autograd import is_inference_mode_enabled as is_inference_mode_enabled
from wengert.autograd import no_grad as no_grad
from wengert.autograd import set_grad_enabled as set_grad_enabled
from wengert.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from wengert.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from wengert.autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from wengert.autograd.transforms.control_flow import cond as cond
from wengert.autograd.transforms.control_flow import while_loop as while_loop
from wengert.autograd.transforms.vmap import vmap as vmap
from wengert.compiler import compile as compile
from wengert.core.device import OutOfMemoryError as OutOfMemoryError
from wengert.core.device import device as device
from wengert.core.dtypes import bfloat16 as bfloat16
from wengert.core.dtypes import bool_ as _bool_
bool = _bool_
from wengert.core.dtypes import can_cast as can_cast
from wengert.core.dtypes import complex128 as _complex128
cdouble = _complex128
from wengert.core.dtypes import complex128 as complex128
from wengert.core.dtypes import complex32 as _complex32
chalf = _complex32
from wengert.core.dtypes import complex32 as complex32
from wengert.core.dtypes import complex64 as _complex64
cfloat = _complex64
from wengert.core.dtypes import complex64 as complex64
from wengert.core.dtypes import dtype as dtype
from wengert.core.dtypes import float16 as _float16
half = _float16
from wengert.core.dtypes import float16 as float16
from wengert.core.dtypes import float32 as _float32
float = _float32
from wengert.core.dtypes import float32 as float32
from wengert.core.dtypes import float64 as _float64
double = _float64
from wengert.core.dtypes import float64 as float64
from wengert.core.dtypes import float8_e4m3fn as float8_e4m3fn
from wengert.core.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from wengert.core.dtypes import float8_e5m2 as float8_e5m2
from wengert.core.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from wengert.core.dtypes import float8_e8m0fnu as float8_e8m0fnu
from wengert.core.dtypes import get_default_dtype as get_default_dtype
from wengert.core.dtypes import int16 as _int16
short = _int16
from wengert.core.dtypes import int16 as int16
from wengert.core.dtypes import int32 as _int32
int = _int32
from wengert.core.dtypes import int32 as int32
from wengert.core.dtypes import int64 as _int64
long = _int64
from wengert.core.dtypes import int64 as int64
from wengert.core.dtypes import int8 as int8
from wengert.core.dtypes import promote_types as promote_types
from wengert.core.dtypes import set_default_dtype as set_default_dtype
from wengert.core.dtypes import uint16 as uint16
from wengert.core.dtypes import uint32 as uint32
from wengert.core.dtypes import uint64 as uint64
from wengert.core.dtypes import uint8 as uint8
from wengert.core.generators import Generator as Generator
from wengert.core.generators import default_generator as default_generator
from wengert.core.info import finfo as finfo
from wengert.core.info import iinfo as iinfo
from wengert.core.layout import channels_last as channels_last
from wengert.core.layout import channels_last_3d as channels_last_3d
from wengert.core.layout import contiguous_format as contiguous_format
from wengert.core.layout import jagged as jagged
from wengert.core.layout import layout as layout
from wengert.core.layout import memory_format as memory_format
from wengert.core.layout import preserve_format as preserve_format
from wengert.core.layout import sparse_bsc as sparse_bsc
from wengert.core.layout import sparse_bsr as sparse_bsr
from wengert.core.layout import sparse_coo as sparse_coo
from wengert.core.layout import sparse_csc as sparse_csc
from wengert.core.layout import sparse_csr as sparse_csr
from wengert.core.layout import strided as strided
from wengert.core.overriding import DisableTorchFunction as DisableTorchFunction
from wengert.core.overriding import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from wengert.core.size import Size as Size
from wengert.core.tensor import Tensor as Tensor
from wengert.core.tracebacks import load_ipython_extension as load_ipython_extension
from wengert.core.tracebacks import unload_ipython_extension as unload_ipython_extension
from wengert.dispatch.computed import convolution as convolution
from wengert.dispatch.computed import native_layer_norm as native_layer_norm
from wengert.nn._forms import adaptive_max_pool1d as adaptive_max_pool1d
from wengert.nn._forms import alpha_dropout as alpha_dropout
from wengert.nn._forms import alpha_dropout_ as alpha_dropout_
from wengert.nn._forms import batch_norm as batch_norm
from wengert.nn._forms import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from wengert.nn._forms import constant_pad_nd as constant_pad_nd
from wengert.nn._forms import conv_tbc as conv_tbc
from wengert.nn._forms import cosine_embedding_loss as cosine_embedding_loss
from wengert.nn._forms import ctc_loss as ctc_loss
from wengert.nn._forms import dropout as dropout
from wengert.nn._forms import dropout_ as dropout_
from wengert.nn._forms import embedding as embedding
from wengert.nn._forms import embedding_renorm_ as embedding_renorm_
from wengert.nn._forms import feature_alpha_dropout as feature_alpha_dropout
from wengert.nn._forms import feature_alpha_dropout_ as feature_alpha_dropout_
from wengert.nn._forms import feature_dropout as feature_dropout
from wengert.nn._forms import feature_dropout_ as feature_dropout_
from wengert.nn._forms import grid_sampler as grid_sampler
from wengert.nn._forms import group_norm as group_norm
from wengert.nn._forms import hinge_embedding_loss as hinge_embedding_loss
from wengert.nn._forms import instance_norm as instance_norm
from wengert.nn._forms import kl_div as kl_div
from wengert.nn._forms import layer_norm as layer_norm
from wengert.nn._forms import margin_ranking_loss as margin_ranking_loss
from wengert.nn._forms import norm_except_dim as norm_except_dim
from wengert.nn._forms import poisson_nll_loss as poisson_nll_loss
from wengert.nn._forms import triplet_margin_loss as triplet_margin_loss
from wengert.nn._native_forms import frobenius_norm as frobenius_norm
from wengert.nn._native_forms import native_batch_norm as native_batch_norm
from wengert.nn._native_forms import native_channel_shuffle as native_channel_shuffle
from wengert.nn._native_forms import native_dropout as native_dropout
from wengert.nn._native_forms import native_group_norm as native_group_norm
from wengert.nn._native_forms import nuclear_norm as nuclear_norm
from wengert.nn.module.tree import typename as typename
from wengert.ops.activation import hardshrink as hardshrink
from wengert.ops.adaptive import adaptive_avg_pool1d as adaptive_avg_pool1d
from wengert.ops.arithmetic import abs as abs
from wengert.ops.arithmetic import absolute as absolute
from wengert.ops.arithmetic import add as add
from wengert.ops.arithmetic import addcdiv as addcdiv
from wengert.ops.arithmetic import addcmul as addcmul
from wengert.ops.arithmetic import div as div
from wengert.ops.arithmetic import divide as divide
from wengert.ops.arithmetic import floor_divide as floor_divide
from wengert.ops.arithmetic import fmod as fmod
from wengert.ops.arithmetic import lerp as lerp
from wengert.ops.arithmetic import mul as mul
from wengert.ops.arithmetic import multiply as multiply
from wengert.ops.arithmetic import neg as neg
from wengert.ops.arithmetic import negative as negative
from wengert.ops.arithmetic import positive as positive
from wengert.ops.arithmetic import reciprocal as reciprocal
from wengert.ops.arithmetic import remainder as remainder
from wengert.ops.arithmetic import rsub as rsub
from wengert.ops.arithmetic import sub as sub
from wengert.ops.arithmetic import subtract as subtract
from wengert.ops.arithmetic import true_divide as true_divide
from wengert.ops.bessel import i0 as i0
from wengert.ops.bitwise import bitwise_and as bitwise_and
from wengert.ops.bitwise import bitwise_left_shift as bitwise_left_shift
from wengert.ops.bitwise import bitwise_not as bitwise_not
from wengert.ops.bitwise import bitwise_or as bitwise_or
from wengert.ops.bitwise import bitwise_right_shift as bitwise_right_shift
from wengert.ops.bitwise import bitwise_xor as bitwise_xor
from wengert.ops.bitwise import gcd as gcd
from wengert.ops.bitwise import lcm as lcm
from wengert.ops.broadcasting import broadcast_shapes as broadcast_shapes
from wengert.ops.broadcasting import broadcast_tensors as broadcast_tensors
from wengert.ops.broadcasting import broadcast_to as broadcast_to
from wengert.ops.comparison import allclose as allclose
from wengert.ops.comparison import eq as eq
from wengert.ops.comparison import equal as equal
from wengert.ops.comparison import ge as ge
from wengert.ops.comparison import greater as greater
from wengert.ops.comparison import greater_equal as greater_equal
from wengert.ops.comparison import gt as gt
from wengert.ops.comparison import isclose as isclose
from wengert.ops.comparison import isfinite as isfinite
from wengert.ops.comparison import isinf as isinf
from wengert.ops.comparison import isnan as isnan
from wengert.ops.comparison import isneginf as isneginf
from wengert.ops.comparison import isposinf as isposinf
from wengert.ops.comparison import isreal as isreal
from wengert.ops.comparison import le as le
from wengert.ops.comparison import less as less
from wengert.ops.comparison import less_equal as less_equal
from wengert.ops.comparison import logical_and as logical_and
from wengert.ops.comparison import logical_not as logical_not
from wengert.ops.comparison import logical_or as logical_or
from wengert.ops.comparison import logical_xor as logical_xor
from wengert.ops.comparison import lt as lt
from wengert.ops.comparison import ne as ne
from wengert.ops.comparison import not_equal as not_equal
from wengert.ops.comparison import signbit as signbit
from wengert.ops.complexes import adjoint as adjoint
from wengert.ops.complexes import angle as angle
from wengert.ops.complexes import complex as complex
from wengert.ops.complexes import conj as conj
from wengert.ops.complexes import conj_physical as conj_physical
from wengert.ops.complexes import imag as imag
from wengert.ops.complexes import is_complex as is_complex
from wengert.ops.complexes import is_floating_point as is_floating_point
from wengert.ops.complexes import real as real
from wengert.ops.complexes import resolve_conj as resolve_conj
from wengert.ops.complexes import view_as_complex as view_as_complex
from wengert.ops.complexes import view_as_real as view_as_real
from wengert.ops.conv import conv1d as conv1d
from wengert.ops.conv import conv2d as conv2d
from wengert.ops.conv import conv3d as conv3d
from wengert.ops.conv import conv_transpose1d as conv_transpose1d
from wengert.ops.conv import conv_transpose2d as conv_transpose2d
from wengert.ops.conv import conv_transpose3d as conv_transpose3d
from wengert.ops.decompositions import cholesky as cholesky
from wengert.ops.decompositions import geqrf as geqrf
from wengert.ops.decompositions import lu_unpack as lu_unpack
from wengert.ops.decompositions import qr as qr
from wengert.ops.decompositions import svd as svd
from wengert.ops.diagonals import diag as diag
from wengert.ops.diagonals import diag_embed as diag_embed
from wengert.ops.diagonals import diagflat as diagflat
from wengert.ops.diagonals import diagonal as diagonal
from wengert.ops.diagonals import tril as tril
from wengert.ops.diagonals import tril_indices as tril_indices
from wengert.ops.diagonals import triu as triu
from wengert.ops.diagonals import triu_indices as triu_indices
from wengert.ops.distance import cdist as cdist
from wengert.ops.distance import cosine_similarity as cosine_similarity
from wengert.ops.distance import pairwise_distance as pairwise_distance
from wengert.ops.distance import pdist as pdist
from wengert.ops.einsum import einsum as einsum
from wengert.ops.expansion import cartesian_prod as cartesian_prod
from wengert.ops.expansion import combinations as combinations
from wengert.ops.expansion import flip as flip
from wengert.ops.expansion import fliplr as fliplr
from wengert.ops.expansion import flipud as flipud
from wengert.ops.expansion import meshgrid as meshgrid
from wengert.ops.expansion import repeat_interleave as repeat_interleave
from wengert.ops.expansion import roll as roll
from wengert.ops.expansion import rot90 as rot90
from wengert.ops.expansion import tile as tile
from wengert.ops.exponential import exp as exp
from wengert.ops.exponential import exp2 as exp2
from wengert.ops.exponential import expm1 as expm1
from wengert.ops.exponential import log as log
from wengert.ops.exponential import log10 as log10
from wengert.ops.exponential import log1p as log1p
from wengert.ops.exponential import log2 as log2
from wengert.ops.exponential import logaddexp as logaddexp
from wengert.ops.exponential import logaddexp2 as logaddexp2
from wengert.ops.exponential import logit as logit
from wengert.ops.exponential import sigmoid as sigmoid
from wengert.ops.exponential import xlogy as xlogy
from wengert.ops.extrema import amax as amax
from wengert.ops.extrema import amin as amin
from wengert.ops.extrema import aminmax as aminmax
from wengert.ops.extrema import argmax as argmax
from wengert.ops.extrema import argmin as argmin
from wengert.ops.extrema import max as max
from wengert.ops.extrema import min as min
from wengert.ops.floating import frexp as frexp
from wengert.ops.floating import nextafter as nextafter
from wengert.ops.gamma import igamma as igamma
from wengert.ops.gamma import igammac as igammac
from wengert.ops.gamma import mvlgamma as mvlgamma
from wengert.ops.gathering import argwhere as argwhere
from wengert.ops.gathering import gather as gather
from wengert.ops.gathering import index_select as index_select
from wengert.ops.gathering import masked_select as masked_select
from wengert.ops.gathering import nonzero as nonzero
from wengert.ops.gathering import nonzero_static as nonzero_static
from wengert.ops.gathering import take as take
from wengert.ops.gathering import take_along_dim as take_along_dim
from wengert.ops.gathering import unravel_index as unravel_index
from wengert.ops.histogram import histogram as histogram
from wengert.ops.histogram import histogramdd as histogramdd
from wengert.ops.index_writes import diagonal_scatter as diagonal_scatter
from wengert.ops.index_writes import index_add as index_add
from wengert.ops.index_writes import index_copy as index_copy
from wengert.ops.index_writes import index_fill as index_fill
from wengert.ops.index_writes import index_put as index_put
from wengert.ops.index_writes import index_reduce as index_reduce
from wengert.ops.index_writes import masked_scatter as masked_scatter
from wengert.ops.index_writes import put as put
from wengert.ops.joining import block_diag as block_diag
from wengert.ops.joining import cat as cat
from wengert.ops.joining import column_stack as column_stack
from wengert.ops.joining import concat as concat
from wengert.ops.joining import concatenate as concatenate
from wengert.ops.joining import dstack as dstack
from wengert.ops.joining import hstack as hstack
from wengert.ops.joining import row_stack as row_stack
from wengert.ops.joining import stack as stack
from wengert.ops.joining import vstack as vstack
from wengert.ops.linear import bilinear as bilinear
from wengert.ops.masking import clamp as clamp
from wengert.ops.masking import clamp_max as clamp_max
from wengert.ops.masking import clamp_min as clamp_min
from wengert.ops.masking import clip as clip
from wengert.ops.masking import fmax as fmax
from wengert.ops.masking import fmin as fmin
from wengert.ops.masking import masked_fill as masked_fill
from wengert.ops.masking import maximum as maximum
from wengert.ops.masking import minimum as minimum
from wengert.ops.masking import nan_to_num as nan_to_num
from wengert.ops.masking import where as where
from wengert.ops.matmul import addbmm as addbmm
from wengert.ops.matmul import addmm as addmm
from wengert.ops.matmul import addmv as addmv
from wengert.ops.matmul import baddbmm as baddbmm
from wengert.ops.matmul import bmm as bmm
from wengert.ops.matmul import dot as dot
from wengert.ops.matmul import ger as ger
from wengert.ops.matmul import matmul as matmul
from wengert.ops.matmul import mm as mm
from wengert.ops.matmul import mv as mv
from wengert.ops.matmul import outer as outer
from wengert.ops.matmul import vdot as vdot
from wengert.ops.matrix_functions import chain_matmul as chain_matmul
from wengert.ops.matrix_functions import matrix_exp as matrix_exp
from wengert.ops.matrix_functions import matrix_power as matrix_power
from wengert.ops.matrix_functions import renorm as renorm
from wengert.ops.normalization import rms_norm as rms_norm
from wengert.ops.norms import dist as dist
from wengert.ops.norms import norm as norm
from wengert.ops.pool import avg_pool1d as avg_pool1d
from wengert.ops.pool import max_pool1d as max_pool1d
from wengert.ops.pool import max_pool1d_with_indices as max_pool1d_with_indices
from wengert.ops.pool import max_pool2d as max_pool2d
from wengert.ops.pool import max_pool3d as max_pool3d
from wengert.ops.powers import float_power as float_power
from wengert.ops.powers import hypot as hypot
from wengert.ops.powers import ldexp as ldexp
from wengert.ops.powers import pow as pow
from wengert.ops.powers import rsqrt as rsqrt
from wengert.ops.powers import sqrt as sqrt
from wengert.ops.powers import square as square
from wengert.ops.pseudoinverse import pinverse as pinverse
from wengert.ops.rectifiers import celu as celu
from wengert.ops.rectifiers import celu_ as celu_
from wengert.ops.rectifiers import prelu as prelu
from wengert.ops.rectifiers import relu as relu
from wengert.ops.rectifiers import rrelu as rrelu
from wengert.ops.rectifiers import rrelu_ as rrelu_
from wengert.ops.rectifiers import selu as selu
from wengert.ops.rectifiers import selu_ as selu_
from wengert.ops.rectifiers import threshold as threshold
from wengert.ops.rectifiers import threshold_ as threshold_
from wengert.ops.recurrent import gru as gru
from wengert.ops.recurrent import gru_cell as gru_cell
from wengert.ops.recurrent import lstm as lstm
from wengert.ops.recurrent import lstm_cell as lstm_cell
from wengert.ops.recurrent import rnn_relu as rnn_relu
from wengert.ops.recurrent import rnn_relu_cell as rnn_relu_cell
from wengert.ops.recurrent import rnn_tanh as rnn_tanh
from wengert.ops.recurrent import rnn_tanh_cell as rnn_tanh_cell
from wengert.ops.reduction import all as all
from wengert.ops.reduction import any as any
from wengert.ops.reduction import count_nonzero as count_nonzero
from wengert.ops.reduction import hash_tensor as hash_tensor
from wengert.ops.reduction import mean as mean
from wengert.ops.reduction import nanmean as nanmean
from wengert.ops.reduction import nansum as nansum
from wengert.ops.reduction import prod as prod
from wengert.ops.reduction import sum as sum
from wengert.ops.reflections import orgqr as orgqr
from wengert.ops.reflections import ormqr as ormqr
from wengert.ops.rounding import ceil as ceil
from wengert.ops.rounding import copysign as copysign
from wengert.ops.rounding import fix as fix
from wengert.ops.rounding import floor as floor
from wengert.ops.rounding import frac as frac
from wengert.ops.rounding import heaviside as heaviside
from wengert.ops.rounding import round as round
from wengert.ops.rounding import sgn as sgn
from wengert.ops.rounding import sign as sign
from wengert.ops.rounding import trunc as trunc
from wengert.ops.scan import cummax as cummax
from wengert.ops.scan import cummin as cummin
from wengert.ops.scan import cumprod as cumprod
from wengert.ops.scan import cumsum as cumsum
from wengert.ops.scan import cumulative_trapezoid as cumulative_trapezoid
from wengert.ops.scan import diff as diff
from wengert.ops.scan import logcumsumexp as logcumsumexp
from wengert.ops.scan import trapezoid as trapezoid
from wengert.ops.scan import trapz as trapz
from wengert.ops.scan import vander as vander
from wengert.ops.scatter import scatter as scatter
from wengert.ops.scatter import scatter_add as scatter_add
from wengert.ops.scatter import scatter_reduce as scatter_reduce
from wengert.ops.shape import atleast_1d as atleast_1d
from wengert.ops.shape import atleast_2d as atleast_2d
from wengert.ops.shape import atleast_3d as atleast_3d
from wengert.ops.shape import clone as clone
from wengert.ops.shape import flatten as flatten
from wengert.ops.shape import moveaxis as moveaxis
from wengert.ops.shape import movedim as movedim
from wengert.ops.shape import permute as permute
from wengert.ops.shape import ravel as ravel
from wengert.ops.shape import reshape as reshape
from wengert.ops.shape import squeeze as squeeze
from wengert.ops.shape import swapaxes as swapaxes
from wengert.ops.shape import swapdims as swapdims
from wengert.ops.shape import t as t
from wengert.ops.shape import transpose as transpose
from wengert.ops.shape import unflatten as unflatten
from wengert.ops.shape import unsqueeze as unsqueeze
from wengert.ops.slopes import gradient as gradient
from wengert.ops.softmax import log_softmax as log_softmax
from wengert.ops.softmax import logsumexp as logsumexp
from wengert.ops.softmax import softmax as softmax
from wengert.ops.solving import cholesky_inverse as cholesky_inverse
from wengert.ops.solving import cholesky_solve as cholesky_solve
from wengert.ops.solving import det as det
from wengert.ops.solving import inverse as inverse
from wengert.ops.solving import logdet as logdet
from wengert.ops.solving import lu as lu
from wengert.ops.solving import lu_solve as lu_solve
from wengert.ops.solving import slogdet as slogdet
from wengert.ops.sort import argsort as argsort
from wengert.ops.sort import bincount as bincount
from wengert.ops.sort import bucketize as bucketize
from wengert.ops.sort import histc as histc
from wengert.ops.sort import isin as isin
from wengert.ops.sort import kthvalue as kthvalue
from wengert.ops.sort import msort as msort
from wengert.ops.sort import searchsorted as searchsorted
from wengert.ops.sort import sort as sort
from wengert.ops.sort import topk as topk
from wengert.ops.sort import unique as unique
from wengert.ops.sort import unique_consecutive as unique_consecutive
from wengert.ops.special import digamma as digamma
from wengert.ops.special import erf as erf
from wengert.ops.special import erfc as erfc
from wengert.ops.special import erfinv as erfinv
from wengert.ops.special import lgamma as lgamma
from wengert.ops.special import polygamma as polygamma
from wengert.ops.spectrogram import istft as istft
from wengert.ops.spectrogram import stft as stft
from wengert.ops.splitting import chunk as chunk
from wengert.ops.splitting import dsplit as dsplit
from wengert.ops.splitting import hsplit as hsplit
from wengert.ops.splitting import narrow as narrow
from wengert.ops.splitting import select as select
from wengert.ops.splitting import select_scatter as select_scatter
from wengert.ops.splitting import slice_scatter as slice_scatter
from wengert.ops.splitting import split as split
from wengert.ops.splitting import split_with_sizes as split_with_sizes
from wengert.ops.splitting import tensor_split as tensor_split
from wengert.ops.splitting import unbind as unbind
from wengert.ops.splitting import unsafe_chunk as unsafe_chunk
from wengert.ops.splitting import unsafe_split as unsafe_split
from wengert.ops.splitting import unsafe_split_with_sizes as unsafe_split_with_sizes
from wengert.ops.splitting import vsplit as vsplit
from wengert.ops.statistics import corrcoef as corrcoef
from wengert.ops.statistics import cov as cov
from wengert.ops.statistics import median as median
from wengert.ops.statistics import mode as mode
from wengert.ops.statistics import nanmedian as nanmedian
from wengert.ops.statistics import nanquantile as nanquantile
from wengert.ops.statistics import quantile as quantile
from wengert.ops.statistics import std as std
from wengert.ops.statistics import std_mean as std_mean
from wengert.ops.statistics import var as var
from wengert.ops.statistics import var_mean as var_mean
from wengert.ops.strided import as_strided as as_strided
from wengert.ops.strided import as_strided_scatter as as_strided_scatter
from wengert.ops.tensor_products import addr as addr
from wengert.ops.tensor_products import cross as cross
from wengert.ops.tensor_products import inner as inner
from wengert.ops.tensor_products import kron as kron
from wengert.ops.tensor_products import tensordot as tensordot
from wengert.ops.tensor_products import trace as trace
from wengert.ops.triangular_systems import triangular_solve as triangular_solve
from wengert.ops.trigonometry import acos as acos
from wengert.ops.trigonometry import acosh as acosh
from wengert.ops.trigonometry import arccos as arccos
from wengert.ops.trigonometry import arccosh as arccosh
from wengert.ops.trigonometry import arcsin as arcsin
from wengert.ops.trigonometry import arcsinh as arcsinh
from wengert.ops.trigonometry import arctan as arctan
from wengert.ops.trigonometry import arctan2 as arctan2
from wengert.ops.trigonometry import arctanh as arctanh
from wengert.ops.trigonometry import asin as asin
from wengert.ops.trigonometry import asinh as asinh
from wengert.ops.trigonometry import atan as atan
from wengert.ops.trigonometry import atan2 as atan2
from wengert.ops.trigonometry import atanh as atanh
from wengert.ops.trigonometry import cos as cos
from wengert.ops.trigonometry import cosh as cosh
from wengert.ops.trigonometry import deg2rad as deg2rad
from wengert.ops.trigonometry import polar as polar
from wengert.ops.trigonometry import rad2deg as rad2deg
from wengert.ops.trigonometry import sin as sin
from wengert.ops.trigonometry import sinc as sinc
from wengert.ops.trigonometry import sinh as sinh
from wengert.ops.trigonometry import tan as tan
from wengert.ops.trigonometry import tanh as tanh
from wengert.ops.vision import channel_shuffle as channel_shuffle
from wengert.ops.vision import pixel_shuffle as pixel_shuffle
from wengert.ops.vision import pixel_unshuffle as pixel_unshuffle
from wengert.platform.settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from wengert.platform.settings import empty_cache as empty_cache
from wengert.platform.settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from wengert.platform.settings import get_device_module as get_device_module
from wengert.platform.settings import get_float32_matmul_precision as get_float32_matmul_precision
from wengert.platform.settings import get_num_interop_threads as get_num_interop_threads
from wengert.platform.settings import get_num_threads as get_num_threads
from wengert.platform.settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from wengert.platform.settings import is_warn_always_enabled as is_warn_always_enabled
from wengert.platform.settings import memory_stats as memory_stats
from wengert.platform.settings import reset_peak_memory_stats as reset_peak_memory_stats
from wengert.platform.settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from wengert.platform.settings import set_float32_matmul_precision as set_float32_matmul_precision
from wengert.platform.settings import set_flush_denormal as set_flush_denormal
from wengert.platform.settings import set_memory_limit as set_memory_limit
from wengert.platform.settings import set_num_interop_threads as set_num_interop_threads
from wengert.platform.settings import set_num_threads as set_num_threads
from wengert.platform.settings import set_warn_always as set_warn_always
from wengert.platform.settings import use_deterministic_algorithms as use_deterministic_algorithms
from wengert.serialization._loading import load as load
from wengert.serialization._saving import save as save
from wengert.sparse._products import hspmm as hspmm
from wengert.sparse._products import smm as smm
from wengert.sparse._products import sspaddmm as sspaddmm
from wengert.sparse.construction import sparse_bsc_tensor as sparse_bsc_tensor
from wengert.sparse.construction import sparse_bsr_tensor as sparse_bsr_tensor
from wengert.sparse.construction import sparse_compressed_tensor as sparse_compressed_tensor
from wengert.sparse.construction import sparse_coo_tensor as sparse_coo_tensor
from wengert.sparse.construction import sparse_csc_tensor as sparse_csc_tensor
from wengert.sparse.construction import sparse_csr_tensor as sparse_csr_tensor
from wengert.tensor._attributes import get_device as get_device
from wengert.tensor._attributes import is_conj as is_conj
from wengert.tensor._attributes import is_inference as is_inference
from wengert.tensor._attributes import is_neg as is_neg
from wengert.tensor._attributes import is_nonzero as is_nonzero
from wengert.tensor._attributes import is_same_size as is_same_size
from wengert.tensor._attributes import is_signed as is_signed
from wengert.tensor._attributes import result_type as result_type
from wengert.tensor._convert import fill as fill
from wengert.tensor._convert import fill_ as fill_
from wengert.tensor._convert import zero_ as zero_
from wengert.tensor._legacy import BFloat16Tensor as BFloat16Tensor
from wengert.tensor._legacy import BoolTensor as BoolTensor
from wengert.tensor._legacy import ByteTensor as ByteTensor
from wengert.tensor._legacy import CharTensor as CharTensor
from wengert.tensor._legacy import DoubleTensor as DoubleTensor
from wengert.tensor._legacy import FloatTensor as FloatTensor
from wengert.tensor._legacy import HalfTensor as HalfTensor
from wengert.tensor._legacy import IntTensor as IntTensor
from wengert.tensor._legacy import LongTensor as LongTensor
from wengert.tensor._legacy import ShortTensor as ShortTensor
from wengert.tensor._legacy import get_default_device as get_default_device
from wengert.tensor._legacy import set_default_device as set_default_device
from wengert.tensor._legacy import set_default_tensor_type as set_default_tensor_type
from wengert.tensor._methods import resolve_neg as resolve_neg
from wengert.tensor._removed import eig as eig
from wengert.tensor._removed import lstsq as lstsq
from wengert.tensor._removed import matrix_rank as matrix_rank
from wengert.tensor._removed import solve as solve
from wengert.tensor._removed import symeig as symeig
from wengert.tensor._resizing import resize_as_ as resize_as_
from wengert.tensor.copies import alias_copy as alias_copy
from wengert.tensor.copies import as_strided_copy as as_strided_copy
from wengert.tensor.copies import detach_copy as detach_copy
from wengert.tensor.copies import diagonal_copy as diagonal_copy
from wengert.tensor.copies import expand_copy as expand_copy
from wengert.tensor.copies import narrow_copy as narrow_copy
from wengert.tensor.copies import permute_copy as permute_copy
from wengert.tensor.copies import select_copy as select_copy
from wengert.tensor.copies import slice_copy as slice_copy
from wengert.tensor.copies import split_copy as split_copy
from wengert.tensor.copies import split_with_sizes_copy as split_with_sizes_copy
from wengert.tensor.copies import squeeze_copy as squeeze_copy
from wengert.tensor.copies import t_copy as t_copy
from wengert.tensor.copies import transpose_copy as transpose_copy
from wengert.tensor.copies import unbind_copy as unbind_copy
from wengert.tensor.copies import unfold_copy as unfold_copy
from wengert.tensor.copies import unsqueeze_copy as unsqueeze_copy
from wengert.tensor.copies import view_as_complex_copy as view_as_complex_copy
from wengert.tensor.copies import view_as_real_copy as view_as_real_copy
from wengert.tensor.copies import view_copy as view_copy
from wengert.tensor.creation import as_tensor as as_tensor
from wengert.tensor.creation import asarray as asarray
from wengert.tensor.creation import empty as empty
from wengert.tensor.creation import empty_like as empty_like
from wengert.tensor.creation import empty_permuted as empty_permuted
from wengert.tensor.creation import empty_strided as empty_strided
from wengert.tensor.creation import eye as eye
from wengert.tensor.creation import from_dlpack as from_dlpack
from wengert.tensor.creation import from_numpy as from_numpy
from wengert.tensor.creation import full as full
from wengert.tensor.creation import full_like as full_like
from wengert.tensor.creation import is_tensor as is_tensor
from wengert.tensor.creation import numel as numel
from wengert.tensor.creation import ones as ones
from wengert.tensor.creation import ones_like as ones_like
from wengert.tensor.creation import scalar_tensor as scalar_tensor
from wengert.tensor.creation import tensor as tensor
from wengert.tensor.creation import zeros as zeros
from wengert.tensor.creation import zeros_like as zeros_like
from wengert.tensor.gradients import detach as detach
from wengert.tensor.gradients import detach_ as detach_
from wengert.tensor.lowrank import lobpcg as lobpcg
from wengert.tensor.lowrank import pca_lowrank as pca_lowrank
from wengert.tensor.lowrank import svd_lowrank as svd_lowrank
from wengert.tensor.printing import get_printoptions as get_printoptions
from wengert.tensor.printing import set_printoptions as set_printoptions
from wengert.tensor.random import bernoulli as bernoulli
from wengert.tensor.random import get_rng_state as get_rng_state
from wengert.tensor.random import initial_seed as initial_seed
from wengert.tensor.random import manual_seed as manual_seed
from wengert.tensor.random import multinomial as multinomial
from wengert.tensor.random import normal as normal
from wengert.tensor.random import poisson as poisson
from wengert.tensor.random import rand as rand
from wengert.tensor.random import rand_like as rand_like
from wengert.tensor.random import randint as randint
from wengert.tensor.random import randint_like as randint_like
from wengert.tensor.random import randn as randn
from wengert.tensor.random import randn_like as randn_like
from wengert.tensor.random import randperm as randperm
from wengert.tensor.random import seed as seed
from wengert.tensor.random import set_rng_state as set_rng_state
from wengert.tensor.random_counts import binomial as binomial
from wengert.tensor.ranges import arange as arange
from wengert.tensor.ranges import linspace as linspace
from wengert.tensor.ranges import logspace as logspace
from wengert.tensor.ranges import range as range
from wengert.tensor.storages import TypedStorage as TypedStorage
from wengert.tensor.storages import UntypedStorage as UntypedStorage
from wengert.tensor.storages import frombuffer as frombuffer
from wengert.tensor.storages import is_storage as is_storage
from wengert.tensor.windows import bartlett_window as bartlett_window
from wengert.tensor.windows import blackman_window as blackman_window
from wengert.tensor.windows import hamming_window as hamming_window
from wengert.tensor.windows import hann_window as hann_window
from wengert.tensor.windows import kaiser_window as kaiser_window
from wengert.utils.dlpack import to_dlpack as to_dlpack
gcd_ = Tensor.gcd_
i0_ = Tensor.i0_
index_put_ = Tensor.index_put_
lcm_ = Tensor.lcm_
ldexp_ = Tensor.ldexp_
log10_ = Tensor.log10_
log1p_ = Tensor.log1p_
log2_ = Tensor.log2_
log_ = Tensor.log_
logit_ = Tensor.logit_
nan_to_num_ = Tensor.nan_to_num_
neg_ = Tensor.neg_
negative_ = Tensor.negative_
newaxis: None
rad2deg_ = Tensor.rad2deg_
reciprocal_ = Tensor.reciprocal_
relu_ = Tensor.relu_
round_ = Tensor.round_
rsqrt_ = Tensor.rsqrt_
sigmoid_ = Tensor.sigmoid_
sin_ = Tensor.sin_
sinc_ = Tensor.sinc_
sinh_ = Tensor.sinh_
sqrt_ = Tensor.sqrt_
square_ = Tensor.square_
tan_ = Tensor.tan_
tanh_ = Tensor.tanh_
trunc_ = Tensor.trunc_
xlogy_ = Tensor.xlogy_
