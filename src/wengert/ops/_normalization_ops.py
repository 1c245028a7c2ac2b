"""The operations behind normalisation: by the input's own statistics, or by running ones.

One kernel computes them all (see `kernels.norm.plan.NormPlan`). A node saves its input and each
group's mean and deviation. Rules run a kernel on arrays; when the derivative is itself
recorded they recompute the statistics from the input, so that they are differentiated too.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.dtypes import of_numpy
from wengert.core.storage import before_writes
from wengert.core.tensor import Tensor
from wengert.kernels.layout import as_images
from wengert.kernels.precision import HALF, narrowed, widened
from wengert.ops.batching import Batch
from wengert.ops.broadcasting import expand
from wengert.ops.casting import convert
from wengert.ops.declare import Value, primitive
from wengert.ops.reduction import mean_over, sum_to_shape

if TYPE_CHECKING:
    from wengert.kernels.norm.plan import NormPlan

# The output's memory layout, from the output as computed and the input.
Arrange = Callable[[np.ndarray, np.ndarray], np.ndarray]
_FLOAT32 = np.dtype(np.float32)


def _moments(input: Value, plan: NormPlan) -> tuple[Value, Value, Value]:
    """Mean (None if not subtracted), the centred input and the variance, in the plan's view."""
    x = input.reshape(plan.view)
    mean = mean_over(x, plan.axes, True) if plan.centred else None
    x = x if mean is None else x - mean
    return mean, x, mean_over(x * x, plan.axes, True)


def _normalised(input: Value, plan: NormPlan, eps: float) -> tuple[Value, Value]:
    """The normalised input and 1 / deviation, in the plan's view, by recorded operations."""
    _, x, variance = _moments(input, plan)
    rstd = (variance + eps) ** -0.5
    return x * rstd, rstd


def _single(x: Value) -> Value:
    """Values, in float32 where they are of halves."""
    if not isinstance(x, Tensor):
        return widened(x)
    return convert(x, dtypes.float32) if x._outline.dtype in HALF else x


def _typed(x: Value, dtype: np.dtype[Any]) -> Value:
    """The gradient of what has a dtype, computed in float32 if that is of halves."""
    return convert(x, of_numpy[dtype]) if isinstance(x, Tensor) else narrowed(x, dtype)


def _dtype_of(x: Value) -> np.dtype[Any]:
    dtype: np.dtype[Any] = x._outline.dtype if isinstance(x, Tensor) else x.dtype
    return dtype


def _weight_dtype(g: Value, wide: bool) -> np.dtype[Any]:
    """The dtype of weight and bias beside outputs with such a gradient."""
    return _FLOAT32 if wide else _dtype_of(g)


def _recorded(*values: Value) -> bool:
    """Whether a rule runs on Tensors: in a recorded derivative, or in a batch of them."""
    return any(isinstance(x, Tensor) for x in values)


def _at_once(
    g: Value, input: Value, weight: Value, mean: Value, rstd: Value, plan: NormPlan
) -> Any:
    """All three gradients, if a kernel computes them in one pass."""
    if _recorded(g, input):
        return None
    return kernels.norm.gradients(g, input, weight, mean, rstd, plan)


def _input_vjp(
    g: Value, input: Value, weight: Value, mean: Value, rstd: Value, plan: NormPlan, eps: float,
    shared: Any,
) -> Value:  # fmt: skip
    if shared is not None:
        return shared[0]
    if not _recorded(g, input):
        return kernels.norm.input_gradient(g, input, weight, mean, rstd, plan)
    dtype = _dtype_of(input)
    if plan.wide:
        g, input = _single(g), _single(input)
    out, scale = _normalised(input, plan, eps)
    g = g.reshape(plan.channels)
    g = (g if weight is None else g * weight.reshape(plan.affine)).reshape(plan.view)
    inner = g - out * mean_over(g * out, plan.axes, True)
    if plan.centred:
        inner = inner - mean_over(g, plan.axes, True)
    return _typed((inner * scale).reshape(tuple(input.shape)), dtype)


def _images_vjp(
    g: Value, input: Value, weight: Value, mean: Value, rstd: Value, plan: NormPlan, eps: float,
    shared: Any,
) -> Value:  # fmt: skip
    """As `_input_vjp`, with channels last if the input's are."""
    found = _input_vjp(g, input, weight, mean, rstd, plan, eps, shared)
    return found if isinstance(found, Tensor) else as_images(found, input)


def _weight_vjp(
    g: Value, input: Value, weight_shape: Any, mean: Value, rstd: Value, plan: NormPlan, eps: float,
    shared: Any = None,
) -> Value:  # fmt: skip
    dtype = _weight_dtype(g, plan.wide)
    if shared is not None:
        return _typed(shared[1], dtype).reshape(weight_shape)
    if not _recorded(g, input):
        total = kernels.norm.weight_gradient(g, input, mean, rstd, plan)
        return _typed(total, dtype).reshape(weight_shape)
    if plan.wide:
        g, input = _single(g), _single(input)
    out, _ = _normalised(input, plan, eps)
    return _channel_sum(out.reshape(plan.channels) * g.reshape(plan.channels), weight_shape, plan)


def _bias_vjp(g: Value, bias_shape: Any, plan: NormPlan, shared: Any = None) -> Value:
    if shared is not None and shared[2] is not None:
        return _typed(shared[2], _weight_dtype(g, plan.wide)).reshape(bias_shape)
    return _channel_sum(_single(g) if plan.wide else g, bias_shape, plan)


def _channel_sum(g: Value, shape: tuple[int, ...], plan: NormPlan) -> Value:
    return sum_to_shape(g.reshape(plan.channels), plan.affine).reshape(shape)


def _reference(input: Value, weight: Value, bias: Value, plan: NormPlan, eps: float) -> Value:
    return _referred(input, weight, bias, plan, eps)[0]


def _referred(
    input: Value, weight: Value, bias: Value, plan: NormPlan, eps: float
) -> tuple[Value, Value, Value]:
    """The output, mean and variance, by ordinary operations."""
    shape, dtype = tuple(input.shape), of_numpy[input._outline.dtype]
    if input._outline.dtype in HALF:  # computed in float32 and rounded once
        in_float32 = (
            None if x is None else convert(x, dtypes.float32) for x in (input, weight, bias)
        )
        input, weight, bias = in_float32
    mean, x, variance = _moments(input, plan)
    out = (x * (variance + eps) ** -0.5).reshape(plan.channels)
    if weight is not None:
        out = out * weight.reshape(plan.affine)
    if bias is not None:
        out = out + bias.reshape(plan.affine)
    return convert(out.reshape(shape), dtype), mean, variance


_RULES: dict[str, Any] = {
    "input": _input_vjp,
    "weight": _weight_vjp,
    "bias": _bias_vjp,
}


def _declared(
    name: str, label: str, arrange: Arrange, input_vjp: Any = _input_vjp
) -> Callable[..., Tensor]:
    """Declare the operation under the name of one kind of normalisation, which its nodes show."""

    def forward(input: Value, weight: Value, bias: Value, plan: NormPlan, eps: float) -> Value:
        out, mean, _, rstd = kernels.norm.normalise(input, weight, bias, plan, eps)
        return arrange(out, input), mean, rstd

    forward.__name__ = name
    return primitive(
        mixed=False, aux=("mean", "rstd"), reference=_reference, shared=_at_once, label=label,
        **{**_RULES, "input": input_vjp},
    )(forward)  # fmt: skip


def _declared_with_statistics(name: str, label: str, arrange: Arrange) -> Callable[..., Tensor]:
    """As `_declared`; running statistics, if any, are moved towards those of the input."""

    def forward(
        input: Value, weight: Value, bias: Value, running_mean: Value, running_var: Value,
        plan: NormPlan, eps: float, momentum: float,
    ) -> Value:  # fmt: skip
        out, mean, variance, rstd = kernels.norm.normalise(input, weight, bias, plan, eps)
        if running_mean is not None:
            _follow(running_mean, running_var, mean, variance, plan.size, momentum)
        return arrange(out, input), mean, rstd, variance

    def reference(
        input: Value, weight: Value, bias: Value, running_mean: Value, running_var: Value,
        plan: NormPlan, eps: float, momentum: float,
    ) -> Value:  # fmt: skip
        out, mean, variance = _referred(input, weight, bias, plan, eps)
        if running_mean is not None:
            _follow(running_mean, running_var, mean, variance, plan.size, momentum)
        return out

    forward.__name__ = name
    return primitive(
        mixed=False, aux=("mean", "rstd", "variance"), reference=reference, shared=_at_once,
        label=label, updates={"running_mean": _next_mean, "running_var": _next_variance},
        **_RULES, running_mean=None, running_var=None,
    )(forward)  # fmt: skip


def _follow(
    running_mean: Value, running_var: Value, mean: Value, variance: Value, count: int, momentum: Any
) -> None:  # fmt: skip
    """Move the running statistics towards those of this batch (the unbiased variance)."""
    if count == 0:
        return
    if type(running_mean) is np.ndarray:
        before_writes((running_mean, running_var))
    for running, now in ((running_mean, mean), (running_var, _unbiased(variance, count))):
        _moved(running, _over_samples(now, running), momentum)


def _unbiased(variance: Value, count: int) -> Value:
    return variance * (count / max(count - 1, 1))


def _over_samples(now: Value, running: Value) -> Value:
    """The means of statistics of which each sample may have its own."""
    if type(now) is np.ndarray and now.size == running.size:
        return now.reshape(running.shape)
    return now.reshape((-1, running.shape[0])).mean(0)


def _next_mean(running_mean: Value, mean: Value, plan: NormPlan, momentum: Any) -> Value:
    return _next(running_mean, mean, plan, momentum)


def _next_variance(running_var: Value, variance: Value, plan: NormPlan, momentum: Any) -> Value:
    return _next(running_var, _unbiased(variance, plan.size), plan, momentum)


def _next(running: Value, now: Value, plan: NormPlan, momentum: Any) -> Value:
    if plan.size == 0:
        return running
    return _moved(running.copy(), _over_samples(now, running), momentum)


def _moved_in_batch(b: Batch) -> Any:
    """Running statistics shared by samples move towards the mean over the samples."""
    now, momentum = b.whole("now"), b.values["momentum"]
    if "running" in b.batched:
        if "momentum" in b.batched:
            momentum = momentum.reshape((b.size, 1))
        return b(now=now, momentum=momentum)
    if "momentum" in b.batched:
        momentum = momentum.mean(0)
    return expand(b(now=now.mean(0), momentum=momentum), (b.size, *b.shape("running")))


@primitive(
    running=None, now=None, momentum=None, mixed=False, batch=_moved_in_batch, name="batch_norm"
)
def _moved(running: Value, now: Value, momentum: Value = 0.1) -> Value:
    """Running statistics, moved in place towards the current ones."""
    if running.dtype in HALF:  # rounded once
        wide = widened(running) * (1 - momentum) + momentum * now
        running[...] = narrowed(wide.astype(np.float32, copy=False), running.dtype)
        return running
    if not kernels.norm.follow(running, now, momentum):
        running *= 1 - momentum
        running += (momentum * now).astype(running.dtype, copy=False)
    return running


def _contiguous(out: np.ndarray, input: np.ndarray) -> np.ndarray:
    return out if out.flags.c_contiguous else np.ascontiguousarray(out)


_layer_norm = _declared("_layer_norm", "NativeLayerNormBackward0", _contiguous)
_rms_norm = _declared("_rms_norm", "RmsNormBackward0", as_images)
_group_norm = _declared("_group_norm", "NativeGroupNormBackward0", as_images, _images_vjp)
_batch_norm = _declared_with_statistics("_batch_norm", "NativeBatchNormBackward0", as_images)
_instance_norm = _declared_with_statistics("_instance_norm", "InstanceNormBackward0", _contiguous)


def _fixed_sums(g: Value, input: Value, mean: Value, rstd: Value, wide: bool) -> Any:
    """The gradients of weight and bias, if a kernel computes them in one pass."""
    if _recorded(g, input):
        return None
    shape = input.shape
    view = (shape[0], shape[1], prod(shape[2:]))
    plan = kernels.norm.plan.NormPlan(view, (0, 2), view, (shape[1], 1), wide=wide)
    sums = kernels.norm.channel_sums(g, input, mean, rstd, plan)
    return None if sums is None else [_typed(x, _weight_dtype(g, plan.wide)) for x in sums]


def _fixed_input_vjp(g: Value, weight: Value, input_shape: Any, rstd: Value) -> Value:
    scale = rstd if weight is None else _single(weight) * rstd
    if _recorded(g, scale):
        column = scale.reshape(-1, *(1,) * (len(input_shape) - 2))
        return _typed(_single(g) * column, _dtype_of(g))
    return kernels.norm.scaled(g, np.zeros_like(scale), scale, None)


def _fixed_weight_vjp(
    g: Value, input: Value, weight_shape: Any, mean: Value, rstd: Value, wide: bool, shared: Any
) -> Value:
    if shared is not None:
        return shared[0].reshape(weight_shape)
    affine = (-1, *(1,) * (input.ndim - 2))
    normal = (_single(input) - mean.reshape(affine)) * rstd.reshape(affine)
    total = _per_channel(_single(g) * normal, weight_shape)
    return _typed(total, _weight_dtype(g, wide))


def _fixed_bias_vjp(g: Value, bias_shape: Any, wide: bool, shared: Any = None) -> Value:
    if shared is not None:
        return shared[1].reshape(bias_shape)
    return _typed(_per_channel(_single(g), bias_shape), _weight_dtype(g, wide))


def _per_channel(g: Value, shape: tuple[int, ...]) -> Value:
    return sum_to_shape(g, (*shape, *(1,) * (g.ndim - 2))).reshape(shape)


def _by_running_reference(
    input: Value, weight: Value, bias: Value, running_mean: Value, running_var: Value, eps: float,
    wide: bool = False,
) -> Value:  # fmt: skip
    affine, dtype = (-1, *(1,) * (input.ndim - 2)), of_numpy[input._outline.dtype]
    if input._outline.dtype in HALF:  # computed in float32 and rounded once
        input, running_mean, running_var = map(_single, (input, running_mean, running_var))
        weight, bias = (None if x is None else _single(x) for x in (weight, bias))
    within = of_numpy[input._outline.dtype]
    rstd = convert((running_var + eps) ** -0.5, within)
    scale = rstd if weight is None else weight * rstd
    out = (input - convert(running_mean, within).reshape(affine)) * scale.reshape(affine)
    return convert(out if bias is None else out + bias.reshape(affine), dtype)


@primitive(
    mixed=False,
    aux=("mean", "rstd"),
    label="NativeBatchNormBackward0",
    reference=_by_running_reference,
    shared=_fixed_sums,
    input=_fixed_input_vjp,
    weight=_fixed_weight_vjp,
    bias=_fixed_bias_vjp,
    running_mean=None,
    running_var=None,
    name="batch_norm",
)
def _batch_norm_by_running(
    input: Value, weight: Value, bias: Value, running_mean: Value, running_var: Value, eps: float,
    wide: bool = False,
) -> Value:  # fmt: skip
    """`wide`: see `NormPlan`."""
    dtype = _FLOAT32 if input.dtype in HALF else input.dtype
    rstd = kernels.norm.inverse_deviation(widened(running_var), eps).astype(dtype, copy=False)
    mean = running_mean.astype(dtype)  # a copy: the buffer may change before the backward pass
    scale = rstd if weight is None else widened(weight) * rstd
    out = kernels.norm.scaled(input, mean, scale, None if bias is None else widened(bias))
    return as_images(out, input), mean, rstd
