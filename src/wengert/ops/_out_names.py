"""Which functions of PyTorch take `out`, and which want the result's own dtype there."""

# Operations; functions that are written by hand have it among their parameters.
TAKE_OUT = frozenset({
    "abs", "acos", "acosh", "addcdiv", "addcmul", "addmm", "all", "amax", "amin", "any",
    "argmax", "argmin", "argsort", "asin", "asinh", "atan", "atan2", "atanh", "baddbmm",
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "bmm", "ceil", "copysign", "cos", "cosh", "deg2rad", "digamma", "dot",
    "entr", "eq", "erf", "erfc", "erfcx", "erfinv", "exp", "exp2", "expm1", "floor", "fmax",
    "fmin", "fmod", "frac", "gather", "gcd", "ge", "gt", "hardshrink", "hypot", "igamma",
    "igammac", "index_add", "index_copy", "index_select", "isneginf", "isposinf", "lcm", "le",
    "lgamma", "log", "log10", "log1p", "log2", "log_ndtr", "logaddexp", "logaddexp2",
    "logcumsumexp", "logical_and", "logical_not", "logical_or", "logical_xor", "logit",
    "logsumexp", "lt", "matmul", "maximum", "minimum", "mm", "mul", "nan_to_num", "ndtr",
    "ndtri", "ne", "neg", "nextafter", "outer", "rad2deg", "reciprocal", "remainder", "round",
    "rsqrt", "scatter_add", "sigmoid", "sign", "signbit", "sin", "sinc", "sinh", "sqrt", "tan",
    "tanh", "tril", "triu", "trunc", "xlog1py", "xlogy", "zeta",
})  # fmt: skip

# The others convert to the dtype of `out`, if it is of no lesser kind.
EXACT = frozenset({
    "abs", "absolute", "addbmm", "addmm", "addmv", "all", "amax", "amin", "any", "argmax",
    "argmin", "argsort", "baddbmm", "bitwise_not", "bmm", "bucketize", "ceil", "chain_matmul",
    "clamp", "clamp_max", "clamp_min", "clip", "complex", "cross", "det", "diag", "dot", "fix",
    "float_power", "floor", "frac", "gather", "hardshrink", "heaviside", "histc", "index_add",
    "index_copy", "index_reduce", "index_select", "inner", "inv", "inverse", "isin", "isneginf",
    "isposinf", "log_softmax", "logcumsumexp", "lu_solve", "masked_select", "matmul",
    "matrix_norm", "matrix_power", "mm", "msort", "multi_dot", "mv", "nan_to_num",
    "nanquantile", "neg", "negative", "nonzero", "nonzero_static", "norm", "polar", "quantile",
    "renorm", "round", "scatter", "scatter_add", "scatter_reduce", "searchsorted", "sgn",
    "sign", "signbit", "slice_scatter", "softmax", "solve", "solve_triangular", "svdvals",
    "take", "take_along_dim", "tensordot", "tril", "triu", "trunc", "vdot", "vecdot",
    "vector_norm", "where",
})  # fmt: skip

# Those that compute in the dtype of `out`.
COMPUTE_IN_OUT = frozenset({"cumprod", "cumsum", "prod", "sum"})
