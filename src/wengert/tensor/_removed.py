"""Functions removed or deprecated by PyTorch, which point to their replacements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from wengert.core.messages import warn
from wengert.core.tensor import Tensor
from wengert.ops.shape import reshape
from wengert.tensor.arguments import require_tensor, size_of


def _removed(name: str, purpose: str, instead: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"torch.{name}(): This function was deprecated since version 1.9 and is now removed."
            f" Use {instead}."
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""RuntimeError: {purpose} are found otherwise, see the error.

    >>> import wengert
    >>> try:
    ...     wengert.{name}()
    ... except RuntimeError as error:
    ...     print("removed" in str(error))
    True
    """
    return function


eig = _removed("eig", "eigenvalues", "torch.linalg.eig(A)")
lstsq = _removed(
    "lstsq", "least squares", "torch.linalg.lstsq(A, B).solution, for torch.lstsq(B, A)"
)
matrix_rank = _removed("matrix_rank", "the rank of a matrix", "torch.linalg.matrix_rank(A)")
solve = _removed("solve", "linear equations", "torch.linalg.solve(A, B), for torch.solve(B, A)")
symeig = _removed("symeig", "eigenvalues of symmetric matrices", 'torch.linalg.eigh(A, UPLO="U")')


def reinforce(self: Tensor, reward: Any) -> None:
    """RuntimeError: `distributions` have the log-probabilities of samples.

    >>> import wengert
    >>> try:
    ...     wengert.ones(1).reinforce(1.0)
    ... except RuntimeError as error:
    ...     print("removed" in str(error))
    True
    """
    raise RuntimeError(
        "reinforce() was removed. Use torch.distributions instead: m = Categorical(probs); action ="
        " m.sample(); loss = -m.log_prob(action) * reward; loss.backward()"
    )


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """The tensor in another shape of as many elements: `reshape`, with a warning.

    >>> import warnings, wengert
    >>> with warnings.catch_warnings(action="ignore"):
    ...     wengert.arange(4).resize(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    warn("non-inplace resize is deprecated")
    return _resized(self, size_of("resize", sizes))


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """`resize` to the shape of another tensor, with a warning.

    >>> import warnings, wengert
    >>> with warnings.catch_warnings(action="ignore"):
    ...     wengert.arange(2).resize_as(wengert.ones(2, 1))
    tensor([[0],
            [1]])
    """
    require_tensor("resize_as", "tensor", tensor)
    warn("non-inplace resize_as is deprecated")
    return _resized(self, tuple(tensor.shape))


def _resized(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    size = tensor._outline.size
    if prod(shape) != size:
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, shape))} ({prod(shape)} elements in total),"
            f" but the given tensor has a size of {'x'.join(map(str, tensor._outline.shape))}"
            f" ({size} elements). autograd's resize can only change the shape of a given tensor,"
            " while preserving the number of elements."
        )
    return reshape(tensor, shape)


def _volatile(self: Tensor) -> bool:
    warn("volatile was removed (Variable.volatile is always False)")
    return False


def _set_volatile(self: Tensor, value: Any) -> None:
    warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    for function in (eig, lstsq, reinforce, resize, resize_as, solve, symeig):
        setattr(define, function.__name__, function)
    define.volatile = property(_volatile, _set_volatile)


__all__ = ["eig", "lstsq", "matrix_rank", "solve", "symeig"]
