"""Functions of each element, or of elements at the same place."""

from __future__ import annotations

from sweeps._sample import (
    CHANCES,
    INTEGERS,
    MASK,
    POSITIVE,
    SQUARES,
    UNIT,
    Input,
    Sample,
    X,
    calling,
    each,
    of,
    sample,
)
from sweeps._sample import ROWS as SHAPES

TARGET = of(SHAPES, wants=False)
ABOVE_ONE = of(SHAPES, kind="uniform", low=1.1, high=3.0)
DIVISOR = of(SHAPES, kind="uniform", low=0.5, high=2.0, wants=False)
SMALL = of(SHAPES, kind="integers", low=1, high=6)

UNARY = [
    *each(
        "neg abs sigmoid tanh exp sin cos tan atan sinh cosh asinh expm1 exp2 square sign floor"
        " ceil round trunc frac erf erfc positive sgn nan_to_num sinc deg2rad rad2deg i0"
        " special.i0e angle clone relu",
        X,
    ),
    *each("log sqrt log1p log2 log10 rsqrt reciprocal lgamma digamma", POSITIVE),
    *each("asin acos atanh erfinv", UNIT),
    *each("isnan isinf isfinite logical_not signbit", X, backward=False),
    sample("acosh", ABOVE_ONE),
    sample("logit", CHANCES),
    sample("polygamma", POSITIVE, call=lambda m, x: m.polygamma(1, x)),
    calling("pow", POSITIVE)(3),
    sample("pow of two tensors", POSITIVE, X),
    calling("clamp", X)(-0.5, 0.5),
    calling("clamp of tensors", X, UNIT, ABOVE_ONE)(),
    calling("float_power", POSITIVE)(2.0),
    calling("__rpow__", X)(2.0),
    calling("renorm", X)(2, 0, 1.0),
]

BINARY = [
    *each("add sub mul div true_divide maximum minimum fmax fmin atan2 hypot copysign logaddexp",
          X, X),
    *each("eq ne lt le gt ge isclose", X, X, backward=False),
    *each("logical_and logical_or logical_xor", MASK, MASK, backward=False),
    *each("bitwise_and bitwise_or bitwise_xor gcd lcm", INTEGERS, INTEGERS, backward=False),
    sample("bitwise_not", INTEGERS, backward=False),
    *each("remainder fmod", X, DIVISOR),
    sample("floor_divide", X, DIVISOR, backward=False),
    sample("xlogy", X, POSITIVE),
    sample("heaviside", X, X, backward=False),
    sample("rsub", X, X),
    *each("__radd__ __rsub__ __rmul__", X, X),
    sample("__rdiv__", POSITIVE, call=lambda m, x: 2.0 / x),
    sample("floor_divide of integers", INTEGERS, SMALL, backward=False),
    sample("remainder of integers", INTEGERS, SMALL, backward=False),
    sample("add of a number", X, call=lambda m, x: x + 1.5),
    sample("add of a row", X, of({k: s[1:] for k, s in SHAPES.items()})),
    sample("add of a column", X, of({k: (s[0], 1) for k, s in SHAPES.items()})),
    sample("add of a transposed matrix", SQUARES, SQUARES, call=lambda m, x, y: x + y.t()),
    sample("mul of a transposed matrix", SQUARES, SQUARES, call=lambda m, x, y: x * y.t()),
    sample("where", MASK, X, X),
    sample("lerp", X, X, X),
    calling("lerp of a number", X, X)(0.3),
    sample("addcmul", X, X, X),
    sample("addcdiv", X, X, POSITIVE),
    *each("complex polar", POSITIVE, POSITIVE, most=6),
]  # fmt: skip

ACTIVATIONS = [
    *each(
        "relu gelu silu leaky_relu elu softplus logsigmoid hardtanh selu relu6 hardswish"
        " hardsigmoid mish softsign tanhshrink celu softshrink hardshrink glu",
        X,
        below="nn.functional.",
    ),
    calling("nn.functional.gelu by tanh", X)(approximate="tanh"),
    calling("nn.functional.threshold", X)(0.1, 20.0),
    sample("nn.functional.prelu", X, Input(lambda k: (SHAPES[k][1],))),
    calling("softmax", X)(1),
    calling("softmax over rows", X)(0),
    calling("log_softmax", X)(1),
    calling("nn.functional.softmin", X)(1),
]

CONVERSIONS = [
    sample("to float64", X, call=lambda m, x: x.to(m.float64)),
    sample("to bfloat16", X, call=lambda m, x: x.to(m.bfloat16)),
    *each("float", of(SHAPES, kind="integers", low=0, high=9), backward=False),
    *each("long int bool", X, backward=False),
    *each("double half", X),
    sample("item", X, call=lambda m, x: x.sum().item(), backward=False),
]

LOSSES = [
    sample("nn.functional.mse_loss", X, TARGET),
    sample("nn.functional.l1_loss", X, TARGET),
    sample("nn.functional.smooth_l1_loss", X, TARGET),
    sample("nn.functional.huber_loss", X, TARGET),
    sample("nn.functional.soft_margin_loss", X, TARGET),
    sample("nn.functional.hinge_embedding_loss", X, TARGET),
    sample("nn.functional.poisson_nll_loss", X, of(SHAPES, kind="uniform", high=9, wants=False)),
    sample("nn.functional.gaussian_nll_loss", X, TARGET, POSITIVE),
    sample("nn.functional.binary_cross_entropy", CHANCES,
           of(SHAPES, kind="uniform", wants=False)),
    sample("nn.functional.binary_cross_entropy_with_logits", X,
           of(SHAPES, kind="uniform", wants=False)),
    sample("nn.functional.kl_div", X, of(SHAPES, kind="uniform", low=0.1, wants=False),
           call=lambda m, x, y: m.nn.functional.kl_div(x, y, reduction="batchmean")),
    sample("nn.functional.margin_ranking_loss", X, X, TARGET),
]  # fmt: skip

FAMILY: list[Sample] = [*UNARY, *BINARY, *ACTIVATIONS, *CONVERSIONS, *LOSSES]
