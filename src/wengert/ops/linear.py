"""Affine and bilinear maps of the last dimension."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor
from wengert.kernels.precision import narrowed
from wengert.kernels.products.blas import dot_by
from wengert.kernels.products.matmul import add_product, wide_product
from wengert.ops._products import samples
from wengert.ops.batching import Batch
from wengert.ops.broadcasting import expand
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.einsum import contracted
from wengert.ops.reduction import sum_to_shape
from wengert.ops.shape import reshape
from wengert.ops.variadic import require_tensor


def _input_vjp(g: Value, weight: Value) -> Value:
    if weight.ndim == 1:
        return linear(g[..., None], conj(weight)[:, None])
    return linear(g, conj(weight).T)


def _weight_vjp(g: Value, input: Value, weight_shape: tuple[int, ...]) -> Value:
    if len(weight_shape) == 1:
        return _outer(g[..., None], conj(input))[0]
    return _outer(g, conj(input))


def _add_weight_gradient(
    total: np.ndarray, g: Value, input: Value, weight_shape: tuple[int, ...]
) -> bool:
    if not (type(g) is type(input) is np.ndarray and g.ndim > 1 < len(weight_shape)):
        return False
    return add_product(total, _rows(g).T, _rows(input))


def _linear_in_batch(b: Batch) -> Any:
    x, w, bias = samples(b)
    _check_factors(x, w)
    shape = x.shape[:-1] + w.shape[:-1]
    if bias is not None:
        _check_bias(bias, shape, x.dtype)
    if b.batched == {"input"}:
        return b()  # leading dimensions become rows of a single product
    if not {"input", "weight"} & b.batched:
        out = linear(b.values["input"], b.values["weight"])
    else:
        lead = range(1 - x.ndim, 0)
        out = contracted(b, (*lead, "i"), ("o", "i")[-w.ndim :], (*lead, "o")[: len(shape)])
    if bias is None:
        return out
    term = b.values["bias"]
    if "bias" in b.batched:
        term = reshape(term, (b.size, *(1,) * (len(shape) - bias.ndim), *bias.shape))
    return out + term


def _linear_jvp(
    t_input: Value, t_weight: Value, t_bias: Value, input: Value, weight: Value, out: Value
) -> Value:
    """The tangent: the map is affine in each of its inputs, and the bias' tangent is added."""
    if t_input is not None:
        out_t = linear(t_input, weight, t_bias)
        return out_t if t_weight is None else out_t + linear(input, t_weight)
    if t_weight is not None:
        return linear(input, t_weight, t_bias)
    return expand(t_bias, tuple(out.shape))


@primitive(
    mixed=False,
    label="AddmmBackward0",
    batch=_linear_in_batch,
    jvp=_linear_jvp,
    accumulate={"weight": _add_weight_gradient},
    bias=lambda g, bias_shape: sum_to_shape(g, bias_shape),
    input=_input_vjp,
    weight=_weight_vjp,
)
def linear(input: Value, weight: Value, bias: Value = None) -> Value:
    """``input @ weight.T + bias``: `input` (..., in), `weight` (out, in), `bias` (out).

    Raises RuntimeError for shapes or dtypes that do not fit.

    >>> import wengert
    >>> x, w = wengert.tensor([[1., 2.]]), wengert.tensor([[1., 1.], [0., 3.]])
    >>> wengert.nn.functional.linear(x, w, wengert.tensor([0., 1.]))
    tensor([[3., 7.]])
    """
    if input is None or weight is None:
        name, position = ("input", 1) if input is None else ("weight", 2)
        raise TypeError(
            f"linear(): argument {name!r} (position {position}) must be Tensor, not NoneType"
        )
    if input.ndim == weight.ndim == 2 and input.dtype is weight.dtype and input.dtype.char in "fd":
        if bias is not None and bias.dtype is not input.dtype and bias.dtype != input.dtype:
            raise _mixed(input, bias)
        try:
            return dot_by(input, weight.T, weight, bias)
        except ValueError:
            if bias is None or input.shape[1] != weight.shape[1]:
                raise _mismatch(input, weight) from None
            raise _bias_mismatch(bias, (len(input), len(weight))) from None
    if input.dtype is weight.dtype and input.dtype.char in "fd" and _fit(input, weight, bias):
        rows = input.reshape(-1, input.shape[-1])
        return dot_by(rows, weight.T, weight, bias).reshape(*input.shape[:-1], len(weight))
    return _any_rank(input, weight, bias)


def _fit(input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> bool:
    """Whether rows of any number of dimensions, a weight and a bias are as layers have them."""
    if not input.size or not input.ndim or weight.ndim != 2 or input.shape[-1] != weight.shape[1]:
        return False
    return bias is None or (bias.dtype is input.dtype and bias.shape == weight.shape[:1])


def _check_bias(bias: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Raise unless a bias can be added to an output of this shape and dtype."""
    if bias.dtype != dtype:
        raise _mixed(np.empty(0, dtype), bias)
    lead = len(shape) - bias.ndim
    if lead < 0 or any(n not in (1, m) for n, m in zip(bias.shape, shape[lead:], strict=True)):
        raise _bias_mismatch(bias, shape)


def _bias_mismatch(bias: np.ndarray, shape: tuple[int, ...]) -> RuntimeError:
    return RuntimeError(
        f"The expanded size of the tensor ({shape[-1] if shape else 1}) must match the existing"
        f" size ({bias.shape[-1]}): linear() expects a bias that broadcasts to {list(shape)}, but"
        f" got one of shape {list(bias.shape)}"
    )


def _any_rank(input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """`linear` with any number of leading dimensions, as one matrix product; any dtype."""
    _check_factors(input, weight)
    shape = input.shape[:-1] + weight.shape[:-1]
    if bias is not None:
        _check_bias(bias, shape, input.dtype)
    row = None if bias is None or bias.ndim != weight.ndim - 1 else bias
    rows = _rows(input)
    if weight.ndim == 2 and input.dtype == np.float32:
        out = np.reshape(dot_by(rows, weight.T, weight, row), shape)
    else:
        out = narrowed(np.reshape(wide_product(rows, weight.T, row), shape), input.dtype)
    if bias is not None and row is None:
        out += bias
    return out


def _rows(x: Value) -> Value:
    """All leading dimensions as one; empty rows are as many as they were."""
    return x.reshape(prod(x.shape[:-1]), x.shape[-1])


def _check_factors(input: np.ndarray, weight: np.ndarray) -> None:
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            "both arguments to linear need to be at least 1D, but they are"
            f" {input.ndim}D and {weight.ndim}D"
        )
    if weight.ndim > 2:
        raise RuntimeError(f"linear() expects a weight with <= 2 dimensions, got {weight.ndim}D")
    if input.dtype != weight.dtype:
        raise _mixed(input, weight)
    if input.shape[-1] != weight.shape[-1]:
        raise _mismatch(input, weight)


def _mismatch(input: np.ndarray, weight: np.ndarray) -> RuntimeError:
    rows, width = input.size // max(input.shape[-1], 1), input.shape[-1]
    columns = weight.shape[0] if weight.ndim == 2 else 1
    return RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({rows}x{width} and"
        f" {weight.shape[-1]}x{columns}): linear() got input {list(input.shape)} and weight"
        f" {list(weight.shape)}"
    )


def _mixed(a: np.ndarray, b: np.ndarray) -> RuntimeError:
    return RuntimeError(
        "mat1 and mat2 must have the same dtype, but got"
        f" {of_numpy[a.dtype].short} and {of_numpy[b.dtype].short} in linear()"
    )


def _outer_in_batch(b: Batch) -> Any:
    lead = range(1 - b.rank("grad"), 0)
    return contracted(b, (*lead, "o"), (*lead, "i"), ("o", "i"))


@multilinear(
    mixed=False,
    batch=_outer_in_batch,
    grad=lambda g, input: linear(conj(input), g),
    input=lambda g, grad: linear(conj(grad), g.T),
)
def _outer(grad: Value, input: Value) -> Value:
    """The sum over all leading dimensions of outer products: the gradient of the weight."""
    a, b = grad, input
    if a.ndim != 2:
        a, b = _rows(a), _rows(b)
    return narrowed(wide_product(a.T, b), input.dtype)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each k, over any leading dimensions.

    Raises RuntimeError for shapes that do not fit.

    >>> import wengert
    >>> x, y = wengert.tensor([[1., 2.]]), wengert.tensor([[3., 4.]])
    >>> wengert.nn.functional.bilinear(x, y, wengert.ones(1, 2, 2))
    tensor([[21.]])
    """
    require_tensor("bilinear", "input1", input1)
    require_tensor("bilinear", "input2", input2, 2)
    require_tensor("bilinear", "weight", weight, 3)
    _check_bilinear(input1, input2, weight, bias)
    out, width, width2 = weight.shape
    left = linear(input1, weight.permute(0, 2, 1).reshape(out * width2, width))
    parts = left.unflatten(-1, (out, width2)) * input2.unsqueeze(-2)
    result = parts.sum(-1, dtype=parts.dtype)
    return result if bias is None else result + bias


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    a, b, w = input1.shape, input2.shape, weight.shape
    if len(w) != 3:
        raise RuntimeError(f"bilinear(): weight must be 3-D (out, in1, in2), got {list(w)}")
    if len(a) != len(b):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(a)} and {len(b)}")
    for d, (m, n) in enumerate(zip(a[:-1], b[:-1], strict=True)):
        if m != n:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {d}: got {m} and {n}"
            )
    for name, x, n in (("input1", a, w[1]), ("input2", b, w[2])):
        if x[-1] != n:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {x[-1]} but expected {n}"
            )
    if bias is not None and bias.shape != (w[0],):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {list(bias.shape)} but"
            f" expected [{w[0]}]"
        )


__all__ = ["bilinear"]
FUNCTIONAL = ("bilinear", "linear")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
