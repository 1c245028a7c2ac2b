"""Results written into tensors that are there already: `out=`.

A function computes as ever, and what it returns is copied: one implementation for all, in which
`out` may overlap an input. Functions take the keyword by a test in front of their bodies (see
`keywords`), so that other calls pay nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from wengert.core import storage
from wengert.core.dtypes import of_numpy
from wengert.core.inference import check_written
from wengert.core.messages import warn
from wengert.core.tensor import (
    Tensor,
    Tracer,
    caller,
    cut_from,
    getframe,
    inferences,
    mode,
)
from wengert.kernels.layout import is_dense, repeats

# Functions whose results convert to the dtype of `out`, if it is of no lesser kind.
_CASTING = frozenset({
    "acos", "acosh", "add", "addcdiv", "addcmul", "addr", "airy_ai", "aminmax", "angle",
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argsort",
    "asin", "asinh", "atan", "atan2", "atanh", "bessel_j0", "bessel_j1", "bessel_y0",
    "bessel_y1", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "cat", "chebyshev_polynomial_t", "chebyshev_polynomial_u",
    "chebyshev_polynomial_v", "chebyshev_polynomial_w", "cholesky", "cholesky_ex",
    "cholesky_inverse", "cholesky_solve", "column_stack", "concat", "concatenate", "cond",
    "conj_physical", "copysign", "cos", "cosh", "cummax", "cummin", "cumprod", "cumsum",
    "deg2rad", "diff", "digamma", "div", "divide", "dstack", "eig", "eigh", "eigvals",
    "eigvalsh", "entr", "eq", "erf", "erfc", "erfcx", "erfinv", "exp", "exp2", "expm1", "fft",
    "fft2", "fftn", "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd", "ge", "geqrf",
    "ger", "greater", "greater_equal", "gt", "hermite_polynomial_h", "hermite_polynomial_he",
    "hfft", "hfft2", "hfftn", "histogram", "householder_product", "hstack", "hypot", "i0",
    "i0e", "i1", "i1e", "ifft", "ifft2", "ifftn", "igamma", "igammac", "ihfft", "ihfft2",
    "ihfftn", "inv_ex", "irfft", "irfft2", "irfftn", "kron", "kthvalue",
    "laguerre_polynomial_l", "lcm", "ldexp", "ldl_factor", "ldl_factor_ex", "ldl_solve", "le",
    "legendre_polynomial_p", "lerp", "less", "less_equal", "lgamma", "log", "log10", "log1p",
    "log2", "log_ndtr", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logit", "logsumexp", "lstsq", "lt", "lu", "lu_factor", "lu_factor_ex",
    "lu_unpack", "matrix_rank", "max", "maximum", "mean", "median", "min", "minimum", "mode",
    "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
    "mul", "multiply", "mvlgamma", "nanmean", "nanmedian", "nansum", "ndtr", "ndtri", "ne",
    "nextafter", "not_equal", "outer", "pinv", "polygamma", "pow", "prod", "qr", "rad2deg",
    "reciprocal", "remainder", "rfft", "rfft2", "rfftn", "row_stack", "rsqrt",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "sigmoid", "sin", "sinc", "sinh", "slogdet", "solve_ex",
    "sort", "spherical_bessel_j0", "sqrt", "square", "stack", "std", "sub", "subtract", "sum",
    "svd", "tan", "tanh", "tensorinv", "tensorsolve", "threshold", "topk", "triangular_solve",
    "true_divide", "var", "vstack", "xlog1py", "xlogy", "zeta",
})  # fmt: skip

# Functions that want their own dtype there.
_EXACT = frozenset({
    "abs", "absolute", "addbmm", "addmm", "addmv", "all", "amax", "amin", "any", "argmax",
    "argmin", "argsort", "baddbmm", "bitwise_not", "bmm", "bucketize", "ceil", "chain_matmul",
    "clamp", "clamp_max", "clamp_min", "clip", "complex", "cross", "det", "diag", "dot", "fix",
    "float_power", "floor", "frac", "gather", "hardshrink", "heaviside", "histc", "index_add",
    "index_copy", "index_reduce", "index_select", "inner", "inv", "inverse", "isin",
    "isneginf", "isposinf", "log_softmax", "logcumsumexp", "lu_solve", "masked_select",
    "matmul", "matrix_norm", "matrix_power", "mm", "msort", "multi_dot", "mv", "nan_to_num",
    "nanquantile", "neg", "negative", "nonzero", "nonzero_static", "norm", "polar", "quantile",
    "renorm", "round", "scatter", "scatter_add", "scatter_reduce", "searchsorted", "sgn",
    "sign", "signbit", "slice_scatter", "softmax", "solve", "solve_triangular", "svdvals",
    "take", "take_along_dim", "tensordot", "tril", "triu", "trunc", "vdot", "vecdot",
    "vector_norm", "where",
})  # fmt: skip
TAKERS = _CASTING | _EXACT

# Those that compute in the dtype of `out`.
_COMPUTING = frozenset({"cumprod", "cumsum", "prod", "sum"})


def out_guard(name: str, positional: list[str], keyword_only: Iterable[str]) -> str:
    """The lines in front of a body that hand on a call with `out`."""
    by_name = ", ".join(f"{k!r}: {k}" for k in keyword_only)
    function = f"globals()[{name!r}]" if name in positional else name
    return (
        "if out is not None:\n"
        "    import wengert.ops.outputs as _outputs\n"
        f"    return _outputs.write_out({function}, out, ({', '.join(positional)},),"
        f" {{{by_name}}})\n"
    )


def write_out(
    function: Callable[..., Any], out: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Call a function, and write its results into `out`, which is returned.

    One tensor for a function that returns one, else a tuple or list of them.
    """
    op = getattr(function, "op", None)
    name = function.__name__ if op is None else op.called
    outs = out if type(out) in (tuple, list) else (out,)
    for target in outs:
        if not isinstance(target, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    inputs = [*_tensors_of(args), *_tensors_of(options.values())]
    check_unrecorded(name, [*inputs, *outs])
    exact = name in _EXACT
    if name in _COMPUTING and isinstance(out, Tensor):
        exact = True
        if options.get("dtype") is None:
            options["dtype"] = of_numpy[out._array.dtype]
    result = function(*args, **options)
    if isinstance(result, Tensor):
        if outs is out:
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        for x in inputs:
            _check_overlap(x._array, out._array, result._array.shape)
        return fill(name, out, result, exact)
    if len(outs) != len(result) or outs is not out:
        raise TypeError(
            f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors, not"
            f" {f'of {len(outs)}' if outs is out else type(out).__name__}"
        )
    filled = [fill(name, *pair, exact=True) for pair in zip(outs, result, strict=True)]
    return result._make(filled) if hasattr(result, "_make") else type(result)(filled)


def fill(name: str, out: Tensor, result: Tensor, exact: bool = False) -> Tensor:
    """Write a result into `out`, which takes its shape; with `exact` it must have its dtype."""
    array, value = out._array, result._array
    if result._edge is not None:
        raise _recorded(name)
    if exact and value.dtype != array.dtype:
        raise RuntimeError(
            f"Expected out tensor to have dtype {of_numpy[value.dtype]}, but got"
            f" {of_numpy[array.dtype]} instead in {name}()"
        )
    check_castable(value.dtype, array.dtype, name)
    if inferences:
        check_written((out,), name)
    if array.shape != value.shape:
        if array.size:
            warn(
                "An output with one or more elements was resized since it had shape"
                f" {list(array.shape)}, which does not match the required output shape"
                f" {list(value.shape)} of {name}(); in PyTorch this is deprecated. An empty"
                " tensor, as after out.resize_(0), is resized without this warning."
            )
        array = out.resize_(value.shape)._array
    check_memory(array, name)
    np.copyto(array, value, casting="unsafe")
    storage.stamp(array, f"{name}(out=)", *caller(getframe(1)))
    if out._edge is None:
        out._cut = cut_from((result,))
    return out


def _tensors_of(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, tuple | list):
            yield from _tensors_of(value)


def check_unrecorded(name: str, tensors: Iterable[Tensor]) -> None:
    """RuntimeError if a call with `out` has to be recorded, or to be transformed."""
    for tensor in tensors:
        if isinstance(tensor, Tracer):
            raise RuntimeError(f"{name}(): out= is not supported inside of a function transform")
        if tensor._edge is not None and mode.site is not None:
            raise _recorded(name)


def _recorded(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but"
        " one of the arguments requires grad."
    )


def _check_overlap(input: np.ndarray, out: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise where an input of the result's shape shares some of its elements with `out`."""
    if input.shape != shape or not np.may_share_memory(input, out):
        return
    same = input.ctypes.data == out.ctypes.data and input.shape == out.shape
    if not (same and input.strides == out.strides) and is_dense(input) and is_dense(out):
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor"
            " refer to a single memory location. Please clone() the tensor before performing the"
            " operation."
        )


def check_castable(value: np.dtype[Any], target: np.dtype[Any], name: str) -> None:
    """RuntimeError where values would lose more than precision in another dtype."""
    a, b = of_numpy[value], of_numpy[target]
    if a.category > b.category:
        raise RuntimeError(
            f"result type {a.short} can't be cast to the desired output type {b.short} in {name}()"
        )


def check_memory(array: np.ndarray, name: str, one_value: bool = False) -> bool:
    """Before a write: raise where the elements of an array cannot be written one by one.

    With `one_value`, where all that are written become the same, some may be one element; says
    whether they are.
    """
    flags = array.flags
    if not flags.writeable:
        raise RuntimeError(
            f"{name}(): the tensor's memory is read-only, as the NumPy array that it came from;"
            " call .clone() first"
        )
    repeated = not flags.c_contiguous and repeats(array)
    if repeated and not one_value:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a"
            " single memory location. Please clone() the tensor before performing the operation."
            f" {name}() got a tensor of shape {list(array.shape)} with strides"
            f" {array.strides} bytes."
        )
    if storage.guards:
        storage.before_write(array)
    return repeated
