"""What distributions share: broadcasting of parameters, probabilities and logits, lazy values."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, Generic, TypeVar, overload

from wengert.autograd.grad_mode import enable_grad
from wengert.core.info import finfo
from wengert.core.tensor import Tensor
from wengert.ops.broadcasting import broadcast_tensors
from wengert.ops.exponential import sigmoid
from wengert.ops.joining import stack
from wengert.ops.softmax import softmax
from wengert.tensor.creation import tensor, zeros

T = TypeVar("T")

euler_constant = 0.57721566490153286060  # -digamma(1)


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """The values as tensors of one shape; numbers take the dtype of the first tensor.

    >>> import wengert
    >>> from wengert.distributions.utils import broadcast_all
    >>> broadcast_all(1.0, wengert.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    for value in values:
        if not isinstance(value, Tensor | Number):
            raise ValueError(
                "Input arguments must all be instances of Number, torch.Tensor or objects"
                f" implementing __torch_function__; broadcast_all() got {type(value).__name__}"
            )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = None if first is None else first.dtype
    tensors = [
        v if isinstance(v, Tensor) else tensor(float(v) if dtype is None else v, dtype=dtype)
        for v in values
    ]
    return tuple(broadcast_tensors(*tensors))


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The probabilities that logits stand for: along the last dimension, or each for itself.

    >>> import wengert
    >>> from wengert.distributions.utils import logits_to_probs
    >>> logits_to_probs(wengert.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept off 0 and 1 by the precision of their dtype.

    >>> import wengert
    >>> from wengert.distributions.utils import clamp_probs
    >>> bool(clamp_probs(wengert.zeros(1)) > 0)
    True
    """
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logits of probabilities: logarithms, or for a binary choice those of the odds.

    >>> import wengert
    >>> from wengert.distributions.utils import probs_to_logits
    >>> probs_to_logits(wengert.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property(Generic[T]):
    """A method whose value is computed when first asked for, and kept.

    >>> from wengert.distributions.utils import lazy_property
    >>> class Square:
    ...     @lazy_property
    ...     def area(self):
    ...         return 4
    >>> Square().area
    4
    """

    def __init__(self, wrapped: Callable[[Any], T]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.__name__ = wrapped.__name__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> T: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        # Kept for later users too, who may want its gradient.
        with enable_grad():
            value = self.wrapped(instance)
        instance.__dict__[self.__name__] = value
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangle of each matrix, row by row, as a vector.

    >>> import wengert
    >>> from wengert.distributions.utils import tril_matrix_to_vec
    >>> tril_matrix_to_vec(wengert.tensor([[1, 0], [2, 3]]))
    tensor([1, 2, 3])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    entries = [mat[..., i, j] for i in range(n) for j in range(min(i + diag + 1, n))]
    return stack(entries, -1) if entries else mat.new_zeros((*mat.shape[:-2], 0))


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The matrices whose lower triangles, row by row, are these vectors.

    >>> import wengert
    >>> from wengert.distributions.utils import vec_to_tril_matrix
    >>> vec_to_tril_matrix(wengert.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    length = vec.shape[-1]
    # n rows hold n (n + 1 + 2 diag) / 2 entries, for diag <= 0 less a corner of the rest.
    n = (
        -(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5
    ) / 2
    if round(n) - n > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower"
            " triangular part of a square D x D matrix."
        )
    rows = round(n)
    matrix = zeros((*vec.shape[:-1], rows, rows), dtype=vec.dtype)
    i = [r for r in range(rows) for _ in range(min(r + diag + 1, rows))]
    j = [c for r in range(rows) for c in range(min(r + diag + 1, rows))]
    matrix[..., i, j] = vec
    return matrix


__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs",
    "probs_to_logits", "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip
