"""Sobol points, as `torch.quasirandom`: they fill the unit cube more evenly than random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.generators import Generator
from wengert.core.tensor import Tensor, wrap
from wengert.ops.outputs import fill
from wengert.tensor.arguments import require_int
from wengert.tensor.random import randint


class SobolEngine:
    """The Sobol sequence of points in [0, 1)^dimension, one after another.

    The direction numbers are those of Joe and Kuo, from SciPy. With `scramble` a random linear
    map and a random shift keep the balance of the points and lose the corner at 0; the same seed
    gives PyTorch's points.

    >>> import wengert
    >>> wengert.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}], got"
                f" dimension={dimension}"
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = wrap(_directions(dimension, self.MAXBIT))
        self.shift = wrap(np.zeros(dimension, np.int64))
        if scramble:
            self._scramble()
        self.quasi = wrap(self.shift._array.copy())
        self.num_generated = 0

    def _scramble(self) -> None:
        """Draw the shift and, for each dimension, a triangular matrix of bits."""
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        n, bits = self.dimension, self.MAXBIT
        weights = 1 << np.arange(bits)
        self.shift = wrap(randint(2, (n, bits), generator=generator)._array @ weights)
        maps = np.tril(randint(2, (n, bits, bits), generator=generator)._array)
        maps[:, range(bits), range(bits)] = 1
        # Bits of the direction numbers, the highest first.
        numbers = self.sobolstate._array[:, :, None] >> np.arange(bits)[::-1] & 1
        scrambled = numbers @ maps.transpose(0, 2, 1) % 2
        self.sobolstate = wrap(scrambled @ weights[::-1])

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `n` points, as a tensor of shape (n, dimension)."""
        n = require_int("draw", "n", n)
        to = dtypes.defaults.dtype if dtype is None else dtypes.of_argument("draw", dtype)
        places = self._advance(n)
        points = places.astype(to.np) * to.np.type(2.0**-self.MAXBIT)
        if n and self.num_generated == n:  # PyTorch rounds the first point to the default dtype
            first = places[0].astype(dtypes.defaults.dtype.np)
            points[0] = first * first.dtype.type(2.0**-self.MAXBIT)
        result = wrap(points)
        return result if out is None else fill("draw", out.resize_(result.shape), result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2^m points. ValueError if the number of all points is then no power of 2."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2."
                f" {self.num_generated} points have been previously generated, then:"
                f" n={self.num_generated}+2**{m}={total}. Call draw() to have them all the same."
            )
        return self.draw(n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin again, with the same scrambling."""
        self.quasi, self.num_generated = wrap(self.shift._array.copy()), 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next `n` points."""
        self._advance(require_int("fast_forward", "n", n))
        return self

    def _advance(self, n: int) -> np.ndarray:
        """The next `n` points, as integers: in the order of Gray's code each changes one bit."""
        steps = np.arange(max(self.num_generated, 1), self.num_generated + n) - 1
        lowest_zero = np.bitwise_count((~steps & (steps + 1)) - 1)
        start = self.quasi._array[None]
        changes = self.sobolstate._array.T[lowest_zero]
        places = np.bitwise_xor.accumulate(np.concatenate([start, changes]))
        if n:
            self.quasi = wrap(places[-1])
        places = places if self.num_generated == 0 else places[1:]
        self.num_generated += n
        return places[:n]

    def __repr__(self) -> str:
        options = [f"dimension={self.dimension}"]
        options += ["scramble=True"] if self.scramble else []
        options += [] if self.seed is None else [f"seed={self.seed}"]
        return f"SobolEngine({', '.join(options)})"


def _directions(dimension: int, bits: int) -> np.ndarray:
    """The direction numbers of each dimension, as integers of so many bits."""
    from scipy.stats import qmc

    numbers = qmc.Sobol(dimension, scramble=False, bits=bits)._sv
    return np.asarray(numbers, np.int64)


__all__ = ["SobolEngine"]
