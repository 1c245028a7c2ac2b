"""wengert: PyTorch's API on NumPy, with a graph that you can see."""

import warnings as _warnings
from importlib import import_module as _import_module
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import Any as _Any

from wengert import autograd as autograd
from wengert import ops as ops
from wengert import sparse as sparse
from wengert.autograd import enable_grad as enable_grad
from wengert.autograd import inference_mode as inference_mode
from wengert.autograd import is_grad_enabled as is_grad_enabled
from wengert.autograd import is_inference_mode_enabled as is_inference_mode_enabled
from wengert.autograd import no_grad as no_grad
from wengert.autograd import set_grad_enabled as set_grad_enabled
from wengert.core.conditions import _assert as _assert
from wengert.core.dtypes import bfloat16 as bfloat16
from wengert.core.dtypes import bool_ as bool
from wengert.core.dtypes import complex32 as chalf
from wengert.core.dtypes import complex32 as complex32
from wengert.core.dtypes import complex64 as cfloat
from wengert.core.dtypes import complex64 as complex64
from wengert.core.dtypes import complex128 as cdouble
from wengert.core.dtypes import complex128 as complex128
from wengert.core.dtypes import dtype as dtype
from wengert.core.dtypes import float8_e4m3fn as float8_e4m3fn
from wengert.core.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from wengert.core.dtypes import float8_e5m2 as float8_e5m2
from wengert.core.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from wengert.core.dtypes import float8_e8m0fnu as float8_e8m0fnu
from wengert.core.dtypes import float16 as float16
from wengert.core.dtypes import float16 as half
from wengert.core.dtypes import float32 as float
from wengert.core.dtypes import float32 as float32
from wengert.core.dtypes import float64 as double
from wengert.core.dtypes import float64 as float64
from wengert.core.dtypes import int8 as int8
from wengert.core.dtypes import int16 as int16
from wengert.core.dtypes import int16 as short
from wengert.core.dtypes import int32 as int
from wengert.core.dtypes import int32 as int32
from wengert.core.dtypes import int64 as int64
from wengert.core.dtypes import int64 as long
from wengert.core.dtypes import promote_types as promote_types
from wengert.core.dtypes import uint8 as uint8
from wengert.core.dtypes import uint16 as uint16
from wengert.core.dtypes import uint32 as uint32
from wengert.core.dtypes import uint64 as uint64
from wengert.core.size import Size as Size
from wengert.core.tensor import Tensor as Tensor
from wengert.ops import *
from wengert.platform.settings import *
from wengert.tensor import *

__version__ = "0.2.0"
newaxis = None

# Overflow, log(0) and 0/0 give inf and nan, as in PyTorch, without NumPy's warnings.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"wengert(\.|$)")

# Loaded when first named: an import of wengert alone stays short.
_LAZY = frozenset(
    {
        "accelerator",
        "amp",
        "backends",
        "compat",
        "compiler",
        "cpu",
        "cuda",
        "distributed",
        "distributions",
        "fft",
        "func",
        "export",
        "fx",
        "graph",
        "hub",
        "jit",
        "library",
        "linalg",
        "masked",
        "mps",
        "multiprocessing",
        "nested",
        "nn",
        "onnx",
        "optim",
        "overrides",
        "profiler",
        "quasirandom",
        "random",
        "return_types",
        "serialization",
        "signal",
        "special",
        "symbolic",
        "testing",
        "types",
        "utils",
        "version",
        "xpu",
    }
)
_LAZY_NAMES = {
    "adaptive_max_pool1d": "wengert.nn._forms",
    "alpha_dropout": "wengert.nn._forms",
    "alpha_dropout_": "wengert.nn._forms",
    "autocast": "wengert.amp.autocast_mode",
    "batch_norm": "wengert.nn._forms",
    "binary_cross_entropy_with_logits": "wengert.nn._forms",
    "celu_": "wengert.nn.functional",
    "clear_autocast_cache": "wengert.amp.autocast_mode",
    "compile": "wengert.compiler",
    "cond": "wengert.autograd.transforms.control_flow",
    "constant_pad_nd": "wengert.nn._forms",
    "conv_tbc": "wengert.nn._forms",
    "convolution": "wengert.dispatch.computed",
    "cosine_embedding_loss": "wengert.nn._forms",
    "ctc_loss": "wengert.nn._forms",
    "DisableTorchFunction": "wengert.overrides",
    "DisableTorchFunctionSubclass": "wengert.overrides",
    "dropout": "wengert.nn._forms",
    "dropout_": "wengert.nn._forms",
    "embedding": "wengert.nn._forms",
    "embedding_renorm_": "wengert.nn._forms",
    "feature_alpha_dropout": "wengert.nn._forms",
    "feature_alpha_dropout_": "wengert.nn._forms",
    "feature_dropout": "wengert.nn._forms",
    "feature_dropout_": "wengert.nn._forms",
    "frobenius_norm": "wengert.nn._native_forms",
    "get_autocast_cpu_dtype": "wengert.amp.autocast_mode",
    "get_autocast_dtype": "wengert.amp.autocast_mode",
    "get_autocast_gpu_dtype": "wengert.amp.autocast_mode",
    "GradScaler": "wengert.amp",
    "grid_sampler": "wengert.nn._forms",
    "group_norm": "wengert.nn._forms",
    "hinge_embedding_loss": "wengert.nn._forms",
    "hspmm": "wengert.sparse._products",
    "instance_norm": "wengert.nn._forms",
    "is_anomaly_check_nan_enabled": "wengert.autograd.anomaly_mode",
    "is_anomaly_enabled": "wengert.autograd.anomaly_mode",
    "is_autocast_cache_enabled": "wengert.amp.autocast_mode",
    "is_autocast_cpu_enabled": "wengert.amp.autocast_mode",
    "is_autocast_enabled": "wengert.amp.autocast_mode",
    "kl_div": "wengert.nn._forms",
    "layer_norm": "wengert.nn._forms",
    "load": "wengert.serialization",
    "load_ipython_extension": "wengert.core.tracebacks",
    "margin_ranking_loss": "wengert.nn._forms",
    "max_pool1d_with_indices": "wengert.nn.functional",
    "native_batch_norm": "wengert.nn._native_forms",
    "native_channel_shuffle": "wengert.nn._native_forms",
    "native_dropout": "wengert.nn._native_forms",
    "native_group_norm": "wengert.nn._native_forms",
    "native_layer_norm": "wengert.nn._native_forms",
    "norm_except_dim": "wengert.nn._forms",
    "nuclear_norm": "wengert.nn._native_forms",
    "poisson_nll_loss": "wengert.nn._forms",
    "rrelu_": "wengert.nn.functional",
    "save": "wengert.serialization",
    "selu_": "wengert.nn.functional",
    "set_anomaly_enabled": "wengert.autograd.anomaly_mode",
    "set_autocast_cache_enabled": "wengert.amp.autocast_mode",
    "set_autocast_dtype": "wengert.amp.autocast_mode",
    "set_autocast_enabled": "wengert.amp.autocast_mode",
    "smm": "wengert.sparse._products",
    "sspaddmm": "wengert.sparse._products",
    "sparse_bsc_tensor": "wengert.sparse.construction",
    "sparse_bsr_tensor": "wengert.sparse.construction",
    "sparse_compressed_tensor": "wengert.sparse.construction",
    "sparse_coo_tensor": "wengert.sparse.construction",
    "sparse_csc_tensor": "wengert.sparse.construction",
    "sparse_csr_tensor": "wengert.sparse.construction",
    "threshold_": "wengert.nn.functional",
    "to_dlpack": "wengert.utils.dlpack",
    "triplet_margin_loss": "wengert.nn._forms",
    "typename": "wengert.nn.module.tree",
    "unload_ipython_extension": "wengert.core.tracebacks",
    "vmap": "wengert.func",
    "while_loop": "wengert.autograd.transforms.control_flow",
}
# Methods that are functions as well: in-place forms, and what tells about a tensor.
_METHODS = frozenset({
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_",
    "arctanh_", "as_strided_", "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_",
    "clamp_max_", "clamp_min_", "clip_", "conj_physical_", "cos_", "cosh_", "deg2rad_", "detach",
    "detach_", "erf_", "erfc_", "exp2_", "exp_", "expm1_", "fill_", "fix_", "floor_", "frac_",
    "gcd_", "get_device", "i0_", "index_put_", "is_conj", "is_inference", "is_neg",
    "is_same_size", "is_signed", "lcm_", "ldexp_", "log10_", "log1p_", "log2_", "log_", "logit_",
    "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "relu_", "resize_as_",
    "resolve_neg", "round_", "rsqrt_", "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_", "square_",
    "tan_", "tanh_", "trunc_", "xlogy_", "zero_",
})  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _LAZY_NAMES:
        return getattr(_import_module(_LAZY_NAMES[name]), name)
    if name in _METHODS:
        return getattr(Tensor, name)
    if name == "_standard_gamma":
        return _import_module("wengert.tensor.random_counts").standard_gamma
    if name.startswith("_foreach_"):
        return _import_module("wengert.tensor.foreach").function_of(name)
    if name in _LAZY:
        return _import_module(f"wengert.{name}")
    raise AttributeError(f"wengert has no {name!r} (module 'wengert' has no such attribute)")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES, *_METHODS})
