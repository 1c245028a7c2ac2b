"""Dilated convolutions of images as plain ones of smaller images.

With a dilation of `d` along both axes an output meets only every `d`-th input. So an image is
`d * d` images that lie between one another, each with windows of neighbours: of these, a plain
convolution may take far fewer products, by Winograd's method or by leaving out padding.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from wengert.core.forks import cached_property
from wengert.kernels.calling import Caller
from wengert.kernels.conv.batched import Batched
from wengert.kernels.conv.route import Direction, KernelRoute, Problem
from wengert.kernels.conv.winograd import Winograd
from wengert.kernels.geometry import Shape
from wengert.kernels.jit import CHUNK, kernel
from wengert.kernels.jit.builtins import at, f32s, i64

_ROUTES: tuple[type[KernelRoute], ...] = (Winograd, Batched)
# Multiplications in the time of taking an element apart and putting another one back.
_COPYING = 128


@kernel
def _apart(
    x: f32s, out: f32s, channels: i64, high: i64, wide: i64, down: i64, across: i64, top: i64,
    left: i64, lines: i64, columns: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Planes (sample, channel) as images (sample, phase down, phase across, channel), of zeros
    where there is nothing: line `t` of phase `p` is line `down * t + p - top`."""
    for plane in range(start, stop):
        sample = plane // channels
        channel = plane % channels
        source = at(x, plane * high * wide)
        for p in range(down):
            for q in range(across):
                image = ((sample * down + p) * across + q) * channels + channel
                first = min((left - q + across - 1) // across if left > q else 0, columns)
                last = max(first, min((wide + left - q + across - 1) // across, columns))
                for t in range(lines):
                    to = at(out, (image * lines + t) * columns)
                    y = down * t + p - top
                    inside = y >= 0 and y < high
                    low = first if inside else columns
                    for u in range(low):
                        to[u] = 0.0
                    if inside:
                        row = y * wide + q - left
                        for u in range(first, last):
                            to[u] = source[row + across * u]
                        for u in range(last, columns):
                            to[u] = 0.0


@kernel
def _together(
    x: f32s, out: f32s, channels: i64, high: i64, wide: i64, down: i64, across: i64, top: i64,
    left: i64, lines: i64, columns: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The inverse of `_apart`."""
    for plane in range(start, stop):
        sample = plane // channels
        channel = plane % channels
        for y in range(high):
            t = (y + top) // down
            p = (y + top) % down
            to = at(out, (plane * high + y) * wide)
            for q in range(across):
                image = ((sample * down + p) * across + q) * channels + channel
                first = (left - q + across - 1) // across if left > q else 0
                last = (wide + left - q + across - 1) // across
                row = at(x, (image * lines + t) * columns)
                for u in range(first, last):
                    to[across * u + q - left] = row[u]


class _Axis(NamedTuple):
    """An axis of such images.

    Attributes:
        shift: of the first phase, the inputs that are before the array.
        size: the inputs of a phase.
        out: its outputs.
        padding: before and after these inputs.
    """

    shift: int
    size: int
    out: int
    padding: tuple[int, int]


def _axis(n: int, kernel: int, out: int, padding: tuple[int, int], gap: int) -> _Axis:
    before = padding[0] // gap
    shift, each = padding[0] - before * gap, -(-out // gap)
    size = -(-(n + shift) // gap)
    return _Axis(shift, size, each, (before, each + kernel - 1 - before - size))


class _Plan(NamedTuple):
    """The plain convolution, and how images are taken apart: of inputs, and of outputs."""

    problem: Problem
    shifts: Shape


@lru_cache(256)  # The answer is the same for all three maps.
def _plan(problem: Problem) -> _Plan | None:
    """None if windows leave out inputs, as those of a gradient of any size may."""
    (batch, channels, *space), _, out, geometry, *_ = problem
    sizes = zip(space, problem.kernel, out, geometry.padding, geometry.dilation, strict=True)
    axes = [_axis(*of_axis) for of_axis in sizes]
    if min(a.padding[1] for a in axes) < 0:
        return None
    plain = problem._replace(
        x=(batch * prod(geometry.dilation), channels, *[a.size for a in axes]),
        out=tuple([a.out for a in axes]),
        geometry=geometry._replace(
            padding=tuple([a.padding for a in axes]), dilation=(1,) * len(axes)
        ),
    )
    return _Plan(plain, tuple([a.shift for a in axes]))


def _route(problem: Problem, direction: Direction) -> type[KernelRoute] | None:
    """The route of the plain convolution, if it saves products."""
    plan = _plan(problem)
    if plan is None:
        return None
    return next((route for route in _ROUTES if route.fits(plan.problem, direction)), None)


class Interleaved(KernelRoute):
    """Plain convolutions of the images between one another."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Whether an image is several, of which the convolution saves products."""
        stride, _, dilation, groups = problem.geometry
        if len(dilation) != 2 or max(dilation) == 1 or max(stride) > 1 or 0 in problem.x:
            return False
        # What each input or output meets.
        outputs, channels, *kernel = problem.weight
        if min(outputs // groups, channels) * prod(kernel) < _COPYING:
            return False
        return _route(problem, direction) is not None

    @cached_property
    def _problem(self) -> Problem:
        plan = _plan(self.problem)
        assert plan is not None
        return plan.problem

    def _inner(self, direction: Direction) -> KernelRoute:
        route = _route(self.problem, direction)
        assert route is not None
        return route(self._problem)

    @cached_property
    def _forward(self) -> KernelRoute:
        return self._inner("forward")

    @cached_property
    def _grad_input(self) -> KernelRoute:
        return self._inner("grad_input")

    @cached_property
    def _grad_weight(self) -> KernelRoute:
        return self._inner("grad_weight")

    def _sizes(self, shape: Shape, size: Shape, shifts: Shape) -> tuple[int, ...]:
        return (*shape[1:], *self.problem.geometry.dilation, *shifts, *size)

    def _input(self) -> tuple[Shape, tuple[int, ...]]:
        """The shape of small inputs, and the numbers for the kernels."""
        plan, inner = _plan(self.problem), self._problem
        assert plan is not None
        return inner.x, self._sizes(self.problem.x, inner.space, plan.shifts)

    def _output(self) -> tuple[Shape, tuple[int, ...]]:
        """The same of outputs."""
        inner, channels = self._problem, self.problem.weight[0]
        whole = (self.problem.x[0], channels, *self.problem.out)
        return (inner.x[0], channels, *inner.out), self._sizes(whole, inner.out, (0, 0))

    def _call(self, caller: Caller, run: Any, x: Any, out: Any, sizes: tuple[int, ...]) -> None:
        channels, high, wide = sizes[:3]
        total = self.problem.x[0] * channels
        caller.call(run.f32, x, out, *sizes, total=total, chunk=1 + CHUNK // (high * wide))

    def _taken_apart(self, caller: Caller, x: Any, how: tuple[Shape, tuple[int, ...]]) -> Any:
        shape, sizes = how
        images = caller.temporary(shape)
        self._call(caller, _apart, x, images, sizes)
        return images

    def call_forward(self, caller: Caller, x: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `forward`."""
        shape, sizes = self._output()
        images, results = self._taken_apart(caller, x, self._input()), caller.temporary(shape)
        self._forward.call_forward(caller, images, weight, bias, results)
        self._call(caller, _together, results, out, sizes)

    def call_grad_input(self, caller: Caller, g: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `grad_input`."""
        shape, sizes = self._input()
        images, results = self._taken_apart(caller, g, self._output()), caller.temporary(shape)
        self._grad_input.call_grad_input(caller, images, weight, bias, results)
        self._call(caller, _together, results, out, sizes)

    def call_grad_weight(self, caller: Caller, g: Any, x: Any, out: Any) -> None:
        """Make the calls of `grad_weight`."""
        gradients = self._taken_apart(caller, g, self._output())
        images = self._taken_apart(caller, x, self._input())
        self._grad_weight.call_grad_weight(caller, gradients, images, out)
