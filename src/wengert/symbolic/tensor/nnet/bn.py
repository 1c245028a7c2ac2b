"""Batch normalisation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.symbolic.expressions.arithmetic import add, cast, inv, mul, pow, sqrt, sub
from wengert.symbolic.expressions.elemwise import rebroadcast
from wengert.symbolic.expressions.reductions import mean as mean_over
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.reductions import var as variance_over
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.expressions.wrapped import Composed


def batch_normalization(inputs: Any, gamma: Any, beta: Any, mean: Any, std: Any,
                        mode: str = "low_mem") -> Any:  # fmt: skip
    """Inputs scaled by a mean and a standard deviation that are given."""
    return add(mul(sub(inputs, mean), gamma / as_tensor_variable(std)), beta)


def _axes(inputs: Any, axes: Any) -> tuple[int, ...]:
    if axes == "per-activation":
        return (0,)
    if axes == "spatial":
        return (0, *range(2, inputs.ndim))
    return tuple(axes) if isinstance(axes, Iterable) else (int(axes),)


def _back(inputs: Any, axes: tuple[int, ...], like: Any, result: Any) -> Any:
    """A statistic with as many dimensions as the parameters came with."""
    if as_tensor_variable(like).ndim == inputs.ndim:
        return result
    return result.dimshuffle(*[d for d in range(inputs.ndim) if d not in axes])


def _fitted(inputs: Any, axes: tuple[int, ...], *parameters: Any) -> list[Any]:
    """Parameters with as many dimensions as inputs, broadcastable along the axes."""
    others = [d for d in range(inputs.ndim) if d not in axes]
    fitted = []
    for parameter in parameters:
        p = as_tensor_variable(parameter)
        if p.ndim not in (len(others), inputs.ndim):
            raise ValueError(
                "parameters of a batch normalization have as many dimensions as the inputs"
                f" ({inputs.ndim}), or as there are besides the axes ({len(others)}); {p} has"
                f" {p.ndim}"
            )
        if p.ndim < inputs.ndim:
            p = p.dimshuffle(*[others.index(d) if d in others else "x" for d in range(inputs.ndim)])
        fitted.append(rebroadcast(p, [d in axes for d in range(inputs.ndim)]))
    return fitted


def batch_normalization_train(inputs: Any, gamma: Any, beta: Any, axes: Any = "per-activation",
                              epsilon: Any = 1e-4, running_average_factor: Any = 0.1,
                              running_mean: Any = None, running_var: Any = None
                              ) -> Any:  # fmt: skip
    """Inputs scaled by their own mean and variance over axes.

    Returns outputs, mean and inverse standard deviation; with running statistics their new values
    as well, in which the unbiased variance counts.
    """
    inputs = as_tensor_variable(inputs)
    over = _axes(inputs, axes)
    like = gamma
    gamma, beta = _fitted(inputs, over, gamma, beta)
    mean = mean_over(inputs, over, keepdims=True)
    variance = variance_over(inputs, over, keepdims=True)
    invstd = inv(sqrt(add(variance, cast(epsilon, inputs.dtype))))
    out = add(mul(sub(inputs, mean), mul(gamma, invstd)), beta)
    results = [out, mean, invstd]
    if running_mean is not None:
        (running,) = _fitted(inputs, over, running_mean)
        new = running * (1.0 - running_average_factor) + mean * running_average_factor
        results.append(cast(new, inputs.dtype))
    if running_var is not None:
        (running,) = _fitted(inputs, over, running_var)
        count: Any = 1
        for d in over:
            count = count * inputs.shape[d]
        unbiased = cast(count, inputs.dtype) / cast(count - 1, inputs.dtype) * variance
        new = running * (1.0 - running_average_factor) + unbiased * running_average_factor
        results.append(cast(new, inputs.dtype))
    return tuple([out, *(_back(inputs, over, like, r) for r in results[1:])])


def batch_normalization_test(inputs: Any, gamma: Any, beta: Any, mean: Any, var: Any,
                             axes: Any = "per-activation", epsilon: Any = 1e-4) -> Any:  # fmt: skip
    """Inputs scaled by a mean and a variance that are given."""
    inputs = as_tensor_variable(inputs)
    gamma, beta, mean, var = _fitted(inputs, _axes(inputs, axes), gamma, beta, mean, var)
    std = sqrt(add(var, cast(epsilon, inputs.dtype)))
    return add(mul(sub(inputs, mean), gamma / std), beta)


def batch_normalization_train_grad(x: Any, dy: Any, scale: Any, x_mean: Any, x_invstd: Any,
                                   epsilon: Any, axes: tuple[int, ...] = (0,)) -> Any:  # fmt: skip
    """The gradients of inputs, scale and bias, from that of the outputs and the statistics."""
    centred = sub(x, x_mean)
    slope = mean_over(mul(dy, centred), axes, keepdims=True)
    c = sub(mul(dy, x_invstd), mul(centred, mul(slope, pow(x_invstd, 3))))
    of_inputs = mul(scale, sub(c, mean_over(c, axes, keepdims=True)))
    of_scale = sum_over(mul(mul(dy, x_invstd), centred), axes, keepdims=True)
    return [of_inputs, of_scale, sum_over(dy, axes, keepdims=True)]


def _trained(x: Any, scale: Any, bias: Any, epsilon: Any = 1e-4, running_average_factor: Any = 0.1,
             running_mean: Any = None, running_var: Any = None,
             axes: tuple[int, ...] = (0,)) -> Any:  # fmt: skip
    return list(batch_normalization_train(
        x, scale, bias, axes, epsilon, running_average_factor, running_mean, running_var
    ))  # fmt: skip


def _inferred(x: Any, scale: Any, bias: Any, estimated_mean: Any, estimated_variance: Any,
              epsilon: Any = 1e-4, axes: tuple[int, ...] = (0,)) -> Any:  # fmt: skip
    return batch_normalization_test(
        x, scale, bias, estimated_mean, estimated_variance, axes, epsilon
    )


class AbstractBatchNormTrain(Composed):
    """``op(x, scale, bias, epsilon, factor, running_mean, running_var)``: as the function has it.

    Args:
        axes: those of the statistics.
    """

    function = staticmethod(_trained)


class AbstractBatchNormInference(Composed):
    """``op(x, scale, bias, mean, variance, epsilon)`` is `batch_normalization_test` over `axes`."""

    function = staticmethod(_inferred)


class AbstractBatchNormTrainGrad(Composed):
    """``op(x, dy, scale, mean, invstd, epsilon)`` is `batch_normalization_train_grad`."""

    function = staticmethod(batch_normalization_train_grad)
