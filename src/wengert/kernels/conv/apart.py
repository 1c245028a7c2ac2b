"""Convolution of windows that do not overlap, as one matrix product.

Each input is in one window at most: the patches of a vision transformer, and kernels of one
element with any stride. Then the matrix of columns is no larger than the input, and for a stride of
1 it is the input.
"""

from __future__ import annotations

from math import prod

import numpy as np

from wengert.core.forks import cached_property
from wengert.kernels.conv.im2col import Im2col, biased, weight_times
from wengert.kernels.conv.route import Direction, Problem
from wengert.kernels.geometry import offsets, space
from wengert.kernels.products.blas import matmul
from wengert.kernels.products.microkernel import lanes

# Positions of a sample from which the gradient of the weights is summed sample by sample: with
# fewer, the sums take longer than bringing all samples into one product.
POSITIONS = 256


class Apart(Im2col):
    """Products of weights and windows, and of gradients and windows."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Whether no input is in two windows, there is no padding, and tiles are mostly used."""
        stride, padding, dilation, groups = problem.geometry
        reach = [d * (k - 1) for d, k in zip(dilation, problem.kernel, strict=True)]
        return (
            direction != "grad_input"
            and groups == 1
            and not any(map(any, padding))
            and all(s > r for s, r in zip(stride, reach, strict=True))
            and min(problem.weight[0], prod(problem.weight[1:])) >= lanes()
            and 0 not in problem.x
        )

    @cached_property
    def _met(self) -> list[tuple[slice, ...]]:
        """What each place of the kernel meets."""
        kernel, out, geometry = self.problem.kernel, self.problem.out, self.problem.geometry
        return [met for _, met in offsets(kernel, out, geometry)]

    def _columns(self, x: np.ndarray) -> np.ndarray:
        """The windows as matrices (sample, channel and place, position)."""
        if self.problem.pointwise:
            return x.reshape(*x.shape[:2], -1)
        out = np.empty((*x.shape[:2], len(self._met), *self.problem.out), x.dtype)
        for k, met in enumerate(self._met):
            out[:, :, k] = x[space(met)]
        return out.reshape(len(x), x.shape[1] * len(self._met), -1)

    def _joined_columns(self, x: np.ndarray) -> np.ndarray:
        """The windows as a matrix (channel and place, sample and position)."""
        samples, channels = x.shape[:2]
        out = np.empty((channels, len(self._met), samples, *self.problem.out), x.dtype)
        for k, met in enumerate(self._met):
            out[:, k] = x[space(met)].swapaxes(0, 1)
        return out.reshape(channels * len(self._met), -1)

    def forward(
        self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.forward`."""
        rows, columns = weight.reshape(len(weight), -1), self._columns(x)
        out = weight_times(rows, columns[0], weight) if len(x) == 1 else matmul(rows, columns)
        return biased(out.reshape(len(x), len(weight), *self.problem.out), bias)

    def grad_weight(self, g: np.ndarray, x: np.ndarray) -> np.ndarray:
        """`Route.grad_weight`."""
        samples, outs = g.shape[:2]
        total: np.ndarray
        if samples == 1 or prod(self.problem.out) >= POSITIONS:
            gradients, columns = g.reshape(samples, outs, -1), self._columns(x)
            total = matmul(gradients[0], columns[0].T)
            for k in range(1, samples):
                total += matmul(gradients[k], columns[k].T)
        else:
            joined = g.swapaxes(0, 1).reshape(outs, -1)
            total = matmul(joined, self._joined_columns(x).T)
        return total.reshape(self.problem.weight)
