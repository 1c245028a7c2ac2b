"""Convolutions by their sizes, and arrays for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels import conv
from wengert.kernels.conv.route import Problem, Route
from wengert.kernels.geometry import Geometry
from wengert.kernels.jit import get_threads


class Case(NamedTuple):
    """A convolution by its sizes; channels are those of a group."""

    batch: int
    channels: int
    size: tuple[int, ...]
    outs: int
    kernel: tuple[int, ...]
    geometry: Geometry

    @property
    def out(self) -> tuple[int, ...]:
        return self.geometry.out_size(self.size, self.kernel)

    @property
    def problem(self) -> Problem:
        groups = self.geometry.groups
        x = (self.batch, self.channels * groups, *self.size)
        weight = (self.outs * groups, self.channels, *self.kernel)
        return Problem(x, weight, self.out, self.geometry, True, get_threads(), "auto")

    def arrays(self, draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Input, weight, gradient of the output, bias; `draw` gives numbers of a shape."""
        groups = self.geometry.groups
        x = draw((self.batch, self.channels * groups, *self.size))
        weight = draw((self.outs * groups, self.channels, *self.kernel))
        g = draw((self.batch, self.outs * groups, *self.out))
        return x, weight, g, draw((self.outs * groups,))


def case_of(
    batch: int, channels: int, size: tuple[int, ...], outs: int, kernel: tuple[int, ...],
    stride: int = 1, padding: tuple[int, int] = (0, 0), dilation: int = 1, groups: int = 1,
) -> Case:  # fmt: skip
    n = len(size)
    geometry = Geometry((stride,) * n, (padding,) * n, (dilation,) * n, groups)
    return Case(batch, channels, size, outs, kernel, geometry)


def integers(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers whose sums of products float32 holds exactly."""
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float32)


def floats(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def by_route(
    route: type[Route], case: Case, x: Any, weight: Any, g: Any, bias: Any
) -> Iterator[np.ndarray]:
    """All three maps by that route."""
    planned = route(case.problem)
    yield planned.forward(x, weight, bias)
    yield planned.grad_input(g, weight)
    yield planned.grad_weight(g, x)


def chosen(case: Case, x: Any, weight: Any, g: Any, bias: Any) -> Iterator[np.ndarray]:
    """All three maps by the route of each; of float64 that is NumPy's."""
    yield conv.forward(x, weight, case.geometry, bias)
    yield conv.grad_input(g, weight, case.size, case.geometry)
    yield conv.grad_weight(g, x, case.kernel, case.geometry)


def check(case: Case, route: type[Route]) -> None:
    """Integers, whose sums are exact."""
    arrays = case.arrays(integers)
    wide = [a.astype(np.float64) for a in arrays]
    for got, expected in zip(by_route(route, case, *arrays), chosen(case, *wide), strict=True):
        assert got.dtype == np.float32
        assert got.flags.c_contiguous
        np.testing.assert_array_equal(got, expected)


CASES = [
    case_of(1, 1, (1, 1), 1, (1, 1)),
    case_of(2, 3, (9, 7), 5, (3, 3), padding=(1, 1)),
    case_of(3, 1, (28, 28), 32, (3, 3), padding=(1, 1)),
    case_of(64, 16, (8, 8), 32, (3, 3), padding=(1, 1)),
    case_of(9, 5, (4, 4), 6, (3, 3), padding=(1, 1)),
    case_of(2, 7, (13, 11), 9, (5, 4), padding=(2, 0)),
    case_of(2, 7, (13, 11), 9, (5, 4), padding=(0, 3)),
    case_of(5, 4, (16, 16), 8, (4, 4), stride=2, padding=(1, 1)),
    case_of(2, 3, (15, 17), 6, (4, 4), stride=2, padding=(1, 1)),
    case_of(2, 3, (14, 17), 6, (3, 2), stride=3, padding=(2, 1)),
    case_of(2, 3, (17, 10), 6, (1, 1), stride=2),
    case_of(2, 3, (17, 10), 6, (2, 1), stride=4),
    case_of(2, 2, (19, 23), 3, (3, 3), padding=(4, 4), dilation=3),
    case_of(2, 2, (19, 23), 3, (3, 3), stride=2, padding=(3, 2), dilation=2),
    case_of(2, 3, (12, 12), 5, (3, 3), padding=(1, 1), groups=3),
    case_of(2, 1, (12, 12), 1, (3, 3), stride=2, padding=(1, 1), groups=6),
    case_of(1, 130, (20, 21), 11, (3, 3), padding=(1, 1)),
    case_of(1, 3, (120, 75), 4, (7, 7), stride=2, padding=(3, 3)),
    case_of(2, 3, (1, 3001), 5, (1, 9), padding=(4, 4)),
    case_of(3, 6, (2000,), 7, (5,), stride=2, padding=(2, 2)),
    case_of(3, 6, (1999,), 7, (3,), stride=3, padding=(0, 1)),
    case_of(4, 2, (50,), 3, (4,), dilation=5, padding=(8, 8)),
    case_of(2, 3, (7, 8, 9), 4, (3, 3, 3), padding=(1, 1)),
    case_of(2, 3, (7, 8, 9), 4, (2, 3, 4), stride=2, padding=(1, 2)),
    case_of(1, 40, (6, 20, 30), 5, (3, 3, 3), padding=(1, 1)),
    case_of(1, 8, (3, 60, 70), 5, (3, 2, 3), stride=2, padding=(1, 1)),
]

SMALL = [case for case in CASES if np.prod(case.size) <= 4000]
