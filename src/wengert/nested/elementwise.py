"""The functions that treat each element on its own."""

from __future__ import annotations

# Functions of each element, with an in-place form or without; and copies, in other dtypes too.
_ELEMENTWISE = (
    "abs acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and"
    " bitwise_not bitwise_or bitwise_xor ceil celu clamp clamp_max clamp_min clip copysign cos"
    " cosh deg2rad div divide dropout elu eq erf erfc erfinv exp exp2 expm1"
    " feature_alpha_dropout fill alpha_dropout floor floor_divide fmax fmin fmod frac ge gelu gt"
    " hardshrink hardsigmoid hardswish hardtanh isfinite isinf isnan isneginf isposinf ldexp le"
    " leaky_relu lerp lgamma log log10 log1p log2 logaddexp logical_and logical_not logical_or"
    " logical_xor logit logsigmoid lt masked_fill maximum minimum mish mul multiply nan_to_num"
    " ne neg negative positive pow rad2deg reciprocal relu relu6 remainder round rsqrt selu sgn"
    " sigmoid sign signbit silu sin sinc sinh softplus softshrink softsign sqrt square sub"
    " subtract tan tanh tanhshrink threshold true_divide trunc where xlogy zero bfloat16 bool"
    " byte char clone contiguous cpu detach double float half int long short to type empty_like"
    " full_like ones_like rand_like randint_like randn_like zeros_like rsub rdiv rtruediv rpow"
    " rfloordiv rmod truediv floordiv mod and or xor invert copy normal uniform bernoulli"
    " requires_grad"
)
ELEMENTWISE = frozenset(_ELEMENTWISE.split())
