"""``theano.tests.unittest_tools``: seeds, and gradients compared with finite differences."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Sequence
from typing import Any
from unittest import SkipTest as SkipTest

import numpy as np

from wengert.symbolic import gradient
from wengert.symbolic.functions import function
from wengert.symbolic.modes import get_default_mode

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


class WrongValue(AssertionError):  # noqa: N818
    """Two arrays differ."""

    def __init__(self, expected_val: Any, val: Any, rtol: float, atol: float) -> None:
        self.val1, self.val2, self.rtol, self.atol = expected_val, val, rtol, atol
        super().__init__(f"expected {expected_val}, got {val} (rtol={rtol}, atol={atol})")


def assert_allclose(expected: Any, value: Any, rtol: float | None = None,
                    atol: float | None = None) -> None:  # fmt: skip
    """Raise `WrongValue` unless two arrays agree, by default as closely as their dtypes can."""
    coarsest = max(_TOLERANCES.get(np.asarray(a).dtype.name, 1e-8) for a in (expected, value))
    rtol = max(coarsest, 1e-5) if rtol is None else rtol
    atol = coarsest if atol is None else atol
    if not np.allclose(expected, value, rtol, atol, equal_nan=True):
        raise WrongValue(expected, value, rtol, atol)


class TestOptimizationMixin:
    """Assertions about which operations a function runs."""

    def assertFunctionContains(self, f: Any, op: Any, min: int = 1,  # noqa: N802
                               max: int = sys.maxsize) -> None:  # fmt: skip
        """Raise AssertionError unless a function has so many nodes of an operation."""
        self._assert_count(f, [node.op == op for node in f.maker.fgraph.toposort()], op, min, max)

    def assertFunctionContains0(self, f: Any, op: Any) -> None:  # noqa: N802
        """No node."""
        self.assertFunctionContains(f, op, 0, 0)

    def assertFunctionContains1(self, f: Any, op: Any) -> None:  # noqa: N802
        """One node."""
        self.assertFunctionContains(f, op, 1, 1)

    def assertFunctionContainsN(self, f: Any, op: Any, N: int) -> None:  # noqa: N802, N803
        """So many nodes."""
        self.assertFunctionContains(f, op, N, N)

    def assertFunctionContainsClass(self, f: Any, op: Any, min: int = 1,  # noqa: N802
                                    max: int = sys.maxsize) -> None:  # fmt: skip
        """As `assertFunctionContains`, for operations of a class."""
        found = [isinstance(node.op, op) for node in f.maker.fgraph.toposort()]
        self._assert_count(f, found, op, min, max)

    def assertFunctionContainsClassN(self, f: Any, op: Any, N: int) -> None:  # noqa: N802, N803
        """So many nodes of a class."""
        self.assertFunctionContainsClass(f, op, N, N)

    @staticmethod
    def _assert_count(f: Any, found: list[bool], op: Any, least: int, most: int) -> None:
        if not least <= sum(found) <= most:
            raise AssertionError(
                f"{f} has {sum(found)} nodes of {op}, expected {least} to {most}:"
                f" {f.maker.fgraph.toposort()}"
            )


class InferShapeTester(unittest.TestCase):
    """A test whose `_compile_and_check` compares the shapes of an operation's results.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.tests import unittest_tools
    >>> class TestDot(unittest_tools.InferShapeTester):
    ...     def test_shape(self):
    ...         x, y = T.dmatrix(), T.dvector()
    ...         self._compile_and_check([x, y], [T.dot(x, y)], [[[1.0, 2.0]], [3.0, 4.0]], T.Dot)
    >>> TestDot("test_shape").debug()
    """

    def setUp(self) -> None:
        """A seed, and the mode of functions."""
        seed_rng()
        mode = getattr(self, "mode", None)
        self.mode = (get_default_mode() if mode is None else mode).including("canonicalize")

    def _compile_and_check(self, inputs: Sequence[Any], outputs: Sequence[Any],
                           numeric_inputs: Sequence[Any], cls: Any, excluding: Any = None,
                           warn: bool = True, check_topo: bool = True) -> None:  # fmt: skip
        """Raise AssertionError unless shapes that a function computes are those of its results.

        With `check_topo`, the operation has to be left out where only shapes are computed.
        """
        mode = self.mode.excluding(*excluding or ())
        computed = function(inputs, outputs, mode=mode)
        shapes = function(inputs, [y.shape for y in outputs], mode=mode)
        if check_topo and any(isinstance(n.op, cls) for n in shapes.maker.fgraph.toposort()):
            raise AssertionError(f"{cls} runs although only the shapes of its results are needed")
        if not any(isinstance(n.op, cls) for n in computed.maker.fgraph.toposort()):
            raise AssertionError(f"{cls} is not in the graph of {outputs}")
        for y, shape in zip(computed(*numeric_inputs), shapes(*numeric_inputs), strict=True):
            if y.shape != tuple(shape):
                raise AssertionError(f"a result has shape {y.shape}, computed was {tuple(shape)}")
