"""Routes of convolution: one way to compute its three maps, planned for a problem.

The maps are named after the passes of training that need them: `forward` takes input and
weight to the output, `grad_input` is its adjoint in the input (the transposed convolution) and
`grad_weight` its adjoint in the weight. Arrays are laid out (batch, channel, *space), weights
(out channel, in channel / groups, *kernel).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np

from wengert.kernels.calling import Caller, at_once
from wengert.kernels.geometry import Geometry, Shape
from wengert.kernels.layout import contiguous
from wengert.kernels.precision import narrowed, widened
from wengert.kernels.reduction import native as reduction

Direction = Literal["forward", "grad_input", "grad_weight"]

# The valid settings. "auto" is F(2x2), and F(4x4) where its error is as small.
WINOGRAD_CHOICES = ("off", "f2", "f4", "auto")


class WinogradSetting:
    """The requested Winograd tiles."""

    choice = "auto"


class Problem(NamedTuple):
    """A convolution, described by everything its route and plan depend on.

    Memory layouts are not included: a route copies arrays its kernels cannot read.
    """

    x: Shape
    weight: Shape
    out: Shape  # space of the output
    geometry: Geometry
    float32: bool  # both input arrays
    threads: int
    winograd: str

    @property
    def space(self) -> Shape:
        """The space of the input."""
        return self.x[2:]

    @property
    def kernel(self) -> Shape:
        """The space of the weight."""
        return self.weight[2:]

    @property
    def multiplications(self) -> int:
        """The multiplications in each of the maps, including those with padding."""
        return self.x[0] * prod(self.weight) * prod(self.out)

    @property
    def pointwise(self) -> bool:
        """Whether windows and elements correspond one to one."""
        stride, padding, _, _ = self.geometry
        alone = max(self.kernel) == max(stride) == 1 and not any(map(any, padding))
        return alone and self.space == self.out  # transposed ones may add to the input's sides

    @property
    def adjoint(self) -> Problem | None:
        """The convolution, with mirrored weights, that is the gradient of the input.

        None if that is not a convolution: for strides, and inputs not fully covered.
        """
        stride, padding, dilation, groups = self.geometry
        if max(stride) > 1:
            return None
        reach = [d * (k - 1) for d, k in zip(dilation, self.kernel, strict=True)]
        around = tuple(
            (r - low, n + low - o)
            for r, (low, _), n, o in zip(reach, padding, self.space, self.out, strict=True)
        )
        if min(map(min, around)) < 0:
            return None
        outputs, rows, *kernel = self.weight
        return self._replace(
            x=(self.x[0], outputs, *self.out),
            weight=(groups * rows, outputs // groups, *kernel),
            out=self.space,
            geometry=self.geometry._replace(padding=around),
        )


class Route(ABC):
    """One way to compute a convolution: kernels, and a plan for a problem.

    A plan is created when a map is first computed, and reused: a route is otherwise immutable,
    and any number of threads may share it.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @staticmethod
    @abstractmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Whether this route can compute that map, no slower than the routes after it."""

    @abstractmethod
    def forward(
        self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """Each output is a window's product with the weights, plus the bias of its channel."""

    @abstractmethod
    def grad_input(
        self, g: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """Each value is added, times the weights, to its window in an array of the input's size,
        and then the bias of its channel is."""

    @abstractmethod
    def grad_weight(self, g: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Each weight is the inner product of the outputs and the inputs its tap read."""


class Widened(Route):
    """Halves, by a route for float32; the result is rounded once."""

    def __init__(self, route: Route) -> None:
        super().__init__(route.problem)
        self._route = route

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Always."""
        return True

    def forward(
        self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.forward`."""
        return narrowed(self._route.forward(widened(x), widened(weight), bias), x.dtype)

    def grad_input(
        self, g: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.grad_input`."""
        return narrowed(self._route.grad_input(widened(g), widened(weight), bias), g.dtype)

    def grad_weight(self, g: np.ndarray, x: np.ndarray) -> np.ndarray:
        """`Route.grad_weight`."""
        return narrowed(self._route.grad_weight(widened(g), widened(x)), x.dtype)


class KernelRoute(Route):
    """A route that is calls of kernels on dense arrays of float32, which a program may note."""

    @abstractmethod
    def call_forward(self, caller: Caller, x: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `forward`."""

    @abstractmethod
    def call_grad_input(self, caller: Caller, g: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `grad_input`."""

    @abstractmethod
    def call_grad_weight(self, caller: Caller, g: Any, x: Any, out: Any) -> None:
        """Make the calls of `grad_weight`."""

    def forward(
        self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.forward`."""
        out = np.empty((len(x), len(weight), *self.problem.out), np.float32)
        self.call_forward(at_once, dense(x), dense(weight), dense_bias(bias), out)
        return out

    def grad_input(
        self, g: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.grad_input`."""
        out = np.empty(self.problem.x, np.float32)
        self.call_grad_input(at_once, dense(g), dense(weight), dense_bias(bias), out)
        return out

    def grad_weight(self, g: np.ndarray, x: np.ndarray) -> np.ndarray:
        """`Route.grad_weight`."""
        out = np.empty(self.problem.weight, np.float32)
        self.call_grad_weight(at_once, dense(g), dense(x), out)
        return out


def dense(array: np.ndarray) -> np.ndarray:
    """The array as kernels read it."""
    return contiguous(array)


def dense_bias(bias: np.ndarray | None) -> np.ndarray | None:
    """The bias as kernels read it."""
    return None if bias is None else np.ascontiguousarray(bias, np.float32)


def add_parts(caller: Caller, partial: Any, out: Any, parts: int) -> None:
    """Add up partial sums over a batch, (part, *weight)."""
    size = prod(out.shape)
    blocks = -(-size // reduction.LANES)
    caller.call(
        reduction.middle_sums.f32, partial, out, parts, size, blocks, total=blocks, chunk=1
    )  # fmt: skip
