"""Which route a convolution takes: the first that fits, chosen and planned once for each problem.

Choices are cached per problem. The cache key is built on every call, so it uses only what a call
has at hand; the `Problem` itself is computed only for new keys.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np

from wengert.core.forks import cached_property
from wengert.kernels.conv.im2col import Im2col, Pointwise, biased
from wengert.kernels.conv.route import Direction, Problem, Route, Widened
from wengert.kernels.geometry import Geometry, Shape
from wengert.kernels.jit import available
from wengert.kernels.precision import BRAIN, HALF

# Multiplications from which compiled kernels justify the cost of their first call.
_COMPILED = 1 << 10
# With fewer rows than this a GEMM wastes most of its tiles.
_FEWEST_ROWS = 8
# Routes cached per map.
_REMEMBERED = 512

_F32 = np.dtype(np.float32)
DType = np.dtype[Any]


class Mirrored(Im2col):
    """The gradient of the input as a convolution with mirrored weights, by that one's route."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Whether the gradient is a convolution that uses columns, or plain matrix products.

        Compiled routes compute the gradient of the input in their own ways.
        """
        if direction != "grad_input":
            return False
        few = problem.weight[1] < _FEWEST_ROWS
        if compiled(problem):
            better = problem.pointwise and not few
        else:
            better = not few or problem.geometry.groups > 1
        return better and problem.adjoint is not None

    @cached_property
    def _convolution(self) -> Route:
        assert self.problem.adjoint is not None
        return route_for(self.problem.adjoint, "forward")

    def grad_input(
        self, g: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.grad_input`."""
        groups = self.problem.geometry.groups
        flipped = np.flip(weight, tuple(range(2, weight.ndim)))
        flipped = flipped.reshape(groups, -1, *weight.shape[1:]).swapaxes(1, 2)
        mirrored = flipped.reshape(groups * weight.shape[1], -1, *weight.shape[2:])
        return biased(self._convolution.forward(g, mirrored), bias)


def compiled(problem: Problem) -> bool:
    """Whether compiled kernels are available for it, and pay off."""
    return problem.float32 and problem.multiplications >= _COMPILED and available()


@cache
def _compiled_routes() -> tuple[type[Route], ...]:
    """The routes with kernels, in the order they are tried; the last fits everything."""
    from wengert.kernels.conv.apart import Apart
    from wengert.kernels.conv.batched import Batched
    from wengert.kernels.conv.depthwise import Depthwise
    from wengert.kernels.conv.direct import Direct
    from wengert.kernels.conv.few import Few
    from wengert.kernels.conv.interleaved import Interleaved
    from wengert.kernels.conv.winograd import Winograd

    return Winograd, Interleaved, Few, Apart, Depthwise, Batched, Direct


def route_for(problem: Problem, direction: Direction) -> Route:
    """The first route that fits a map of a problem."""
    routes: list[type[Route]] = [Pointwise, Mirrored]
    routes += _compiled_routes() if compiled(problem) else [Im2col]
    return next(route for route in routes if route.fits(problem, direction))(problem)


def _route(problem: Problem, direction: Direction, dtypes: tuple[DType, DType]) -> Route:
    """The route of a problem whose `float32` is still to be said, for arrays of these dtypes."""
    wide = {_F32 if dtype in HALF else dtype for dtype in dtypes}
    problem = problem._replace(float32=wide == {_F32})
    if HALF.isdisjoint(dtypes):
        return route_for(problem, direction)
    if set(dtypes) == {BRAIN} and compiled(problem):
        from wengert.kernels.conv.pairs import Pairs

        if Pairs.fits(problem, direction):
            return Pairs(problem)
    return Widened(route_for(problem, direction))


@lru_cache(_REMEMBERED)
def forward_route(
    x: Shape, weight: Shape, geometry: Geometry, x_dtype: DType, weight_dtype: DType,
    threads: int, winograd: str,
) -> Route:  # fmt: skip
    """The route from input and weight to the output."""
    out = geometry.out_size(x[2:], weight[2:])
    problem = Problem(x, weight, out, geometry, False, threads, winograd)
    return _route(problem, "forward", (x_dtype, weight_dtype))


@lru_cache(_REMEMBERED)
def grad_input_route(
    g: Shape, weight: Shape, size: Shape, geometry: Geometry, g_dtype: DType, weight_dtype: DType,
    threads: int, winograd: str,
) -> Route:  # fmt: skip
    """The route from the output's gradient to that of an input of that size."""
    x = (g[0], weight[1] * geometry.groups, *size)
    problem = Problem(x, weight, g[2:], geometry, False, threads, winograd)
    return _route(problem, "grad_input", (g_dtype, weight_dtype))


@lru_cache(_REMEMBERED)
def grad_weight_route(
    g: Shape, x: Shape, kernel: Shape, geometry: Geometry, g_dtype: DType, x_dtype: DType,
    threads: int, winograd: str,
) -> Route:  # fmt: skip
    """The route from the output's gradient to that of a weight with that kernel."""
    weight = (g[1], x[1] // geometry.groups, *kernel)
    problem = Problem(x, weight, g[2:], geometry, False, threads, winograd)
    return _route(problem, "grad_weight", (g_dtype, x_dtype))
