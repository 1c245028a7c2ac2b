"""Convolution of few positions by large weights, which are read where they lie.

The other compiled routes bring weights into another order first. That costs as much as the
multiplications of some dozen positions, and late layers of networks for images have no more.
Here the weights are a matrix as they are, of outputs by channels and places, and the windows are
the columns of the other one.
"""

from __future__ import annotations

from math import prod

import numpy as np

from wengert.core.forks import cached_property
from wengert.kernels.conv.batched import saves
from wengert.kernels.conv.im2col import Im2col, biased, weight_times
from wengert.kernels.conv.route import Direction, Problem
from wengert.kernels.geometry import offsets, padded, space
from wengert.kernels.products.microkernel import lanes

# Vectors of positions: with more, reordering the weights is a small part.
_VECTORS = 16
# Elements of weights: fewer stay in a core's cache while they are reordered.
_WEIGHTS = 1 << 17


class Few(Im2col):
    """Products of weights with windows, and of transposed weights with gradients."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Whether weights are large beside the positions that they meet, most of which count."""
        positions = problem.x[0] * prod(problem.out)
        return (
            direction != "grad_weight"
            and problem.geometry.groups == 1
            and 0 < positions <= _VECTORS * lanes()
            and prod(problem.weight) >= _WEIGHTS
            and not saves(problem)
        )

    @cached_property
    def _met(self) -> np.ndarray:
        """Where each place of the kernel meets a padded plane, by place and position."""
        geometry, out = self.problem.geometry, self.problem.out
        size = zip(self.problem.space, geometry.padding, strict=True)
        whole = [n + low + high for n, (low, high) in size]
        plane = np.arange(prod(whole)).reshape(whole)
        return np.stack(
            [plane[met].ravel() for _, met in offsets(self.problem.kernel, out, geometry)]
        )

    def forward(
        self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.forward`."""
        (samples, channels, *_), out = self.problem.x, self.problem.out
        whole = padded(x, self.problem.geometry.padding).reshape(samples, channels, -1)
        # None is out of range.
        parts = [whole[n].take(self._met, axis=1, mode="clip") for n in range(samples)]
        columns = parts[0] if samples == 1 else np.stack(parts, 2)
        rows = weight.reshape(len(weight), -1)
        result = weight_times(rows, columns.reshape(rows.shape[1], -1), weight)
        result = result.reshape(len(weight), samples, *out).swapaxes(0, 1)
        return biased(np.ascontiguousarray(result), bias)

    def grad_input(
        self, g: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.grad_input`."""
        (samples, channels, *_), kernel, out = self.problem.x, self.problem.kernel, self.problem.out
        size, geometry = self.problem.space, self.problem.geometry
        rows = weight.reshape(len(weight), -1)
        blocks = weight_times(rows.T, g.swapaxes(0, 1).reshape(len(weight), -1), weight)
        blocks = blocks.reshape(channels, prod(kernel), samples, *out)
        pads = geometry.padding
        whole = [n + low + high for n, (low, high) in zip(size, pads, strict=True)]
        total = np.zeros((samples, channels, *whole), g.dtype)
        for k, (_, met) in enumerate(offsets(kernel, out, geometry)):
            total[space(met)] += blocks[:, k].swapaxes(0, 1)
        inside = [slice(low, low + n) for n, (low, _) in zip(size, pads, strict=True)]
        return biased(np.ascontiguousarray(total[space(inside)]), bias)
