"""Overloads and arguments of calls whose form in PyTorch is another one than here.

By the name of a declared operation, or of a public function: each has the arguments of the call,
and returns the overload and its arguments, or None where the form is PyTorch's after all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor, wrap
from wengert.dispatch.aten import aten
from wengert.dispatch.overloads import OpOverload
from wengert.kernels.geometry import Geometry

Form = tuple[OpOverload, tuple[Any, ...], dict[str, Any]] | None


def _softmax(input: Tensor, dim: int) -> Form:
    return aten._softmax.default, (input, dim, False), {}


def _log_softmax(input: Tensor, dim: int) -> Form:
    return aten._log_softmax.default, (input, dim, False), {}


def _softmax_pullback(input: Tensor, output: Tensor, dim: int) -> Form:
    dtype = of_numpy[output._array.dtype]
    return aten._softmax_backward_data.default, (input, output, dim, dtype), {}


def _log_softmax_pullback(input: Tensor, output: Tensor, dim: int) -> Form:
    dtype = of_numpy[output._array.dtype]
    return aten._log_softmax_backward_data.default, (input, output, dim, dtype), {}


def _space(geometry: Geometry) -> tuple[list[int], list[int], list[int]] | None:
    """Strides, paddings and dilations; None where a side is padded more than the other."""
    if any(low != high for low, high in geometry.padding):
        return None
    padding = [low for low, _ in geometry.padding]
    return [*geometry.stride], padding, [*geometry.dilation]


def _convolution(input: Tensor, weight: Tensor, geometry: Geometry, bias: Any = None) -> Form:
    space = _space(geometry)
    if space is None:
        return None
    rest = (False, [0] * len(space[0]), geometry.groups)
    return aten.convolution.default, (input, weight, bias, *space, *rest), {}


def _transposed_convolution(
    input: Tensor, weight: Tensor, size: tuple[int, ...], geometry: Geometry, bias: Any = None
) -> Form:
    space = _space(geometry)
    if space is None:
        return None
    extra = []
    for n, total, k, s, p, d in zip(input.shape[2:], size, weight.shape[2:], *space, strict=True):
        extra.append(total - ((n - 1) * s - 2 * p + d * (k - 1) + 1))
    rest = (True, extra, geometry.groups)
    return aten.convolution.default, (input, weight, bias, *space, *rest), {}


def _reflected(name: str) -> Callable[..., Form]:
    def form(input: Any, other: Any) -> Form:
        if isinstance(input, Tensor):
            return None
        return getattr(aten, name).Tensor, (other, input), {}

    return form


def _sub(input: Any, other: Any) -> Form:
    return None if isinstance(input, Tensor) else (aten.rsub.Scalar, (other, input), {})


def _where(input: Any, other: Any, condition: Any) -> Form:
    return aten.where.self, (condition, input, other), {}


def index(input: Tensor, key: tuple[Any, ...]) -> Form:
    """A subscript by arrays, which stand beside full slices."""
    indices: list[Any] = []
    for part in key:
        if isinstance(part, np.ndarray):
            indices.append(wrap(part))
        elif isinstance(part, slice) and part == slice(None):
            indices.append(None)
        else:
            return None
    return aten.index.Tensor, (input, indices), {}


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: Any = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Form:  # fmt: skip
    """Rows of a table."""
    if max_norm is not None:
        return None
    options: tuple[Any, ...] = (
        -1 if padding_idx is None else padding_idx % len(weight), scale_grad_by_freq, sparse,
    )  # fmt: skip
    while options and options[-1] in (False, -1) and options[-1] is not True:
        options = options[:-1]
    return aten.embedding.default, (weight, input, *options), {}


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Form:
    """Dropout, in place or not."""
    packet = aten.dropout_ if inplace else aten.dropout
    return packet.default, (input, p, training), {}


def batch_norm(
    input: Tensor, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Form:  # fmt: skip
    """Normalisation over a batch."""
    values = (input, weight, bias, running_mean, running_var, training, momentum, eps, True)
    return aten.batch_norm.default, values, {}


# By the name of a declared operation.
OF_OPS: dict[str, Callable[..., Form]] = {
    "_add": _reflected("add"),
    "_convolution": _convolution,
    "_log_softmax": _log_softmax,
    "_log_softmax_pullback": _log_softmax_pullback,
    "_softmax": _softmax,
    "_softmax_pullback": _softmax_pullback,
    "_sub": _sub,
    "_transposed_convolution": _transposed_convolution,
    "_where": _where,
    "index": index,
    "mul": _reflected("mul"),
}
# By the name of a public function.
OF_FUNCTIONS: dict[str, Callable[..., Form]] = {
    "batch_norm": batch_norm,
    "dropout": dropout,
    "embedding": embedding,
}
