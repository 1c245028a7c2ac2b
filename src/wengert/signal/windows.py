"""wengert.signal.windows: windows as `torch.signal.windows`, symmetric unless told otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np

from wengert.core.layout import strided
from wengert.core.tensor import Tensor
from wengert.tensor.arguments import Options, allocate, dtype_of, finish, require_int
from wengert.tensor.windows import Shape, cosines, sampled, triangle
from wengert.tensor.windows import kaiser as kaiser_shape


def bartlett(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:  # noqa: N803
    """A triangle of M weights; for a spectrum (``sym=False``) the first of a period of M.

    >>> import wengert
    >>> wengert.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("bartlett", M, sym, options, triangle)


def blackman(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:  # noqa: N803
    """Blackman's window, a sum of three cosines.

    >>> import wengert
    >>> wengert.signal.windows.blackman(5)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return _window("blackman", M, sym, options, lambda n: cosines(n, (0.42, 0.5, 0.08)))


def cosine(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:  # noqa: N803
    """Half a period of a sine.

    >>> import wengert
    >>> wengert.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _window("cosine", M, sym, options, lambda n: np.sin(math.pi / n * (np.arange(n) + 0.5)))


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True,  # noqa: N803
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A fall by a factor of e over each `tau` samples from the middle, or from `center`.

    >>> import wengert
    >>> wengert.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError(f"Center must be None for symmetric windows; got center={center}")

    def shape(n: int) -> np.ndarray:
        middle = (n - 1) / 2 if center is None else center
        return np.exp(-np.abs(np.arange(n) - middle) / tau)

    return _window("exponential", M, sym, options, shape)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, **options: Unpack[Options]  # noqa: N803
) -> Tensor:  # fmt: skip
    """The normal density's bell, 1 in the middle, of standard deviation `std` in samples.

    >>> import wengert
    >>> wengert.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window(
        "gaussian", M, sym, options,
        lambda n: np.exp(-0.5 * ((np.arange(n) - (n - 1) / 2) / std) ** 2),
    )  # fmt: skip


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, **options: Unpack[Options]  # noqa: N803
) -> Tensor:  # fmt: skip
    """A sum of cosines of 0, 1, 2, ... periods with coefficients `a` of alternating sign.

    >>> import wengert
    >>> wengert.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, Iterable):
        raise TypeError(f"Coefficients must be a list/tuple; got a={a}")
    coefficients = list(a)
    if not coefficients:
        raise ValueError("Coefficients cannot be empty; got a=[]")
    return _window("general_cosine", M, sym, options, lambda n: cosines(n, coefficients))


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, **options: Unpack[Options]  # noqa: N803
) -> Tensor:  # fmt: skip
    """``alpha - (1 - alpha) cos(t)``.

    >>> import wengert
    >>> wengert.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return _window("general_hamming", M, sym, options, lambda n: cosines(n, (alpha, 1.0 - alpha)))


def hamming(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:  # noqa: N803
    """`general_hamming` with alpha 0.54.

    >>> import wengert
    >>> wengert.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:  # noqa: N803
    """`general_hamming` with alpha 0.5.

    >>> import wengert
    >>> wengert.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, **options: Unpack[Options]  # noqa: N803
) -> Tensor:  # fmt: skip
    """Kaiser's window: the larger `beta`, the narrower.

    >>> import wengert
    >>> wengert.signal.windows.kaiser(3)[1]
    tensor(1.)
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window("kaiser", M, sym, options, lambda n: kaiser_shape(n, beta))


def nuttall(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:  # noqa: N803
    """Nuttall's window, a sum of four cosines with low side lobes.

    >>> import wengert
    >>> wengert.signal.windows.nuttall(3)[1]
    tensor(1.)
    """
    a = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
    return _window("nuttall", M, sym, options, lambda n: cosines(n, a))


def _window(name: str, length: Any, sym: bool, options: Options, shape: Shape) -> Tensor:
    if options.get("layout") not in (None, strided):
        raise ValueError(
            f"{name} is implemented for strided tensors only, got: {options['layout']}"
        )
    n = require_int(name, "M", length)
    if n < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={n}")
    dtype = dtype_of(name, options)
    if dtype.name not in ("float32", "float64"):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    array = allocate(lambda _, to: sampled(shape, n, not sym, to), (n,), dtype, options)
    return finish(name, array, options)


__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip
