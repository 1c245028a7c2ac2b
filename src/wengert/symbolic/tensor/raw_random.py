"""``theano.tensor.raw_random``: numbers of a generator that a program passes on by itself.

Each function takes a variable of a generator first, such as ``shared(np.random.RandomState(1))``,
and gives the generator as it is afterwards, and the numbers.
"""

from __future__ import annotations

from typing import Any

from wengert.symbolic.sampling import Distributions, Draw, RandomFunction, drawn
from wengert.symbolic.sharing import RandomStateType, random_state_type


class _Passed(Distributions):
    def __init__(self, state: Any) -> None:
        self.state = state

    def draw_from(self, name: str, draw: Draw, size: Any, parameters: Any, ndim: int | None,
                  dtype: Any, extra: int = 0) -> Any:  # fmt: skip
        return drawn(self.state, name, draw, size, parameters, ndim, dtype, extra)


def uniform(random_state: Any, size: Any = None, low: Any = 0.0, high: Any = 1.0,
            ndim: int | None = None, dtype: Any = None) -> Any:  # fmt: skip
    """Between two bounds.

    >>> import numpy as np
    >>> from wengert.symbolic import function, shared
    >>> from wengert.symbolic.tensor import raw_random
    >>> generator = shared(np.random.RandomState(1))
    >>> following, numbers = raw_random.uniform(generator, (2,))
    >>> f = function([], numbers, updates=[(generator, following)])
    >>> f(), f()
    (array([0.417022  , 0.72032449]), array([1.14374817e-04, 3.02332573e-01]))
    """
    return _Passed(random_state).uniform(size, low, high, ndim, dtype)


def normal(random_state: Any, size: Any = None, avg: Any = 0.0, std: Any = 1.0,
           ndim: int | None = None, dtype: Any = None) -> Any:  # fmt: skip
    """Of a normal distribution."""
    return _Passed(random_state).normal(size, avg, std, ndim, dtype)


def binomial(random_state: Any, size: Any = None, n: Any = 1, p: Any = 0.5,
             ndim: int | None = None, dtype: Any = "int64") -> Any:  # fmt: skip
    """How many of `n` trials succeed."""
    return _Passed(random_state).binomial(size, n, p, ndim, dtype)


def random_integers(random_state: Any, size: Any = None, low: Any = 0, high: Any = 1,
                    ndim: int | None = None, dtype: Any = "int64") -> Any:  # fmt: skip
    """Integers between two bounds, both included."""
    return _Passed(random_state).random_integers(size, low, high, ndim, dtype)


def choice(random_state: Any, size: Any = None, a: Any = 2, replace: bool = True, p: Any = None,
           ndim: int | None = None, dtype: Any = "int64") -> Any:  # fmt: skip
    """Elements of `a`, or numbers below it."""
    return _Passed(random_state).choice(size, a, replace, p, ndim, dtype)


def poisson(random_state: Any, size: Any = None, lam: Any = 5, ndim: int | None = None,
            dtype: Any = "int64") -> Any:  # fmt: skip
    """Of a Poisson distribution."""
    return _Passed(random_state).poisson(size, lam, ndim, dtype)


def permutation(random_state: Any, size: Any = None, n: Any = 1, ndim: int | None = None,
                dtype: Any = "int64") -> Any:  # fmt: skip
    """The numbers below `n` in some order."""
    return _Passed(random_state).permutation(size, n, ndim, dtype)


def multinomial(random_state: Any, size: Any = None, n: Any = 1, pvals: Any = (0.5, 0.5),
                ndim: int | None = None, dtype: Any = "int64") -> Any:  # fmt: skip
    """How often each of several outcomes occurs in `n` trials."""
    return _Passed(random_state).multinomial(size, n, pvals, ndim, dtype)


__all__ = [
    "RandomFunction",
    "RandomStateType",
    "binomial",
    "choice",
    "multinomial",
    "normal",
    "permutation",
    "poisson",
    "random_integers",
    "random_state_type",
    "uniform",
]
