"""The softmax family of `torch.nn.functional`, where the dimension is optional."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.dtypes import dtype as DType
from wengert.core.generators import default_generator, draw_numbers
from wengert.core.messages import warn
from wengert.core.tensor import Tensor, wrap
from wengert.kernels.axes import axis_of
from wengert.ops.extrema import argmax
from wengert.ops.softmax import log_softmax as _log_softmax
from wengert.ops.softmax import softmax as _softmax


def _implied_dim(name: str, input: Any) -> int:
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include"
        " dim=X as an argument."
    )
    return 0 if input._outline.ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`; `dtype` converts the input first.

    >>> import wengert
    >>> wengert.nn.functional.softmax(wengert.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _softmax(input, _implied_dim("softmax", input) if dim is None else dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """The logarithm of `softmax` along `dim`, finite where softmax would round to zero.

    >>> import wengert
    >>> wengert.nn.functional.log_softmax(wengert.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return _log_softmax(input, _implied_dim("log_softmax", input) if dim is None else dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """`softmax` of the negated input along `dim`.

    >>> import wengert
    >>> wengert.nn.functional.softmin(wengert.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _softmax(-input, _implied_dim("softmin", input) if dim is None else dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-Softmax distribution of the `logits` along `dim`.

    With `hard` the sample is one-hot, with the gradient of the soft sample. `eps` has no
    effect, as in PyTorch.

    >>> import wengert
    >>> wengert.nn.functional.gumbel_softmax(wengert.tensor([0.0, 99.0]), hard=True)
    tensor([0., 1.])
    """
    shape, dtype = logits._outline.shape, logits._outline.dtype

    def noise(sizes: tuple[int, ...]) -> np.ndarray:
        waits = default_generator.exponential(math.prod(sizes)).astype(dtype)
        return -np.log(waits).reshape(sizes)

    soft = _softmax((logits + draw_numbers(noise, shape, partner=logits)) / tau, dim)
    if not hard:
        return soft
    axis = axis_of(dim, len(shape))
    classes = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - axis - 1))
    one_hot = (wrap(classes) == argmax(soft, axis, True)).to(soft.dtype)
    return one_hot - soft.detach() + soft


__all__: list[str] = []
FUNCTIONAL: tuple[str, ...] = ("gumbel_softmax", "log_softmax", "softmax", "softmin")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
