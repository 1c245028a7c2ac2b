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
from wengert.kernels.conv.route import Direction, Problem, Route
from wengert.kernels.geometry import Geometry, Shape
from wengert.kernels.jit import available

# Multiplications from which compiled kernels justify the cost of their first call.
_COMPILED = 1 << 12
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
    from wengert.kernels.conv.winograd import Winograd

    return Winograd, Few, Apart, Depthwise, Batched, Direct


def route_for(problem: Problem, direction: Direction) -> Route:
    """The first route that fits a map of a problem."""
    routes: list[type[Route]] = [Pointwise, Mirrored]
    routes += _compiled_routes() if compiled(problem) else [Im2col]
    return next(route for route in routes if route.fits(problem, direction))(problem)


@lru_cache(_REMEMBERED)
def forward_route(
    x: Shape, weight: Shape, geometry: Geometry, x_dtype: DType, weight_dtype: DType,
    threads: int, winograd: str,
) -> Route:  # fmt: skip
    """The route from input and weight to the output."""
    out = geometry.out_size(x[2:], weight[2:])
    float32 = x_dtype == weight_dtype == _F32
    return route_for(Problem(x, weight, out, geometry, float32, threads, winograd), "forward")


@lru_cache(_REMEMBERED)
def grad_input_route(
    g: Shape, weight: Shape, size: Shape, geometry: Geometry, g_dtype: DType, weight_dtype: DType,
    threads: int, winograd: str,
) -> Route:  # fmt: skip
    """The route from the output's gradient to that of an input of that size."""
    x = (g[0], weight[1] * geometry.groups, *size)
    float32 = g_dtype == weight_dtype == _F32
    return route_for(Problem(x, weight, g[2:], geometry, float32, threads, winograd), "grad_input")


@lru_cache(_REMEMBERED)
def grad_weight_route(
    g: Shape, x: Shape, kernel: Shape, geometry: Geometry, g_dtype: DType, x_dtype: DType,
    threads: int, winograd: str,
) -> Route:  # fmt: skip
    """The route from the output's gradient to that of a weight with that kernel."""
    weight = (g[1], x[1] // geometry.groups, *kernel)
    float32 = g_dtype == x_dtype == _F32
    return route_for(Problem(x, weight, g[2:], geometry, float32, threads, winograd), "grad_weight")
