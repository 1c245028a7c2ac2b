"""The base of all distributions."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

from wengert.autograd.grad_mode import no_grad
from wengert.core.preparations import preparation
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.utils import lazy_property
from wengert.ops.checks import elements_of

_SCALAR = Size()


def _holds(constraint: constraints.Constraint, value: Any) -> bool:
    return _all(constraint.check(value))


@preparation
def _all(mask: Tensor) -> bool:
    """Whether all elements are true; to see that, values that are deferred remain so."""
    return bool(elements_of(mask).all())


class Distribution:
    """A probability distribution, or a batch of them.

    A sample has the shape ``sample_shape + batch_shape + event_shape``.

    >>> from wengert.distributions import Normal
    >>> Normal(0.0, 1.0).sample((3,)).shape
    torch.Size([3])
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    # The tensors that a batch has one of for each member, by name, and how many of their last
    # dimensions belong to that one. `expand` expands those that are there.
    _batched: ClassVar[dict[str, int]] = {}
    # What `expand` hands on as it is.
    _shared: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments are checked where `validate_args` is not given."""
        if value not in [True, False]:
            raise ValueError(f"set_default_validate_args() expects True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = _SCALAR,
        event_shape: Any = _SCALAR,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()
        super().__init__()

    def _check_arguments(self) -> None:
        try:
            by_name = self.arg_constraints
        except NotImplementedError:
            by_name = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set"
                " `arg_constraints = {}` or initialize the distribution with"
                " `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
        for name, constraint in by_name.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # follows from others
            value = getattr(self, name)
            if not _holds(constraint, value):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape"
                    f" {tuple(value.shape)}) of distribution {self!r} to satisfy the constraint"
                    f" {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The same distribution in a larger batch; memory is shared as by `Tensor.expand`."""
        owner: Any = next(c for c in type(self).__mro__ if "_batched" in vars(c))
        new = self._get_checked_instance(owner, _instance)
        shape = Size(batch_shape)
        for name, dims in owner._batched.items():
            value = self.__dict__.get(name)
            if isinstance(value, Distribution):
                new.__dict__[name] = value.expand(
                    (*shape, *value.batch_shape[len(value.batch_shape) - dims :])
                )
            elif value is not None:
                new.__dict__[name] = value.expand((*shape, *value.shape[value.dim() - dims :]))
        for name in owner._shared:
            new.__dict__[name] = self.__dict__[name]
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one of them."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The set in which each argument has to lie."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The set in which samples lie."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples as a function of the parameters, whose gradients flow through them."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """``sample((n,))``."""
        warnings.warn(
            "sample_n(n) will be deprecated. Use .sample((n,)) instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of a sample of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values that a sample may have, along a new first dimension."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of such samples."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _check_sample(self, value: Any) -> None:
        """ValueError unless `value` could be a sample, where samples are to be validated."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Any) -> None:
        """ValueError unless `value` could be a sample."""
        if not isinstance(value, Tensor):
            raise ValueError(
                f"The value argument to log_prob must be a Tensor; got {type(value).__name__}"
            )
        events = value.dim() - len(self._event_shape)
        if value.shape[max(events, 0) :] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape:"
                f" {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for ours, theirs in zip(reversed(value.shape), reversed(expected), strict=False):
            if ours not in (1, theirs) and theirs != 1:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape:"
                    f" {value.shape} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please"
                " initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not _holds(support, value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)})"
                f" to be within the support ({support!r}) of the distribution {self!r}, but found"
                f" invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An instance to fill: `_instance`, or a blank one of this class."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__"
                " method must also define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        parameters = {
            name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__
        }
        arguments = ", ".join(
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in parameters.items()
        )
        return f"{self.__class__.__name__}({arguments})"


__all__ = ["Distribution"]
