"""``theano.tests.unittest_tools``: seeds, and gradients compared with finite differences."""

from __future__ import annotations

from typing import Any
from unittest import SkipTest as SkipTest

import numpy as np

from wengert.symbolic import gradient

_SEED = 666  # Theano's
_TOLERANCES = {"float16": 5e-3, "float32": 1e-5}


def fetch_seed(pseed: int | str | None = None) -> int | None:
    """The seed of tests: a given one, or 666; None for ``"random"``."""
    if pseed == "random":
        return None
    return int(pseed or _SEED)


def seed_rng(pseed: int | str | None = None) -> int | None:
    """Seed NumPy's generator with `fetch_seed`, and give the seed.

    >>> from wengert.symbolic.tests import unittest_tools
    >>> unittest_tools.seed_rng()
    666
    """
    seed = fetch_seed(pseed)
    np.random.seed(seed)
    return seed


def verify_grad(op: Any, pt: Any, n_tests: int = 2, rng: Any = None, *args: Any,
                **kwargs: Any) -> None:  # fmt: skip
    """`gradient.verify_grad`, with a generator of its own unless one is given.

    Raises `gradient.GradientError` where the gradient of `op` differs from finite differences.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.tests import unittest_tools
    >>> unittest_tools.verify_grad(T.exp, [[0.5, 1.0]])
    """
    rng = np.random.RandomState(fetch_seed()) if rng is None else rng
    gradient.verify_grad(op, pt, n_tests, rng, *args, **kwargs)


verify_grad.E_grad = gradient.GradientError  # type: ignore[attr-defined]


def assert_allclose(expected: Any, value: Any, rtol: float | None = None,
                    atol: float | None = None) -> None:  # fmt: skip
    """Raise AssertionError unless two arrays agree, by default as closely as their dtypes can."""
    coarsest = max(_TOLERANCES.get(np.asarray(a).dtype.name, 1e-8) for a in (expected, value))
    rtol = max(coarsest, 1e-5) if rtol is None else rtol
    np.testing.assert_allclose(value, expected, rtol, coarsest if atol is None else atol)
