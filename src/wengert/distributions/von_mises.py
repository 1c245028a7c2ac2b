"""Von Mises's distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import broadcast_all, lazy_property
from wengert.ops.masking import where
from wengert.special import i0e, i1e
from wengert.tensor.creation import zeros
from wengert.tensor.random import rand


class VonMises(Distribution):
    """Angles around `loc`, closer the larger the `concentration`.

    >>> import wengert
    >>> from wengert.distributions import VonMises
    >>> VonMises(wengert.tensor(1.0), wengert.tensor(4.0)).mean
    tensor(1.)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _batched = {"loc": 0, "concentration": 0}

    def __init__(
        self, loc: Tensor, concentration: Tensor, validate_args: bool | None = None
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        k = self.concentration
        # i0e is I0 over its exponential growth
        return k * ((value - self.loc).cos() - 1) - math.log(2 * math.pi) - i0e(k).log()

    def sample(self, sample_shape: Any = ()) -> Any:
        """By rejection, in float64.

        D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution",
        Applied Statistics 28 (1979).
        """
        shape = self._extended_shape(sample_shape)
        with no_grad():
            k = self.concentration.double()
            tau = 1 + (1 + 4 * k.pow(2)).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            # Where k is too small for these differences, 1/k + k, the first terms in k.
            r = where(k < 1e-5, 1 / k + k, (1 + rho.pow(2)) / (2 * rho)).expand(shape)
            k = k.expand(shape)
            angle = zeros(shape, dtype=k.dtype)
            is_drawn = angle > 0
            while not is_drawn.all():
                u1, u2, u3 = rand((3, *shape), dtype=k.dtype).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accepted = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                angle = where(accepted, (u3 - 0.5).sign() * f.acos(), angle)
                is_drawn = is_drawn | accepted
            turned = (angle + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The circular variance."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)


__all__ = ["VonMises"]
