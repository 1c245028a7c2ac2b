"""What operations do inside of autocast regions: which dtype each computes in.

The first region of a process puts a front before the functions named here (as for
`__torch_function__`, see `core/fronts.py`), for good: as long as a region is on it converts the
floating-point tensors among the arguments and runs the function. What that is made of is not
converted again. While no thread is in a region the front costs a look at a set.

A conversion is recorded like any other, so gradients of parameters have the parameters' dtype. It
is done at each use: gradients of several uses are added in the parameter's dtype, not in the
lower one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from threading import get_ident
from typing import Any

from wengert.amp.state import lower_dtype, state
from wengert.core import dtypes, fronts
from wengert.core.dtypes import dtype as dtype_
from wengert.core.forks import compile_lock
from wengert.core.fronts import Front, public_functions
from wengert.core.tensor import Tensor

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

# Below "torch.", without "nn.functional.". Compositions of these need no entry.
_LOWER = (
    "addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d"
    " conv_transpose3d linalg.multi_dot linalg.vecdot linear lstm matmul mm prelu rnn_relu"
    " rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention tensordot"
)
_SINGLE = (
    "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy"
    " binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve"
    " cosine_embedding_loss cross_entropy ctc_loss fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft"
    " fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn"
    " fractional_max_pool2d fractional_max_pool3d geqrf grid_sample hinge_embedding_loss"
    " huber_loss inverse kl_div l1_loss linalg.cholesky linalg.cholesky_ex linalg.cond linalg.eig"
    " linalg.eigh linalg.eigvals linalg.eigvalsh linalg.householder_product linalg.inv"
    " linalg.inv_ex linalg.lstsq linalg.matrix_rank linalg.qr linalg.solve linalg.svd"
    " linalg.svdvals linalg.tensorinv linalg.tensorsolve lp_pool3d lu_solve margin_ranking_loss"
    " max_unpool1d max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss"
    " nanquantile nll_loss orgqr ormqr pinverse poisson_nll_loss polar prod qr quantile"
    " smooth_l1_loss soft_margin_loss stft svd trace triangular_solve triplet_margin_loss"
    " view_as_complex"
)
# Made of products here, and one operation without a policy in PyTorch.
_AS_THEY_ARE = (
    "Tensor.addbmm_ Tensor.addmm_ Tensor.addmv_ Tensor.addr_ Tensor.baddbmm_ addmv addr bilinear"
    " linalg.lu_solve mv"
)


def _lower(args: tuple[Any, ...], kwargs: dict[str, Any], lower: dtype_) -> Arguments:
    return cast(args, lower), cast(kwargs, lower)


def in_float32(args: tuple[Any, ...], kwargs: dict[str, Any], lower: dtype_) -> Arguments:
    """The arguments in float32."""
    return cast(args, dtypes.float32), cast(kwargs, dtypes.float32)


def _as_they_are(args: tuple[Any, ...], kwargs: dict[str, Any], lower: dtype_) -> Arguments:
    return args, kwargs


def _widest(args: tuple[Any, ...], kwargs: dict[str, Any], lower: dtype_) -> Arguments:
    tensors = [x for x in chain(args, kwargs.values()) if isinstance(x, Tensor)]
    if any(x.dtype is dtypes.float32 for x in tensors):
        return in_float32(args, kwargs, lower)
    return args, kwargs


def _padded(args: tuple[Any, ...], kwargs: dict[str, Any], lower: dtype_) -> Arguments:
    """Of `pad`: reflections of two dimensions at most, and repetitions."""
    pad = kwargs.get("pad", args[1] if len(args) > 1 else ())
    mode = kwargs.get("mode", args[2] if len(args) > 2 else "constant")
    single = mode == "replicate" or (mode == "reflect" and len(pad) < 6)
    return in_float32(args, kwargs, lower) if single else (args, kwargs)


def _pooled(args: tuple[Any, ...], kwargs: dict[str, Any], lower: dtype_) -> Arguments:
    """Of `max_pool3d`: not with indices."""
    indices = kwargs.get("return_indices", len(args) > 6 and args[6])
    return (args, kwargs) if indices else in_float32(args, kwargs, lower)


def _normalized(args: tuple[Any, ...], kwargs: dict[str, Any], lower: dtype_) -> Arguments:
    """Of `local_response_norm`: images, whose neighbours an `avg_pool3d` sums up."""
    input = kwargs.get("input", args[0] if args else None)
    images = isinstance(input, Tensor) and input.ndim > 3
    return in_float32(args, kwargs, lower) if images else (args, kwargs)


def _contracted(args: tuple[Any, ...], kwargs: dict[str, Any], lower: dtype_) -> Arguments:
    """Of a contraction of two tensors: it is a matrix product if it sums over shared labels."""
    _, _, labels, other_labels, kept_labels = args
    summed = set(labels) & set(other_labels) - set(kept_labels)
    return _lower(args, kwargs, lower) if summed else (args, kwargs)


Policy = Callable[[tuple[Any, ...], dict[str, Any], dtype_], Arguments]
POLICIES: dict[str, Policy] = {
    **dict.fromkeys(_LOWER.split(), _lower),
    **dict.fromkeys(_SINGLE.split(), in_float32),
    **dict.fromkeys(_AS_THEY_ARE.split(), _as_they_are),
    "einsum.contract": _contracted,
    "index_copy": _widest,
    "local_response_norm": _normalized,
    "max_pool3d": _pooled,
    "pad": _padded,
}


# Most arguments beside tensors.
_PLAIN = frozenset({int, bool, float, str, type(None)})


def cast(value: Any, dtype: dtype_) -> Any:
    """Floating-point tensors in nested containers, float64 aside, in another dtype."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Tensor):
        source = value.dtype
        if source is dtype or source is dtypes.float64 or source.category != dtypes.FLOAT:
            return value
        return value.to(dtype)
    if isinstance(value, dict):
        return {key: cast(item, dtype) for key, item in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)([cast(item, dtype) for item in value])
    return value


class CastFunction(Front):
    """A function whose arguments regions convert."""

    __slots__ = ("policy",)

    by_arguments = False

    def __init__(self, function: Any, policy: Policy) -> None:
        super().__init__(function, _threads)
        self.policy = policy

    @property
    def holder(self) -> Any:
        """Behind the front of `__torch_function__`, where that is in place."""
        public = public_functions.get(self.function)
        return public.impl if public is not None and public.armed else self.function

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function's own result, of converted arguments where this thread is in a region."""
        if state.casting or not state.enabled.get("cpu", False):
            return self.impl(*args, **kwargs)
        if kwargs.get("out") is None:
            args, kwargs = self.policy(args, kwargs, lower_dtype("cpu"))
        state.casting = True
        try:
            return self.impl(*args, **kwargs)
        finally:
            state.casting = False


# By function.
cast_functions: dict[Any, CastFunction] = {}


# The threads that are in regions.
_threads: set[int] = set()


def _enter(function: Any, name: str) -> None:
    """Arm a function, if it has a policy."""
    policy = POLICIES.get(name.removeprefix("torch.").removeprefix("nn.functional."))
    if policy is not None and function not in cast_functions:
        entry = cast_functions[function] = CastFunction(function, policy)
        entry.arm()


def begin() -> None:
    """A thread enters a region: the first one arms the functions."""
    _threads.add(get_ident())
    if _enter in fronts.listeners:
        return
    with compile_lock:
        if _enter not in fronts.listeners:
            for public in [*public_functions.values()]:
                _enter(public.function, public.name)
            for name, function in fronts.unpublished.items():
                _enter(function, name)
            fronts.listeners.append(_enter)  # for modules that are imported later


def end() -> None:
    """A thread leaves a region; what an interruption left goes with the next."""
    if not state.enabled.get("cpu", False):
        _threads.discard(get_ident())
